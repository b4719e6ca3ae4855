#include "models/encoder.h"

namespace plaingrad::models {

nn::AttentionOptions attention_options(const StackConfig& c) {
    return {.dropout = c.dropout.attention, .bias = c.attention_bias, .init = c.init};
}

nn::FeedForwardOptions feed_forward_options(const StackConfig& c) {
    return {.activation = c.activation,
            .dropout = c.dropout.feed_forward,
            .bias = c.feed_forward_bias,
            .init = c.init};
}

EncoderLayer::EncoderLayer(const StackConfig& c, const Rng& rng)
    : self_attention(c.d_model, c.n_heads, rng.fork("self_attention"), attention_options(c)),
      feed_forward(c.d_model, c.d_ff, rng.fork("feed_forward"), feed_forward_options(c)),
      residual1(c, rng.fork("residual1")),
      residual2(c, rng.fork("residual2")) {
    nn::scale_residual_projection(c.init, self_attention.out_proj.weight, c.n_layers);
    nn::scale_residual_projection(c.init, feed_forward.linear2.weight, c.n_layers);
}

Tensor EncoderLayer::operator()(const Tensor& x, const Mask& mask, const Mode& mode, Tensor* weights) const {
    const Tensor attended =
        residual1(x, mode, [&](const Tensor& y) { return self_attention(y, mask, mode, weights); });
    return residual2(attended, mode, [&](const Tensor& y) { return feed_forward(y, mode); });
}

Tensor EncoderLayer::step(const Tensor& x, SelfCache& cache) const {
    const Mode eval = Mode::eval();
    const Tensor attended =
        residual1(x, eval, [&](const Tensor& y) { return attend_causally(self_attention, y, cache); });
    return residual2(attended, eval, [&](const Tensor& y) { return feed_forward(y, eval); });
}

Tensor Encoder::operator()(Tensor x, const Mask& mask, const Mode& mode, AttentionWeights* weights) const {
    for (const EncoderLayer& layer : layers)
        x = layer(x, mask, mode, next_weights(weights ? &weights->encoder : nullptr));
    return normed(x);
}

}  // namespace plaingrad::models
