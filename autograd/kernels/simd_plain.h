// simd.h's vector as a plain struct with loops: the baseline that runs on any machine, and the double build.
//
// In float every operation rounds as the instructions do, fma included, so the bits are the same; there is
// no promise of speed. In double it serves to check gradients.
// Included by simd.h alone, which defines kLanes.
#pragma once

#include <cstdint>

#include "autograd/base/real.h"

namespace autograd::kernels {
namespace {

constexpr int kVecRegisters = 8;  // a fiction: the compiler keeps most lanes in memory

struct alignas(16) Vec {
    Real lane[kLanes];
};
struct alignas(16) Int {
    int32_t lane[kLanes];
};
struct Mask {
    bool lane[kLanes];
};

// f on each of the sixteen lanes.
template <class R, class F>
inline R lanes(F f) {
    R r;
    for (int i = 0; i < kLanes; ++i)
        r.lane[i] = f(i);
    return r;
}

// a * b + c rounded once. In double the product of two floats is exact; the sum is rounded to odd
// (if it is inexact, its last bit is set), after which rounding to float cannot go wrong: Boldo and
// Melquiond, "Emulation of a FMA and correctly-rounded sums", 2008.
inline float fma_lane(float a, float b, float c) {
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
inline double fma_lane(double a, double b, double c) { return __builtin_fma(a, b, c); }
inline float sqrt_lane(float a) { return __builtin_sqrtf(a); }
inline double sqrt_lane(double a) { return __builtin_sqrt(a); }

inline Vec broadcast(Real x) {
    return lanes<Vec>([&](int) { return x; });
}
inline Vec load(const Real* p) {
    return lanes<Vec>([&](int i) { return p[i]; });
}
inline void store(Real* p, Vec a) {
    for (int i = 0; i < kLanes; ++i)
        p[i] = a.lane[i];
}
inline Vec load_first(const Real* p, int64_t n) {
    return lanes<Vec>([&](int i) { return i < n ? p[i] : Real(0); });
}
inline void store_first(Real* p, int64_t n, Vec a) {
    for (int64_t i = 0; i < n; ++i)
        p[i] = a.lane[i];
}

inline Vec operator+(Vec a, Vec b) {
    return lanes<Vec>([&](int i) { return a.lane[i] + b.lane[i]; });
}
inline Vec operator-(Vec a, Vec b) {
    return lanes<Vec>([&](int i) { return a.lane[i] - b.lane[i]; });
}
inline Vec operator*(Vec a, Vec b) {
    return lanes<Vec>([&](int i) { return a.lane[i] * b.lane[i]; });
}
inline Vec operator/(Vec a, Vec b) {
    return lanes<Vec>([&](int i) { return a.lane[i] / b.lane[i]; });
}
inline Vec fma(Vec a, Vec b, Vec c) {
    return lanes<Vec>([&](int i) { return fma_lane(a.lane[i], b.lane[i], c.lane[i]); });
}
inline Vec fnma(Vec a, Vec b, Vec c) {
    return lanes<Vec>([&](int i) { return fma_lane(-a.lane[i], b.lane[i], c.lane[i]); });
}
inline Vec sqrt(Vec a) {
    return lanes<Vec>([&](int i) { return sqrt_lane(a.lane[i]); });
}
inline Vec max(Vec a, Vec b) {
    return lanes<Vec>([&](int i) { return a.lane[i] > b.lane[i] ? a.lane[i] : b.lane[i]; });
}
inline Vec min(Vec a, Vec b) {
    return lanes<Vec>([&](int i) { return a.lane[i] < b.lane[i] ? a.lane[i] : b.lane[i]; });
}

// a0 b0 a1 b1 ... a7 b7, and a8 b8 ... a15 b15.
inline Vec interleave_low(Vec a, Vec b) {
    return lanes<Vec>([&](int i) { return (i % 2 == 0 ? a : b).lane[i / 2]; });
}
inline Vec interleave_high(Vec a, Vec b) {
    return lanes<Vec>([&](int i) { return (i % 2 == 0 ? a : b).lane[kLanes / 2 + i / 2]; });
}

inline Mask less(Vec a, Vec b) {
    return lanes<Mask>([&](int i) { return a.lane[i] < b.lane[i]; });
}
inline Mask equal(Vec a, Vec b) {
    return lanes<Mask>([&](int i) { return a.lane[i] == b.lane[i]; });
}
inline Vec select(Mask m, Vec yes, Vec no) {
    return lanes<Vec>([&](int i) { return m.lane[i] ? yes.lane[i] : no.lane[i]; });
}

inline Int int_broadcast(int32_t x) {
    return lanes<Int>([&](int) { return x; });
}
inline Int int_load(const int32_t* p) {
    return lanes<Int>([&](int i) { return p[i]; });
}
// Integer arithmetic wraps, so it is done unsigned.
template <class F>
inline Int int_lanes(Int a, Int b, F f) {
    return lanes<Int>([&](int i) {
        return static_cast<int32_t>(f(static_cast<uint32_t>(a.lane[i]), static_cast<uint32_t>(b.lane[i])));
    });
}
inline Int operator+(Int a, Int b) {
    return int_lanes(a, b, [](uint32_t x, uint32_t y) { return x + y; });
}
inline Int operator-(Int a, Int b) {
    return int_lanes(a, b, [](uint32_t x, uint32_t y) { return x - y; });
}
inline Int operator*(Int a, Int b) {
    return int_lanes(a, b, [](uint32_t x, uint32_t y) { return x * y; });
}
inline Int operator^(Int a, Int b) {
    return int_lanes(a, b, [](uint32_t x, uint32_t y) { return x ^ y; });
}
inline Int operator&(Int a, Int b) {
    return int_lanes(a, b, [](uint32_t x, uint32_t y) { return x & y; });
}
inline Int operator|(Int a, Int b) {
    return int_lanes(a, b, [](uint32_t x, uint32_t y) { return x | y; });
}
template <int n>
Int shift_left(Int a) {
    return int_lanes(a, a, [](uint32_t x, uint32_t) { return x << n; });
}
template <int n>
Int shift_right(Int a) {
    return int_lanes(a, a, [](uint32_t x, uint32_t) { return x >> n; });
}
template <int n>
Int shift_right_signed(Int a) {
    return lanes<Int>([&](int i) { return a.lane[i] >> n; });
}
inline Mask less(Int a, Int b) {
    return lanes<Mask>([&](int i) { return a.lane[i] < b.lane[i]; });
}

// Nearest, ties to even. Adding 2^23 (2^52 in double) pushes the fraction out of the mantissa; from
// there on numbers are whole. What is out of int32's range, or NaN, gives INT32_MIN as on x86.
inline int32_t to_int_lane(Real a) {
    constexpr Real whole_from = kRealIsDouble ? Real(4503599627370496.0) : Real(8388608.0);
    const Real magnitude = a < 0 ? -a : a;
    const Real rounded = magnitude < whole_from ? (magnitude + whole_from) - whole_from : magnitude;
    if (!(rounded < Real(2147483648.0)))
        return INT32_MIN;
    return static_cast<int32_t>(a < 0 ? -rounded : rounded);
}
inline Int to_int(Vec a) {
    return lanes<Int>([&](int i) { return to_int_lane(a.lane[i]); });
}
inline Vec to_real(Int a) {
    return lanes<Vec>([&](int i) { return static_cast<Real>(a.lane[i]); });
}
// The bits of a float; there is no use for those of a double.
inline Int bits(Vec a) {
    return lanes<Int>([&](int i) {
        const float x = static_cast<float>(a.lane[i]);
        int32_t word;
        __builtin_memcpy(&word, &x, sizeof word);
        return word;
    });
}
inline Vec from_bits(Int a) {
    return lanes<Vec>([&](int i) {
        float x;
        __builtin_memcpy(&x, &a.lane[i], sizeof x);
        return static_cast<Real>(x);
    });
}

inline Real lanes_add(Real a, Real b) { return a + b; }
inline Real lanes_max(Real a, Real b) { return a > b ? a : b; }
template <class F>
inline Real reduce(Vec a, const F& f) {
    for (int half = kLanes / 2; half > 0; half /= 2)
        for (int i = 0; i < half; ++i)
            a.lane[i] = f(a.lane[i], a.lane[i + half]);
    return a.lane[0];
}

}  // namespace
}  // namespace autograd::kernels
