// The decoder. "Attention Is All You Need", §3.1, Fig. 1 right.
//
// Each layer attends twice. Self-attention relates the tokens written so far to one another. Its mask is
// causal, because each token is predicted from the tokens before it. Cross-attention then looks at the
// source: its queries come from the target, and its keys and values from the encoder's output, which is
// called the memory. The memory does not depend on the target, so it is computed once for each sentence.
#pragma once

#include <vector>

#include "models/families/encoder.h"

namespace plaingrad::models {

// Causal self-attention, cross-attention to the memory, feed-forward, each within a residual connection.
struct DecoderLayer {
    DecoderLayer(const Config& config, const Rng& rng);

    // x (B, T, d_model), memory (B, S, d_model) -> (B, T, d_model). self, cross: masks and mode of the two
    // attentions.
    Tensor operator()(const Tensor& x, const Tensor& memory, const Pass& self, const Pass& cross) const;

    void visit(Visitor& v) const {
        v("self_attention", self_attention);
        v("cross_attention", cross_attention);
        v("feed_forward", feed_forward);
        v("norm1", residual1.norm);
        v("norm2", residual2.norm);
        v("norm3", residual3.norm);
    }

    nn::MultiHeadAttention self_attention;
    nn::CrossAttention cross_attention;
    nn::FeedForward feed_forward;
    Residual residual1, residual2, residual3;
};

struct Decoder : Stack<DecoderLayer> {
    Decoder(const Config& c, const Rng& rng) : Stack(c, c.n_decoder_layers, rng) {}
    // x (B, T, d_model), memory (B, S, d_model) -> (B, T, d_model). caches: the ones that `start` returned,
    // for decoding token by token. They hold the projected memory, so `memory` itself is not read.
    Tensor operator()(Tensor x, const Tensor& memory, Pass self, Pass cross,
                      std::vector<LayerCache>* caches = nullptr) const;

    // A cache for each layer, which holds the keys and values of the memory and no token yet.
    std::vector<LayerCache> start(const Tensor& memory) const;
};

}  // namespace plaingrad::models
