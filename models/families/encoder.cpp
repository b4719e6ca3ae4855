// The encoder's layers. The formulas: nn/attention.h, nn/feed_forward.h, models/families/encoder.h.
#include "models/families/encoder.h"

namespace plaingrad::models {

Mask hiding_padding(const Tokens& ids) {
    const std::vector<int32_t> lengths = ids.lengths();
    for (std::size_t b = 0; b < lengths.size(); ++b)
        check(lengths[b] > 0, "[encoder] sequence ", b, " of the batch is empty; leave it out");
    return Mask::key_counts(lengths);
}

nn::MultiHeadOptions attention_options(const Config& c) {
    return {.n_kv_heads = c.block.n_kv_heads,
            .head_dim = c.block.head_dim,
            .dropout = c.block.dropout.attention,
            .bias = c.block.attention_bias,
            .out_bias = c.block.attention_out_bias,
            .init = c.block.init};
}

nn::FeedForwardOptions feed_forward_options(const Config& c) {
    return {.activation = c.block.activation,
            .gated = c.block.gated,
            .dropout = c.block.dropout.feed_forward,
            .bias = c.block.feed_forward_bias,
            .init = c.block.init};
}

EncoderLayer::EncoderLayer(const Config& c, const Rng& rng)
    : self_attention(c.block.d_model, c.block.n_heads, rng.fork("self_attention"), attention_options(c)),
      feed_forward(c.block.d_model, c.block.d_ff, rng.fork("feed_forward"), feed_forward_options(c)),
      residual1(c, rng.fork("residual1")),
      residual2(c, rng.fork("residual2")) {
    // GPT-2's initial values: smaller in the matrices that write into the residual stream (nn/init.h).
    nn::scale_residual_projection(c.block.init, self_attention.out_proj.weight, c.n_layers);
    nn::scale_residual_projection(c.block.init, feed_forward.linear2.weight, c.n_layers);
}

Tensor EncoderLayer::operator()(const Tensor& x, const Pass& pass) const {
    // (B, S, d_model) throughout
    const Tensor attended = residual1(x, pass.mode, [&](const Tensor& y) { return self_attention(y, pass); });
    return residual2(attended, pass.mode, [&](const Tensor& y) { return feed_forward(y, pass.mode); });
}

Tensor Encoder::operator()(Tensor x, Pass pass, std::vector<LayerCache>* caches) const {
    pass.rotary = rotary ? &*rotary : nullptr;
    for (std::size_t i = 0; i < layers.size(); ++i) {
        pass.cache = caches ? &(*caches)[i].self : nullptr;
        x = layers[i](x, pass);             // (B, S, d_model)
        nn::show(layers[i], x, pass.mode);  // to a probe, if there is one
    }
    return normed(x);
}

}  // namespace plaingrad::models
