// The decoder. "Attention Is All You Need", §3.1, Fig. 1 right.
#pragma once

#include <vector>

#include "models/encoder.h"

namespace plaingrad::models {

// Causal self-attention, attention to the encoder's output, feed-forward, each within a residual connection.
struct DecoderLayer {
    DecoderLayer(const StackConfig& config, const Rng& rng);

    // x (B, T, d_model), memory (B, S, d_model) -> (B, T, d_model). self, cross: of the two attentions.
    Tensor operator()(const Tensor& x, const Tensor& memory, const Pass& self, const Pass& cross) const;

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
    // x (B, T, d_model), memory (B, S, d_model) -> (B, T, d_model). caches: from `start`, to decode; then
    // memory is not read.
    Tensor operator()(Tensor x, const Tensor& memory, Pass self, Pass cross,
                      AttentionWeights* weights = nullptr, std::vector<LayerCache>* caches = nullptr) const;

    // A cache for each layer, with the projected memory.
    std::vector<LayerCache> start(const Tensor& memory) const;
};

}  // namespace plaingrad::models
