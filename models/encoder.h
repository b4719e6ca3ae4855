// The encoder. "Attention Is All You Need", §3.1, Fig. 1 left. With a causal mask the same stack is what
// decoder-only models are made of (models/language_model.h): there is nothing to attend to but itself.
#pragma once

#include <optional>
#include <vector>

#include "models/cache.h"
#include "models/config.h"
#include "models/residual.h"

namespace models {

// The attention weights of one forward, one tensor a layer; for looking at, without a graph.
struct AttentionWeights {
    std::vector<Tensor> encoder;        // (B, H, S, S)
    std::vector<Tensor> decoder_self;   // (B, H, T, T)
    std::vector<Tensor> decoder_cross;  // (B, H, T, S)
};

// Room for one layer's weights at the end of a list, or nullptr if nobody wants them.
inline Tensor* next_weights(std::vector<Tensor>* list) { return list ? &list->emplace_back() : nullptr; }

// Self-attention, then feed-forward, each within a residual connection.
struct EncoderLayer {
    EncoderLayer(const StackConfig& config, const Rng& rng);
    // x (B, S, d_model) -> the same shape
    Tensor operator()(const Tensor& x, const Mask& mask, const Mode& mode, Tensor* weights = nullptr) const;
    // The positions x (B, T, d_model) that follow the cached ones, to the bit what the call above with a
    // causal mask gives there.
    Tensor step(const Tensor& x, SelfCache& cache) const;
    void visit(Visitor& v) const {
        v("self_attention", self_attention);
        v("feed_forward", feed_forward);
        v("norm1", residual1);
        v("norm2", residual2);
    }

    nn::MultiHeadAttention self_attention;
    nn::FeedForward feed_forward;
    Residual residual1, residual2;
};

struct Encoder {
    Encoder(const StackConfig& config, const Rng& rng);
    // x (B, S, d_model) -> the same shape
    Tensor operator()(Tensor x, const Mask& mask, const Mode& mode,
                      AttentionWeights* weights = nullptr) const;
    Tensor step(Tensor x, std::vector<SelfCache>& caches) const;  // a cache for each layer
    void visit(Visitor& v) const {
        v("layers", layers);
        if (final_norm)
            v("norm", *final_norm);
    }

    std::vector<EncoderLayer> layers;
    std::optional<nn::LayerNorm> final_norm;
};

// What both stacks make their parts from.
nn::AttentionOptions attention_options(const StackConfig& config);
nn::FeedForwardOptions feed_forward_options(const StackConfig& config);

}  // namespace models
