#include "models/decoder.h"

namespace plaingrad::models {

DecoderLayer::DecoderLayer(const StackConfig& c, const Rng& rng)
    : self_attention(c.d_model, c.n_heads, rng.fork("self_attention"), attention_options(c)),
      cross_attention(c.d_model, c.n_heads, rng.fork("cross_attention"), attention_options(c)),
      feed_forward(c.d_model, c.d_ff, rng.fork("feed_forward"), feed_forward_options(c)),
      residual1(c, rng.fork("residual1")),
      residual2(c, rng.fork("residual2")),
      residual3(c, rng.fork("residual3")) {
    nn::scale_residual_projection(c.init, self_attention.out_proj.weight, c.n_layers);
    nn::scale_residual_projection(c.init, cross_attention.out_proj.weight, c.n_layers);
    nn::scale_residual_projection(c.init, feed_forward.linear2.weight, c.n_layers);
}

Tensor DecoderLayer::operator()(const Tensor& x, const Tensor& memory, const Mask& self_mask,
                                const Mask& memory_mask, const Mode& mode, Tensor* self_weights,
                                Tensor* cross_weights) const {
    const Tensor attended =
        residual1(x, mode, [&](const Tensor& y) { return self_attention(y, self_mask, mode, self_weights); });
    const Tensor informed = residual2(attended, mode, [&](const Tensor& y) {
        return cross_attention(y, memory, memory_mask, mode, cross_weights);
    });
    return residual3(informed, mode, [&](const Tensor& y) { return feed_forward(y, mode); });
}

Tensor DecoderLayer::step(const Tensor& x, LayerCache& cache, const Mask& memory_mask) const {
    const Mode eval = Mode::eval();
    const Tensor attended =
        residual1(x, eval, [&](const Tensor& y) { return attend_causally(self_attention, y, cache.self); });
    const Tensor informed = residual2(attended, eval, [&](const Tensor& y) {
        return cross_attention.attend(y, cache.memory, memory_mask, eval);
    });
    return residual3(informed, eval, [&](const Tensor& y) { return feed_forward(y, eval); });
}

Tensor Decoder::operator()(Tensor x, const Tensor& memory, const Mask& self_mask, const Mask& memory_mask,
                           const Mode& mode, AttentionWeights* weights) const {
    for (const DecoderLayer& layer : layers) {
        Tensor* self_weights = next_weights(weights ? &weights->decoder_self : nullptr);
        Tensor* cross_weights = next_weights(weights ? &weights->decoder_cross : nullptr);
        x = layer(x, memory, self_mask, memory_mask, mode, self_weights, cross_weights);
    }
    return normed(x);
}

std::vector<LayerCache> Decoder::start(const Tensor& memory) const {
    std::vector<LayerCache> caches;
    for (const DecoderLayer& layer : layers)
        caches.push_back({.self = {}, .memory = layer.cross_attention.project(memory)});
    return caches;
}

}  // namespace plaingrad::models
