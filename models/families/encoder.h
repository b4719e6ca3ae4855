// The encoder. "Attention Is All You Need", §3.1, Fig. 1 left. With a causal mask the same stack is the whole
// of a decoder-only model (models/families/one_stack.h), which has no source to attend to.
#pragma once

#include <optional>
#include <vector>

#include "models/config.h"
#include "nn/attention.h"
#include "nn/dropout.h"
#include "nn/norm.h"

namespace plaingrad::models {

// The residual connection around each sub-layer, §5.4.
// post: Norm(x + Dropout(Sublayer(x)))        pre: x + Dropout(Sublayer(Norm(x)))
struct Residual {
    Residual(const Config& config, const Rng& rng)
        : norm(config.block.d_model, norm_options(config)),
          dropout(config.block.dropout.sublayers, rng),
          placement(config.block.norm) {}

    // sublayer: Tensor (Tensor x), both (B, T, d_model)
    template <class Sublayer>
    Tensor operator()(const Tensor& x, const Mode& mode, const Sublayer& sublayer) const {
        const Real p = dropout.rate_in(mode);
        const Rng rng = dropout.rng_in(mode);
        if (placement == NormPlacement::pre)
            return autograd::residual(x, sublayer(norm(x)), p, rng);
        return norm.of_residual(x, sublayer(x), p, rng);
    }

    nn::Norm norm;
    nn::Dropout dropout;
    NormPlacement placement;
};

// What decoding keeps for one layer from one step to the next.
struct LayerCache {
    nn::KeyValueCache self;    // of the tokens read so far
    nn::KeyValueCache memory;  // of the encoder's output, the same in every step; empty without an encoder
};

// Self-attention, then feed-forward, each within a residual connection.
struct EncoderLayer {
    EncoderLayer(const Config& config, const Rng& rng);
    // x (B, S, d_model) -> the same shape. S: the length of the text that is read, source or not.
    Tensor operator()(const Tensor& x, const Pass& pass) const;
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

// Layers one above the other, and a norm after the last one if the configuration says so.
template <class Layer>
struct Stack {
    Stack(const Config& c, int64_t n_layers, const Rng& rng) {
        for (int64_t i = 0; i < n_layers; ++i)
            layers.emplace_back(c, rng.fork(static_cast<uint64_t>(i)));
        if (c.final_norm)
            final_norm.emplace(c.block.d_model, norm_options(c));
        if (c.block.positions == nn::Positions::rotary)
            rotary.emplace(c.max_length, head_size(c.block), c.block.rotary);
    }
    Tensor normed(const Tensor& x) const { return final_norm ? (*final_norm)(x) : x; }
    void visit(Visitor& v) const {
        v("layers", layers);
        if (final_norm)
            v("norm", *final_norm);
    }

    std::vector<Layer> layers;
    std::optional<nn::Norm> final_norm;
    std::optional<nn::Rotary> rotary;  // of the self-attention of all layers; none with other positions
};

struct Encoder : Stack<EncoderLayer> {
    Encoder(const Config& c, const Rng& rng) : Stack(c, c.n_layers, rng) {}
    // x (B, S, d_model) -> the same shape. caches: one for each layer, for decoding token by token.
    Tensor operator()(Tensor x, Pass pass, std::vector<LayerCache>* caches = nullptr) const;
};

// The mask of an encoder that reads whole texts, ids (B, S): padding is hidden as keys. Throws Error for a
// text without any token.
Mask hiding_padding(const Tokens& ids);

// The options of the layers in both stacks.
nn::MultiHeadOptions attention_options(const Config& config);
nn::FeedForwardOptions feed_forward_options(const Config& config);

}  // namespace plaingrad::models
