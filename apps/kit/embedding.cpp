#include "apps/kit/embedding.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "autograd/ops.h"

namespace plaingrad::kit {

using autograd::Real;
using autograd::Tensor;

Tensor principal_components(const Tensor& x) {
    const autograd::NoGrad no_grad;
    const Tensor centred = x - mean(x, {0}, true);              // (n, d)
    Tensor spread = matmul(transpose(centred, 0, 1), centred);  // (d, d), n times the covariance
    std::vector<Tensor> directions;
    for (uint64_t k = 0; k < 2; ++k) {
        Tensor v = Tensor::randn({x.size(1), 1}, autograd::Rng(k));  // (d, 1)
        for (int i = 0; i < 200; ++i) {
            const Tensor w = matmul(spread, v);  // (d, 1)
            v = w / (sqrt(sum(w * w)) + Real(1e-30));
        }
        const Real length = sum(v * matmul(spread, v)).item();     // how much x varies along v
        spread = spread - length * matmul(v, transpose(v, 0, 1));  // (d, d), without this direction
        const auto [low, high] = std::minmax_element(v.data(), v.data() + v.numel());
        directions.push_back(-*low > *high ? -v : v);
    }
    return matmul(centred, concat(directions, 1));  // (n, 2)
}

std::vector<std::vector<int64_t>> nearest(const Tensor& x, int64_t count) {
    const autograd::NoGrad no_grad;
    const Tensor unit = x / (sqrt(sum(x * x, {1}, true)) + Real(1e-30));  // (n, d)
    const Tensor cosines = matmul(unit, unit, true);                      // (n, n)
    const int64_t n = x.size(0);
    std::vector<std::vector<int64_t>> all;
    for (int64_t i = 0; i < n; ++i) {
        const Real* const row = cosines.data() + i * n;
        std::vector<int64_t> others(static_cast<std::size_t>(n));
        std::iota(others.begin(), others.end(), 0);
        others.erase(others.begin() + i);
        std::stable_sort(others.begin(), others.end(), [&](int64_t a, int64_t b) { return row[a] > row[b]; });
        others.resize(static_cast<std::size_t>(std::min(count, n - 1)));
        all.push_back(std::move(others));
    }
    return all;
}

}  // namespace plaingrad::kit
