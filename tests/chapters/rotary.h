// Rotary positions (Su et al. 2021, RoFormer), which the library does not have: instead of adding something
// to the vectors, each pair of numbers of a query and of a key is turned by an angle that grows with its
// position.
#pragma once

#include "autograd/base/portable_math.h"
#include "autograd/ops.h"

namespace plaingrad::chapters {

// x (B, T, D), D even -> the same shape. Numbers i and i + D/2 are a pair, turned by t 10000^(-2i/D) at
// position t.
inline autograd::Tensor rotary(const autograd::Tensor& x) {
    using autograd::Tensor;
    const int64_t T = x.size(1), half = x.size(2) / 2;
    Tensor cosines = Tensor::uninitialized({T, half}), sines = Tensor::uninitialized({T, half});
    for (int64_t t = 0; t < T; ++t)
        for (int64_t i = 0; i < half; ++i) {
            const double angle =
                static_cast<double>(t) *
                autograd::portable::pow(10000, -static_cast<double>(i) / static_cast<double>(half));
            cosines.mutable_data()[t * half + i] =
                static_cast<autograd::Real>(autograd::portable::cos(angle));
            sines.mutable_data()[t * half + i] = static_cast<autograd::Real>(autograd::portable::sin(angle));
        }
    const Tensor a = slice(x, 2, 0, half), b = slice(x, 2, half, 2 * half);  // (B, T, D/2)
    const Tensor a_cos = a * cosines, b_sin = b * sines, a_sin = a * sines, b_cos = b * cosines;
    return autograd::concat({a_cos - b_sin, a_sin + b_cos}, 2);  // (B, T, D)
}

}  // namespace plaingrad::chapters
