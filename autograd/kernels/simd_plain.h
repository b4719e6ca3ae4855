// The operations that simd.h needs of a register, for one plain number: the baseline that runs on any
// machine, and the double build.
//
// In float every operation rounds as the instructions do, fma included, so the bits are the same; it need not
// be fast. In double it serves to check gradients.
#pragma once

#include <cstdint>

#include "autograd/base/real.h"

namespace plaingrad::autograd::kernels {
namespace {

using Reals = Real;
using Words = uint32_t;
using Signed = int32_t;
constexpr int kVecRegisters = 8;  // a fiction: the compiler keeps most lanes in memory

// a * b + c rounded once. In double the product of two floats is exact; the sum is rounded to odd
// (if it is inexact, its last bit is set), after which rounding to float cannot go wrong: Boldo and
// Melquiond, "Emulation of a FMA and correctly-rounded sums", 2008.
inline float fma(float a, float b, float c) {
    const double product = static_cast<double>(a) * static_cast<double>(b);
    const double addend = static_cast<double>(c);
    const double sum = product + addend;
    const double part = sum - product;
    const double error = (product - (sum - part)) + (addend - part);  // two-sum: sum + error is exact
    int64_t word;
    __builtin_memcpy(&word, &sum, sizeof word);
    const bool inexact = error != 0.0 && error == error;
    // Away from zero if the exact value lies further out than the sum, towards zero otherwise.
    const int64_t outward = (error > 0.0) == (sum > 0.0) ? 1 : -1;
    const int64_t odd = inexact && (word & 1) == 0 ? word + outward : word;
    double rounded;
    __builtin_memcpy(&rounded, &odd, sizeof rounded);
    return static_cast<float>(rounded);
}
inline double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
inline Real fnma(Real a, Real b, Real c) { return fma(-a, b, c); }
inline float sqrt(float a) { return __builtin_sqrtf(a); }
inline double sqrt(double a) { return __builtin_sqrt(a); }

// The bits of a float; there is no use for those of a double.
inline Words bits(Real a) {
    const float x = static_cast<float>(a);
    Words word;
    __builtin_memcpy(&word, &x, sizeof word);
    return word;
}
inline Real from_bits(Words a) {
    float x;
    __builtin_memcpy(&x, &a, sizeof x);
    return static_cast<Real>(x);
}
inline Real to_real(Words a) { return static_cast<Real>(static_cast<Signed>(a)); }

// Nearest, ties to even. Adding 2^23 (2^52 in double) pushes the fraction out of the mantissa; from
// there on numbers are whole. Values out of int32's range, and NaN, give INT32_MIN as on x86.
inline Words to_int(Real a) {
    constexpr Real whole_from = kRealIsDouble ? Real(4503599627370496.0) : Real(8388608.0);
    const Real magnitude = a < 0 ? -a : a;
    const Real rounded = magnitude < whole_from ? (magnitude + whole_from) - whole_from : magnitude;
    if (!(rounded < Real(2147483648.0)))
        return static_cast<Words>(INT32_MIN);
    return static_cast<Words>(static_cast<Signed>(a < 0 ? -rounded : rounded));
}

inline Real register_of_first(const Real* p, int64_t n) { return n > 0 ? *p : Real(0); }
inline void store_first(Real* p, int64_t n, Real a) {
    if (n > 0)
        *p = a;
}
inline Real reduce(Real a, auto) { return a; }
inline Real interleave_low(Real a, Real) { return a; }
inline Real interleave_high(Real, Real b) { return b; }

}  // namespace
}  // namespace plaingrad::autograd::kernels
