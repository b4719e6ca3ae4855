#include "models/decoder.h"

#include <algorithm>

namespace models {

Tensor select_rows(const Tensor& x, const std::vector<int32_t>& rows) {
    const int64_t n = static_cast<int64_t>(rows.size());
    const Tensor table = autograd::reshape(x, {x.size(0), -1});            // (B, ...)
    const Tensor chosen = autograd::embedding(table, Tokens(1, n, rows));  // (1, n, ...)
    return chosen.with_shape(x.shape().with(0, n));
}

// x (B, length, d) in a buffer with room for more: (B, capacity, d). What is new is not read before it is
// filled.
static Tensor grown(const Tensor& x, const Shape& shape, int64_t length) {
    Tensor larger = Tensor::zeros(shape);
    for (int64_t b = 0; x.defined() && b < x.size(0); ++b)
        std::copy_n(x.data() + b * x.size(1) * x.size(2), length * x.size(2),
                    larger.mutable_data() + b * shape[1] * shape[2]);
    return larger;
}

static void put_position(Tensor& cache, const Tensor& next, int64_t position) {
    const int64_t d = cache.size(2);
    for (int64_t b = 0; b < cache.size(0); ++b)
        std::copy_n(next.data() + b * d, d, cache.mutable_data() + (b * cache.size(1) + position) * d);
}

void SelfCache::append(const nn::KeysValues& next) {
    const int64_t capacity = filled.keys.defined() ? filled.keys.size(1) : 0;
    if (length == capacity) {
        const Shape shape = next.keys.shape().with(1, std::max<int64_t>(16, 2 * capacity));
        filled.keys = grown(filled.keys, shape, length);
        filled.values = grown(filled.values, shape, length);
    }
    put_position(filled.keys, next.keys, length);
    put_position(filled.values, next.values, length);
    ++length;
}

void SelfCache::select(const std::vector<int32_t>& rows) {
    if (length == 0)
        return;
    filled.keys = select_rows(filled.keys, rows);
    filled.values = select_rows(filled.values, rows);
}

DecoderLayer::DecoderLayer(const TransformerConfig& c, const Rng& rng)
    : self_attention(c.d_model, c.n_heads, rng.fork("self_attention"), attention_options(c)),
      cross_attention(c.d_model, c.n_heads, rng.fork("cross_attention"), attention_options(c)),
      feed_forward(c.d_model, c.d_ff, rng.fork("feed_forward"), feed_forward_options(c)),
      residual1(c, rng.fork("residual1")),
      residual2(c, rng.fork("residual2")),
      residual3(c, rng.fork("residual3")) {}

Tensor DecoderLayer::operator()(const Tensor& x, const Tensor& memory, const Mask& self_mask,
                                const Mask& memory_mask, const Mode& mode, Tensor* self_weights,
                                Tensor* cross_weights) const {
    const Tensor attended = residual1(
        x, mode, [&](const Tensor& y) { return self_attention(y, y, self_mask, mode, self_weights); });
    const Tensor informed = residual2(attended, mode, [&](const Tensor& y) {
        return cross_attention(y, memory, memory_mask, mode, cross_weights);
    });
    return residual3(informed, mode, [&](const Tensor& y) { return feed_forward(y, mode); });
}

Tensor DecoderLayer::step(const Tensor& x, LayerCache& cache, const Mask& memory_mask) const {
    const Mode eval = Mode::eval();
    const Tensor attended = residual1(x, eval, [&](const Tensor& y) {
        cache.self.append(self_attention.project(y));
        const std::vector<int32_t> counts(static_cast<std::size_t>(x.size(0)),
                                          static_cast<int32_t>(cache.self.length));
        return self_attention.attend(y, cache.self.filled, Mask::key_counts(counts), eval);
    });
    const Tensor informed = residual2(attended, eval, [&](const Tensor& y) {
        return cross_attention.attend(y, cache.memory, memory_mask, eval);
    });
    return residual3(informed, eval, [&](const Tensor& y) { return feed_forward(y, eval); });
}

Decoder::Decoder(const TransformerConfig& c, const Rng& rng) {
    for (int64_t i = 0; i < c.n_decoder_layers; ++i)
        layers.emplace_back(c, rng.fork(static_cast<uint64_t>(i)));
    if (c.final_norms)
        final_norm.emplace(c.d_model);
}

Tensor Decoder::operator()(Tensor x, const Tensor& memory, const Mask& self_mask, const Mask& memory_mask,
                           const Mode& mode, AttentionWeights* weights) const {
    for (const DecoderLayer& layer : layers) {
        Tensor* self_weights = next_weights(weights ? &weights->decoder_self : nullptr);
        Tensor* cross_weights = next_weights(weights ? &weights->decoder_cross : nullptr);
        x = layer(x, memory, self_mask, memory_mask, mode, self_weights, cross_weights);
    }
    return final_norm ? (*final_norm)(x) : x;
}

std::vector<LayerCache> Decoder::start(const Tensor& memory) const {
    std::vector<LayerCache> caches;
    for (const DecoderLayer& layer : layers)
        caches.push_back({.self = {}, .memory = layer.cross_attention.project(memory)});
    return caches;
}

Tensor Decoder::step(Tensor x, std::vector<LayerCache>& caches, const Mask& memory_mask) const {
    for (std::size_t i = 0; i < layers.size(); ++i)
        x = layers[i].step(x, caches[i], memory_mask);
    return final_norm ? (*final_norm)(x) : x;
}

}  // namespace models
