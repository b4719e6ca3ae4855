#include "nn/feed_forward.h"

namespace nn {

FeedForward::FeedForward(int64_t d_model, int64_t d_ff, const Rng& rng, const FeedForwardOptions& options)
    : linear1(d_model, d_ff, rng.fork("linear1"), {.bias = options.bias, .init = options.init}),
      linear2(d_ff, d_model, rng.fork("linear2"), {.bias = options.bias, .init = options.init}),
      dropout(options.dropout, rng.fork("dropout")),
      activation(options.activation) {}

Tensor FeedForward::operator()(const Tensor& x, const Mode& mode) const {
    const Tensor hidden =
        autograd::linear_activation(x, linear1.weight, linear1.bias, activation);  // (..., d_ff)
    return linear2(dropout(hidden, mode));                                         // (..., d_model)
}

}  // namespace nn
