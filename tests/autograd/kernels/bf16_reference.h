// Precision::bf16 in plain numbers, written without looking at bits: what kernels/bf16.h promises.
#pragma once

#include <cmath>
#include <initializer_list>

#include "autograd/base/real.h"

namespace plaingrad::tests {

using autograd::Real;

// The nearest number with 8 significant bits, ties to even; 0 for a subnormal one.
inline Real bf16(Real x) {
    const float f = static_cast<float>(x);
    if (std::isnan(f) || std::isinf(f))
        return f;
    if (std::abs(f) < 0x1p-126f)
        return std::copysign(Real(0), x);
    int exponent = 0;
    const float mantissa = std::frexp(f, &exponent);
    return std::ldexp(std::nearbyint(mantissa * 256) / 256, exponent);
}

// a b + c, rounded once; a result is 0 if it is subnormal after rounding to 24 bits. In double it is only
// rounded.
inline Real flushing_fma(Real a, Real b, Real c) {
    const Real sum = std::fma(a, b, c);
    if (autograd::kRealIsDouble || std::abs(sum) > Real(0x1p-120))
        return sum;
    // The product is exact in double. Half a unit below 2^-126 is a tie, and ties go to 2^-126, the even one.
    const double product = static_cast<double>(a) * static_cast<double>(b), addend = static_cast<double>(c);
    const double wide = product + addend, part = wide - product;
    const double error = (product - (wide - part)) + (addend - part);  // wide + error is exact
    const double tie = 0x1p-126 - 0x1p-151, size = std::abs(wide);
    const bool tiny = size < tie || (size == tie && (wide > 0 ? error < 0 : error > 0));
    return tiny ? std::copysign(Real(0), static_cast<Real>(wide)) : sum;
}

// A chain over pairs of factors that are bfloat16 already: `factors(k, a, b)` sets those of k.
template <class Factors>
Real chain_of_pairs(int64_t begin, int64_t end, const Factors& factors) {
    Real sum = 0;
    for (int64_t k = begin / 2 * 2; k < end; k += 2)
        for (const int64_t each : {k + 1, k}) {
            Real a = 0, b = 0;
            if (begin <= each && each < end)
                factors(each, a, b);
            sum = flushing_fma(a, b, sum);
        }
    return sum;
}

}  // namespace plaingrad::tests
