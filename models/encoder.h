// The encoder. "Attention Is All You Need", §3.1, Fig. 1 left. With a causal mask the same stack is what
// decoder-only models are made of (models/language_model.h): there is nothing to attend to but itself.
#pragma once

#include <optional>
#include <vector>

#include "models/cache.h"
#include "models/config.h"
#include "models/residual.h"

namespace plaingrad::models {

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
        v("norm1", residual1.norm);
        v("norm2", residual2.norm);
    }

    nn::MultiHeadAttention self_attention;
    nn::FeedForward feed_forward;
    Residual residual1, residual2;
};

// Layers one above the other, and a norm after the last one if the configuration has it.
template <class Layer>
struct Stack {
    Stack(const StackConfig& c, const Rng& rng) {
        for (int64_t i = 0; i < c.n_layers; ++i)
            layers.emplace_back(c, rng.fork(static_cast<uint64_t>(i)));
        if (c.final_norm)
            final_norm.emplace(c.d_model, norm_options(c));
    }
    // The positions x (B, T, d_model) that follow the cached ones; a cache for each layer.
    template <class Cache, class... Masks>
    Tensor step(Tensor x, std::vector<Cache>& caches, const Masks&... masks) const {
        for (std::size_t i = 0; i < layers.size(); ++i)
            x = layers[i].step(x, caches[i], masks...);
        return normed(x);
    }
    Tensor normed(const Tensor& x) const { return final_norm ? (*final_norm)(x) : x; }
    void visit(Visitor& v) const {
        v("layers", layers);
        if (final_norm)
            v("norm", *final_norm);
    }

    std::vector<Layer> layers;
    std::optional<nn::Norm> final_norm;
};

struct Encoder : Stack<EncoderLayer> {
    using Stack::Stack;
    // x (B, S, d_model) -> the same shape
    Tensor operator()(Tensor x, const Mask& mask, const Mode& mode,
                      AttentionWeights* weights = nullptr) const;
};

// What both stacks make their parts from.
nn::AttentionOptions attention_options(const StackConfig& config);
nn::FeedForwardOptions feed_forward_options(const StackConfig& config);

}  // namespace plaingrad::models
