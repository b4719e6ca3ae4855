// The functions that kernels compute for each element of a tensor, as on paper, and how far a result may be
// off: what functions.cpp compares them with.
//
// In double each formula has a relative error of at most some 1e-14, less than a millionth of the gap
// between two floats.
#pragma once

#include <array>
#include <cmath>
#include <limits>

#include "autograd/kernels/kernels.h"
#include "tests/autograd/kernels/bf16_reference.h"

namespace plaingrad::trust {

using autograd::kernels::Unary;

// A true value, and a number at whose size an ulp is measured: errors are counted in such ulps. That is the
// value itself, but
//   of a sum a + b    the larger term's: where terms cancel, as in gelu' at its root, no formula in float is
//                     exact to an ulp of the small difference
//   of a product x s  |x| max(s, 2^-126): below 2^-126, s has fewer digits, and x multiplies their rounding
struct Truth {
    double value, scale;
    Truth(double y) : value(y), scale(std::fabs(y)) {}  // NOLINT: implicit, so that a number can be returned
    Truth(double y, double size) : value(y), scale(size) {}
};
inline Truth sum_of(Truth a, Truth b) { return {a.value + b.value, std::fmax(a.scale, b.scale)}; }
inline Truth product_of(double x, double s) { return {x * s, std::fabs(x) * std::fmax(s, 0x1p-126)}; }

namespace truth {

inline const double kPi = std::acos(-1.0);

inline double sigmoid(double x) {
    const double e = std::exp(-std::fabs(x));
    return (x < 0 ? e : 1) / (1 + e);
}
// P(N <= x) of the normal distribution; erfc has all its digits where it is tiny.
inline double normal(double x) { return std::erfc(-x * std::sqrt(0.5)) / 2; }
inline double density(double x) { return std::exp(-x * x / 2) / std::sqrt(2 * kPi); }

// gelu_tanh(x) = x sigmoid(2u)
inline double two_u(double x) { return 2 * std::sqrt(2 / kPi) * (x + 0.044715 * x * x * x); }
inline double two_du(double x) { return 2 * std::sqrt(2 / kPi) * (1 + 3 * 0.044715 * x * x); }

}  // namespace truth

// f(x) or f'(x). As in kernels.h, the derivative of exp, sqrt, tanh and sigmoid is a function of the result.
inline Truth true_value(Unary f, bool derivative, double x) {
    if (std::isnan(x))
        return x;
    // Further out everything has its limit, and infinity times 0 would be NaN.
    const double left = std::fmax(x, -1000), inside = std::fmin(left, 1000);
    // (x s(2u))' for any u(x), from s = s(2u), 1 - s = s(-2u) and 2u'
    const auto product = [&](double twice, double slope) {
        const double factor = inside * slope;
        return sum_of(truth::sigmoid(twice),
                      product_of(factor, truth::sigmoid(twice) * truth::sigmoid(-twice)));
    };
    switch (f) {
        case Unary::neg:
            return derivative ? -1 : -x;
        case Unary::abs:
            return derivative ? double(x > 0) - double(x < 0) : std::fabs(x);
        case Unary::relu:
            return derivative ? double(x > 0) : std::fmax(x, 0);
        case Unary::to_bf16:
            return derivative ? 1 : static_cast<double>(tests::bf16(static_cast<autograd::Real>(x)));
        case Unary::exp:
            return derivative ? x : std::exp(x);
        case Unary::log:
            return derivative ? 1 / x : std::log(x);
        case Unary::sqrt:
            return derivative ? 0.5 / x : std::sqrt(x);
        case Unary::tanh:
            return derivative ? (1 - x) * (1 + x) : std::tanh(x);
        case Unary::sigmoid:
            return derivative ? x * (1 - x) : truth::sigmoid(x);
        case Unary::gelu:
            return derivative ? sum_of(truth::normal(inside), inside * truth::density(inside))
                              : left * truth::normal(left);
        case Unary::gelu_tanh:
            return derivative ? product(truth::two_u(inside), truth::two_du(inside))
                              : product_of(left, truth::sigmoid(truth::two_u(left)));
        case Unary::silu:
            return derivative ? product(inside, 1) : product_of(left, truth::sigmoid(left));
        case Unary::count:
            break;
    }
    return std::numeric_limits<double>::quiet_NaN();
}

// ---- what is promised

// Errors are in ulp: the distance of neighbouring floats at the true value, or at the larger of two terms;
// below 2^-126, the distance of subnormal floats.
namespace bound {

inline double exact(double) { return 1e-9; }
inline double rounded(double) { return 0.5 + 1e-6; }  // correctly; the reference itself is not exact
inline double one(double) { return 1; }
inline double tanh(double) { return 1.5; }
inline double sigmoid(double) { return 2.5; }
// The tail is the product of two approximations.
inline double gelu(double x) { return x < -1 ? 6.6 : 4.1; }
inline double silu(double) { return 3.5; }
inline double gelu_slope(double x) { return x < -1 ? 7.2 : 4.1; }
// On the left it is a power of e, and a relative error of the exponent is multiplied by it.
inline double gelu_tanh(double x) { return 3 + (x < 0 ? 2.6 * std::fmin(-truth::two_u(x), 110) : 0); }
// In x s (1 - s) the sigmoid's error is multiplied by x, until the sigmoid is 0 or 1.
inline double silu_slope(double x) { return 3.5 + 1.5 * std::fmin(std::fabs(x), 105); }
inline double gelu_tanh_slope(double x) {
    const double a = std::fmin(std::fabs(x), 11);
    return gelu_tanh(x) + 1.5 * a * truth::two_du(a);
}

}  // namespace bound

struct Function {
    const char* name;
    bool has_row;  // its error in ulp has a row of its own in the table
    Unary f;
    bool derivative;
    double (*bound)(double x);
    std::array<float, 4> at;                   // its values at -infinity, -0, 0, infinity
    float low = -HUGE_VALF, high = HUGE_VALF;  // where it is defined: a derivative, at values of its function

    bool defined(float x) const { return !(x < low || x > high); }
};

inline constexpr float kInf = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

inline const Function kFunctions[] = {
    {"exp", true, Unary::exp, false, bound::one, {0, 1, 1, kInf}},
    {"log", true, Unary::log, false, bound::one, {kNan, -kInf, -kInf, kInf}},
    {"tanh", true, Unary::tanh, false, bound::tanh, {-1, -0.0f, 0, 1}},
    {"sigmoid", true, Unary::sigmoid, false, bound::sigmoid, {0, 0.5, 0.5, 1}},
    {"gelu", true, Unary::gelu, false, bound::gelu, {0, -0.0f, 0, kInf}},
    {"gelu_tanh", false, Unary::gelu_tanh, false, bound::gelu_tanh, {-0.0f, -0.0f, 0, kInf}},
    {"silu", true, Unary::silu, false, bound::silu, {-0.0f, -0.0f, 0, kInf}},
    {"sqrt", false, Unary::sqrt, false, bound::rounded, {kNan, -0.0f, 0, kInf}},
    {"neg", false, Unary::neg, false, bound::exact, {kInf, 0, -0.0f, -kInf}},
    {"abs", false, Unary::abs, false, bound::exact, {kInf, 0, 0, kInf}},
    {"relu", false, Unary::relu, false, bound::exact, {0, -0.0f, 0, kInf}},
    {"to_bf16", false, Unary::to_bf16, false, bound::exact, {-kInf, -0.0f, 0, kInf}},
    {"exp'", false, Unary::exp, true, bound::exact, {-kInf, -0.0f, 0, kInf}, 0},
    {"log'", false, Unary::log, true, bound::rounded, {-0.0f, -kInf, kInf, 0}},
    {"tanh'", false, Unary::tanh, true, bound::rounded, {-kInf, 1, 1, -kInf}, -1, 1},
    {"sigmoid'", false, Unary::sigmoid, true, bound::rounded, {-kInf, -0.0f, 0, -kInf}, 0, 1},
    {"gelu'", false, Unary::gelu, true, bound::gelu_slope, {-0.0f, 0.5, 0.5, 1}},
    {"gelu_tanh'", false, Unary::gelu_tanh, true, bound::gelu_tanh_slope, {0, 0.5, 0.5, 1}},
    {"silu'", false, Unary::silu, true, bound::silu_slope, {0, 0.5, 0.5, 1}},
    {"sqrt'", false, Unary::sqrt, true, bound::rounded, {-0.0f, -kInf, kInf, 0}, 0},
};

}  // namespace plaingrad::trust
