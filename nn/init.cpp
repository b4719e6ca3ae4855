#include "nn/init.h"

#include <cmath>

namespace plaingrad::nn {

Tensor uniform(const Shape& shape, double bound, const Rng& rng) {
    return Tensor::from_function(shape, [&](uint64_t i) { return bound * (2 * rng.uniform(i) - 1); });
}

Tensor normal(const Shape& shape, double deviation, const Rng& rng) {
    return Tensor::from_function(shape, [&](uint64_t i) { return deviation * rng.normal(i); });
}

constexpr double kSmallDeviation = 0.02;
static bool is_small(Init init) { return init == Init::bert || init == Init::gpt2; }

static double inverse_root(int64_t n) { return 1 / std::sqrt(static_cast<double>(n)); }
static double xavier_bound(int64_t in, int64_t out) { return std::sqrt(6.0 / static_cast<double>(in + out)); }

Tensor initial_matrix(Init init, const Shape& shape, int64_t in, int64_t out, const Rng& rng) {
    if (init == Init::none)
        return Tensor::uninitialized(shape);
    if (init == Init::xavier || init == Init::pytorch)
        return uniform(shape, init == Init::xavier ? xavier_bound(in, out) : inverse_root(in), rng);
    return normal(shape, is_small(init) ? kSmallDeviation : inverse_root(in), rng);
}

Tensor initial_bias(Init init, int64_t in, int64_t out, const Rng& rng) {
    // Without inputs 1/√in is infinite: the bias is 0, as in PyTorch.
    return init == Init::pytorch && in > 0 ? uniform({out}, inverse_root(in), rng) : Tensor::zeros({out});
}

void scale_residual_projection(Init init, const Parameter& matrix, int64_t n_layers) {
    if (init != Init::gpt2)
        return;
    Real* const values = matrix->mutable_data();
    const Real scale = static_cast<Real>(inverse_root(2 * n_layers));
    for (int64_t i = 0; i < matrix->numel(); ++i)
        values[i] *= scale;
}

Tensor initial_table(Init init, int64_t count, int64_t d, const Rng& rng) {
    if (init == Init::none)
        return Tensor::uninitialized({count, d});
    return normal({count, d},
                  is_small(init)          ? kSmallDeviation
                  : init == Init::pytorch ? 1
                                          : inverse_root(d),
                  rng);
}

}  // namespace plaingrad::nn
