// The decoder. "Attention Is All You Need", §3.1, Fig. 1 right.
#pragma once

#include <vector>

#include "models/encoder.h"

namespace plaingrad::models {

// What one layer keeps between two steps of decoding.
struct LayerCache {
    SelfCache self;
    Tensor memory;  // the encoder's output, projected once: keys | values
};

// Causal self-attention, attention to the encoder's output, feed-forward, each within a residual connection.
struct DecoderLayer {
    DecoderLayer(const StackConfig& config, const Rng& rng);

    // x (B, T, d_model), memory (B, S, d_model) -> (B, T, d_model)
    Tensor operator()(const Tensor& x, const Tensor& memory, const Mask& self_mask, const Mask& memory_mask,
                      const Mode& mode, Tensor* self_weights = nullptr,
                      Tensor* cross_weights = nullptr) const;

    // One more position: x (B, 1, d_model) -> (B, 1, d_model), to the bit what the call above gives there.
    Tensor step(const Tensor& x, LayerCache& cache, const Mask& memory_mask) const;

    void visit(Visitor& v) const {
        v("self_attention", self_attention);
        v("cross_attention", cross_attention);
        v("feed_forward", feed_forward);
        v("norm1", residual1.norm);
        v("norm2", residual2.norm);
        v("norm3", residual3.norm);
    }

    nn::MultiHeadAttention self_attention, cross_attention;
    nn::FeedForward feed_forward;
    Residual residual1, residual2, residual3;
};

struct Decoder : Stack<DecoderLayer> {
    using Stack::Stack;
    Tensor operator()(Tensor x, const Tensor& memory, const Mask& self_mask, const Mask& memory_mask,
                      const Mode& mode, AttentionWeights* weights = nullptr) const;

    std::vector<LayerCache> start(const Tensor& memory) const;
};

}  // namespace plaingrad::models
