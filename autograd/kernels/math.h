// exp, log, tanh, sigmoid and the normal distribution, on 16 lanes.
//
// Each function brings its argument into a small interval, evaluates a polynomial there, and undoes
// the first step. There is no branch on the data: where a function has two formulas, both are
// computed and each lane picks one. With only correctly rounded operations and explicit fma, every
// instruction set gives the same bits.
//
// The coefficients are minimax: they make the largest error on the interval as small as possible
// (Remez's algorithm, in 40 digits, on the weighted error that the comment names), rounded to float
// one after the other, with the rest fitted again each time. The "largest error" of a function is the
// one that was measured on all floats against double, in ulp: the distance of two neighbouring floats
// at the result, 0.5 being perfect. test_math.cpp checks these bounds, and `make trust` on all floats.
//
// In the double build, whose purpose is accuracy, they are the C library's functions.
#pragma once

#include "autograd/kernels/simd.h"

namespace plaingrad::autograd::kernels {
namespace {

// ------------------------------------------------------------------------------------ the tools

// c0 + c1 x + c2 x² + ...: Horner's rule, one fma a coefficient.
template <class... Rest>
inline Vec polynomial(Vec x, float c0, Rest... rest) {
    if constexpr (sizeof...(rest) == 0)
        return broadcast(c0);
    else
        return fma(polynomial(x, rest...), x, broadcast(c0));
}

constexpr uint32_t kSignBit = 0x80000000;

inline Vec absolute(Vec x) { return from_bits(bits(x) & int_broadcast(~kSignBit)); }
inline Vec with_sign_of(Vec x, Vec magnitude) {
    return from_bits((bits(x) & int_broadcast(kSignBit)) | bits(magnitude));
}

// 2^n for -126 <= n <= 127: n goes into the exponent's bits.
inline Vec power_of_two(Int n) { return from_bits((n + int_broadcast(127)) << 23); }

// y 2^n for 1/2 <= y <= 2 and -151 < n < 254, in two steps: 2^-150 is no float. Only the second can round,
// so subnormal results are rounded once, too. (AVX-512 has an instruction that does the same.)
inline auto times_power_of_two(Vec y, auto n) {
    const Int half = shift_right_signed(n, 1);
    return y * power_of_two(half) * power_of_two(n - half);
}

// x, but at least or at most the bound. NaN stays NaN: min and max return the second operand for NaN.
inline Vec at_least(Real bound, Vec x) { return max(broadcast(bound), x); }
inline Vec at_most(Real bound, Vec x) { return min(broadcast(bound), x); }

// f on each lane, for the double build.
template <class F>
inline Vec each_lane(Vec x, F f) {
    Real lane[kLanes];
    store(lane, x);
    for (Real& value : lane)
        value = f(value);
    return load(lane);
}

// -------------------------------------------------------------------------------- the functions

// exp(x) = 2^n exp(r)      n = x / ln 2, rounded; r = x - n ln 2
//
// |r| <= ln 2 / 2, where a polynomial of degree 6 (that begins 1 + r, exactly) has a relative error
// of 2^-28.2. ln 2 is taken in two floats, so that r is right although x and n ln 2 nearly cancel.
// Largest error: 0.89 ulp.
inline Vec exp(Vec x) {
    if constexpr (kRealIsDouble)
        return each_lane(x, [](Real a) { return static_cast<Real>(__builtin_exp(a)); });
    x = at_most(89, at_least(-104, x));  // e^89 is inf in float and e^-104 is 0; n stays small
    const Int n = to_int(x * broadcast(1.442695041f));
    Vec r = fnma(to_real(n), broadcast(0.6931471825f), x);
    r = fnma(to_real(n), broadcast(-1.904654323e-9f), r);
    const Vec y = polynomial(r, 1.0f, 1.0f, 4.9999994e-01f, 1.6666517e-01f, 4.1668102e-02f, 8.3691655e-03f,
                             1.3838003e-03f);
    return times_power_of_two(y, n);
}

// log(x) = e ln 2 + log(1 + f)      x = 2^e (1 + f), sqrt(1/2) <= 1 + f < sqrt(2)
//
// log(1 + f) = f - f²/2 + f³ p(f), p of degree 8; relative error 2^-28.2. Around 1, e is 0 and f is
// exact, so that results near 0 are as accurate as others. Largest error: 0.84 ulp.
inline Vec log(Vec x) {
    if constexpr (kRealIsDouble)
        return each_lane(x, [](Real a) { return static_cast<Real>(__builtin_log(a)); });
    const Mask subnormal = less(x, broadcast(1.17549435e-38f));
    const Vec scaled = select(subnormal, x * broadcast(8388608.0f), x);  // 2^23 makes it normal

    const Int sqrt_half = int_broadcast(0x3f3504f3);
    const Int exponent = shift_right_signed(bits(scaled) - sqrt_half, 23);
    const Vec f = from_bits(bits(scaled) - (exponent << 23)) - broadcast(1);
    const Vec e = to_real(exponent) + select(subnormal, broadcast(-23), zero());

    const Vec p = polynomial(f, 3.3333313e-01f, -2.5000167e-01f, 2.0002224e-01f, -1.6659367e-01f,
                             1.420977e-01f, -1.2548926e-01f, 1.2099973e-01f, -1.0921079e-01f, 5.386786e-02f);
    Vec y = fma(e, broadcast(-1.904654323e-9f), f * f * f * p);
    y = fma(f * f, broadcast(-0.5f), y);
    y = fma(e, broadcast(0.6931471825f), f + y);

    const Vec infinity = broadcast(static_cast<Real>(__builtin_inf()));
    y = select(less(x, infinity), y, x);  // log(inf) = inf, log(NaN) = NaN
    y = select(less(x, zero()), broadcast(static_cast<Real>(__builtin_nan(""))), y);
    return select(equal(x, zero()), zero() - infinity, y);
}

// tanh(x) = a + a³ p(a²)         a = |x| < 0.625
//         = 1 - 2 / (e^2a + 1)   beyond, where the subtraction no longer loses digits
//
// and the sign of x. p of degree 4; relative error 2^-27.7. Largest error: 1.4 ulp, just beyond 0.625.
inline Vec tanh(Vec x) {
    if constexpr (kRealIsDouble)
        return each_lane(x, [](Real a) { return static_cast<Real>(__builtin_tanh(a)); });
    const Vec a = absolute(x);
    const Vec z = a * a;
    const Vec p =
        polynomial(z, -3.333328e-01f, 1.3331406e-01f, -5.3736515e-02f, 2.0628167e-02f, -5.692296e-03f);
    const Vec near = fma(a * z, p, a);
    const Vec far = broadcast(1) - broadcast(2) / (exp(a + a) + broadcast(1));
    return with_sign_of(x, select(less(a, broadcast(0.625f)), near, far));
}

// sigmoid(x) = 1 / (1 + e^-x) = e^x / (1 + e^x): the form whose power is at most 1, so that nothing
// overflows and the far left is e^x down to its last subnormal. Largest error: 2.4 ulp.
inline Vec sigmoid(Vec x) {
    const Vec a = max(x, zero() - x);
    const Vec e = exp(zero() - a);
    return select(less(x, zero()), e, broadcast(1)) / (broadcast(1) + e);
}

// exp(-a²/2), a >= 0: the normal distribution's bell. In float, the part of a² that was rounded away
// would be a large relative error far out; it is put back as e^-d = 1 - d. Largest error: 1.4 ulp.
inline Vec gauss(Vec a) {
    a = at_most(kRealIsDouble ? 39 : 15, a);  // both give 0; beyond, a² could become inf
    const Vec square = a * a;
    const Vec rest = fma(a, a, zero() - square);
    const Vec e = exp(square * broadcast(-0.5f));
    return fnma(e * broadcast(0.5f), rest, e);
}

// P(N > a) / exp(-a²/2), a >= 0: how the tail of the normal distribution compares with its bell. It
// falls slowly from 1/2, like 1/a, so a quotient of polynomials fits it: degrees 4 and 5 have a
// relative error of 2^-26.7 on [0, 14.5]. The tail itself is gauss(a) * mills(a), accurate also where
// it is tiny; 1 - Phi(a) would have no correct digit from a = 5.5 on. Largest error: 5 ulp, at 13.
inline Vec mills(Vec a) {
    a = at_most(kRealIsDouble ? 37 : 15, a);
    if constexpr (kRealIsDouble)
        return each_lane(a, [](Real x) { return Real(0.5 * __builtin_erfc(x * 0.70710678118654752440)); }) /
               gauss(a);
    const Vec above = polynomial(a, 0.5f, 0.4382949f, 0.18323508f, 0.040633213f, 0.0041163075f);
    const Vec below = polynomial(a, 1.0f, 1.6744747f, 1.202503f, 0.46947047f, 0.10185881f, 0.010317933f);
    return above / below;
}

}  // namespace
}  // namespace plaingrad::autograd::kernels
