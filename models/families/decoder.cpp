#include "models/families/decoder.h"

namespace plaingrad::models {

DecoderLayer::DecoderLayer(const Config& c, const Rng& rng)
    : self_attention(c.block.d_model, c.block.n_heads, rng.fork("self_attention"), attention_options(c)),
      cross_attention(c.block.d_model, c.block.n_heads, rng.fork("cross_attention"), attention_options(c)),
      feed_forward(c.block.d_model, c.block.d_ff, rng.fork("feed_forward"), feed_forward_options(c)),
      residual1(c, rng.fork("residual1")),
      residual2(c, rng.fork("residual2")),
      residual3(c, rng.fork("residual3")) {
    nn::scale_residual_projection(c.block.init, self_attention.out_proj.weight, c.n_decoder_layers);
    nn::scale_residual_projection(c.block.init, cross_attention.out_proj.weight, c.n_decoder_layers);
    nn::scale_residual_projection(c.block.init, feed_forward.linear2.weight, c.n_decoder_layers);
}

Tensor DecoderLayer::operator()(const Tensor& x, const Tensor& memory, const Pass& self,
                                const Pass& cross) const {
    const Mode& mode = self.mode;  // below, (B, T, d_model) throughout
    const Tensor attended = residual1(x, mode, [&](const Tensor& y) { return self_attention(y, self); });
    const Tensor informed =
        residual2(attended, mode, [&](const Tensor& y) { return cross_attention(y, memory, cross); });
    return residual3(informed, mode, [&](const Tensor& y) { return feed_forward(y, mode); });
}

Tensor Decoder::operator()(Tensor x, const Tensor& memory, Pass self, Pass cross,
                           std::vector<LayerCache>* caches) const {
    self.rotary = rotary ? &*rotary : nullptr;
    for (std::size_t i = 0; i < layers.size(); ++i) {
        self.cache = caches ? &(*caches)[i].self : nullptr;
        cross.cache = caches ? &(*caches)[i].memory : nullptr;
        x = layers[i](x, memory, self, cross);  // (B, T, d_model)
        nn::show(layers[i], x, self.mode);      // to a probe, if there is one
    }
    return normed(x);
}

std::vector<LayerCache> Decoder::start(const Tensor& memory) const {
    std::vector<LayerCache> caches;
    for (const DecoderLayer& layer : layers)
        caches.push_back({.self = {}, .memory = nn::KeyValueCache(layer.cross_attention.kv_proj(memory))});
    return caches;
}

}  // namespace plaingrad::models
