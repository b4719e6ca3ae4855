// exp, log, tanh, sigmoid, gelu: accuracy, special values, and the same bits on every instruction set.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "autograd/kernels/kernels.h"
#include "tests/autograd/kernels/bf16_reference.h"
#include "tests/catch.h"

using namespace plaingrad;          // NOLINT
using namespace autograd;           // NOLINT
using namespace autograd::kernels;  // NOLINT

namespace {

constexpr Real kInf = std::numeric_limits<Real>::infinity();
constexpr Real kNan = std::numeric_limits<Real>::quiet_NaN();

// Calls f once with each set of kernels, and puts the old one back.
void for_each_isa(const std::function<void()>& f) {
    const std::string before = cpu().name;
    for (const char* const* name = available(); *name != nullptr; ++name) {
        use(*name);
        INFO("kernels: " << *name);
        f();
    }
    use(before.c_str());
}

std::vector<Real> compute(Unary function, const std::vector<Real>& x) {
    std::vector<Real> y(x.size());
    cpu().unary(function, static_cast<int64_t>(x.size()), x.data(), y.data());
    return y;
}

Real compute(Unary function, Real x) { return compute(function, std::vector<Real>{x})[0]; }

Real float_of(uint32_t word) {
    float x;
    std::memcpy(&x, &word, sizeof x);
    return x;
}

uint32_t word_of(float x) {
    uint32_t word;
    std::memcpy(&word, &x, sizeof word);
    return word;
}

std::vector<Real> negated(std::vector<Real> x) {
    for (Real& value : x)
        value = -value;
    return x;
}

// Every `stride`-th float from the word `first` to the word `last`.
std::vector<Real> floats(uint32_t first, uint32_t last, uint32_t stride) {
    std::vector<Real> x;
    for (uint64_t word = first; word <= last; word += stride)
        x.push_back(float_of(static_cast<uint32_t>(word)));
    return x;
}

// All kinds of floats, of both signs, NaNs included; and all floats around the places where a
// function changes its formula, overflows or becomes subnormal.
std::vector<Real> sweep(uint32_t stride) {
    std::vector<Real> x = floats(0, UINT32_MAX, stride);
    for (const float place : {0.625f, 1.0f, 0.70710678f, 1.41421356f, 0.34657359f, 88.722839f, 87.336544f,
                              89.0f, 103.97208f, 104.0f, 14.0f, 14.5f, 15.0f, 1.17549435e-38f, 9.01f, 3.9f}) {
        for (const float signed_place : {place, -place}) {
            const std::vector<Real> near =
                floats(word_of(signed_place) - 300, word_of(signed_place) + 300, 1);
            x.insert(x.end(), near.begin(), near.end());
        }
    }
    return x;
}

// ---- the references, in double

double sigmoid_reference(double x) {
    return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}

double gelu_tanh_argument(double x) {
    return 2 * std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x);
}

double reference(Unary function, double x) {
    switch (function) {
        case Unary::neg:
            return -x;
        case Unary::exp:
            return std::exp(x);
        case Unary::log:
            return std::log(x);
        case Unary::sqrt:
            return std::sqrt(x);
        case Unary::tanh:
            return std::tanh(x);
        case Unary::sigmoid:
            return sigmoid_reference(x);
        case Unary::relu:
            return x < 0 ? 0 : x;
        case Unary::gelu:
            return x < -1e3 ? 0 : x * 0.5 * std::erfc(-x * std::sqrt(0.5));
        case Unary::gelu_tanh:
            return x < -1e3 ? 0 : x * sigmoid_reference(gelu_tanh_argument(x));
        case Unary::silu:
            return x < -1e3 ? 0 : x * sigmoid_reference(x);
        case Unary::abs:
            return std::fabs(x);
        case Unary::to_bf16:
            return static_cast<double>(tests::bf16(static_cast<Real>(x)));
        case Unary::count:
            break;
    }
    return 0;
}

constexpr Unary kAll[] = {Unary::neg,       Unary::exp,     Unary::log,  Unary::sqrt,
                          Unary::tanh,      Unary::sigmoid, Unary::relu, Unary::gelu,
                          Unary::gelu_tanh, Unary::silu,    Unary::abs,  Unary::to_bf16};
static_assert(std::size(kAll) == static_cast<size_t>(Unary::count));

// How far y is from the truth, in ulp of Real at max(|truth|, smallest normal). Infinite if one of
// them is NaN or overflows and the other is not what it should be.
double ulp_error(Real y, double truth) {
    const auto rounded = static_cast<Real>(truth);
    if (std::isnan(truth) || std::isnan(y))
        return std::isnan(truth) && std::isnan(y) ? 0 : INFINITY;
    if (std::isinf(rounded) || std::isinf(y))
        return y == rounded ? 0 : INFINITY;
    using Limits = std::numeric_limits<Real>;
    const double at = std::max(std::fabs(truth), static_cast<double>(Limits::min()));
    const double ulp = std::ldexp(1.0, std::ilogb(at) + 1 - Limits::digits);
    return std::fabs(static_cast<double>(y) - truth) / ulp;
}

// Just above what was measured over all floats: see math.h. In double the reference itself is
// as coarse as the kernel.
double tolerance(Unary function, double x) {
    const double reference_error = kRealIsDouble ? 4 : 0;
    switch (function) {
        case Unary::neg:
        case Unary::abs:
        case Unary::relu:
        case Unary::to_bf16:
            return 0;
        case Unary::sqrt:
            return 0.5 + reference_error;
        case Unary::exp:
        case Unary::log:
            return 1 + reference_error;
        case Unary::tanh:
            return 1.5 + reference_error;
        case Unary::sigmoid:
            return 2.5 + reference_error;
        case Unary::silu:
            // Far left the sigmoid is subnormal, and the error of its last bit is multiplied by x.
            return x < (kRealIsDouble ? -708 : -87) ? -1.2 * std::max(x, -1e3) : 3.5 + reference_error;
        case Unary::gelu:
            // Beyond -37, in double, the tail is only approximate: below 1e-297.
            return kRealIsDouble && x < -37 ? INFINITY : (x < -1 ? 6.6 : 4.1) + 2 * reference_error;
        case Unary::gelu_tanh:
            // On the left it is a power of e, and a relative error of the exponent is multiplied by it.
            return 3 + reference_error +
                   (x < 0 ? (kRealIsDouble ? 5 : 2.6) * -gelu_tanh_argument(std::max(x, -1e3)) : 0);
        case Unary::count:
            break;
    }
    return 0;
}

bool same_bits(Real a, Real b) {
    return std::memcmp(&a, &b, sizeof a) == 0 || (std::isnan(a) && std::isnan(b));
}

}  // namespace

TEST_CASE("functions are accurate to their bounds in ulp", "[math]") {
    const std::vector<Real> x = sweep(20011);
    for_each_isa([&] {
        for (const Unary function : kAll) {
            const std::vector<Real> y = compute(function, x);
            int wrong = 0;
            for (size_t i = 0; i < x.size(); ++i) {
                const double error = ulp_error(y[i], reference(function, x[i]));
                if (error <= tolerance(function, x[i]))
                    continue;
                if (++wrong > 3)
                    break;
                UNSCOPED_INFO("x " << x[i] << " gives " << y[i] << ", " << error << " ulp off");
            }
            INFO("function " << static_cast<int>(function));
            REQUIRE(wrong == 0);
        }
    });
}

TEST_CASE("special values", "[math]") {
    struct Case {
        Unary function;
        Real x, y;
    };
    const Real tiny = std::numeric_limits<Real>::denorm_min(), small = Real(1e-20);
    const Case cases[] = {
        {Unary::neg, 0, Real(-0.0)},
        {Unary::neg, kInf, -kInf},
        {Unary::exp, 0, 1},
        {Unary::exp, Real(-0.0), 1},
        {Unary::exp, kInf, kInf},
        {Unary::exp, -kInf, 0},
        {Unary::exp, 1000, kInf},
        {Unary::exp, Real(3e38), kInf},
        {Unary::exp, -1000, 0},
        {Unary::exp, Real(-3e38), 0},
        {Unary::exp, tiny, 1},
        {Unary::log, 1, 0},
        {Unary::log, 0, -kInf},
        {Unary::log, Real(-0.0), -kInf},
        {Unary::log, -1, kNan},
        {Unary::log, -tiny, kNan},
        {Unary::log, -kInf, kNan},
        {Unary::log, kInf, kInf},
        {Unary::sqrt, 0, 0},
        {Unary::sqrt, 4, 2},
        {Unary::sqrt, -1, kNan},
        {Unary::sqrt, kInf, kInf},
        {Unary::tanh, 0, 0},
        {Unary::tanh, Real(-0.0), Real(-0.0)},
        {Unary::tanh, kInf, 1},
        {Unary::tanh, -kInf, -1},
        {Unary::tanh, 50, 1},
        {Unary::tanh, tiny, tiny},
        {Unary::tanh, -tiny, -tiny},
        {Unary::tanh, small, small},
        {Unary::sigmoid, 0, Real(0.5)},
        {Unary::sigmoid, kInf, 1},
        {Unary::sigmoid, -kInf, 0},
        {Unary::sigmoid, small, Real(0.5)},
        {Unary::relu, 2, 2},
        {Unary::relu, -2, 0},
        {Unary::relu, kInf, kInf},
        {Unary::relu, -kInf, 0},
        {Unary::abs, -2, 2},
        {Unary::abs, Real(-0.0), 0},
        {Unary::abs, -kInf, kInf},
        {Unary::silu, 0, 0},
        {Unary::silu, kInf, kInf},
        {Unary::silu, -kInf, Real(-0.0)},
        {Unary::silu, Real(1e30), Real(1e30)},
        {Unary::silu, Real(-1e30), Real(-0.0)},
        {Unary::silu, small, small / 2},
        {Unary::gelu, 0, 0},
        {Unary::gelu, kInf, kInf},
        {Unary::gelu, -kInf, 0},
        {Unary::gelu, Real(1e30), Real(1e30)},
        {Unary::gelu, Real(-1e30), 0},
        {Unary::gelu, small, small / 2},
        {Unary::gelu_tanh, 0, 0},
        {Unary::gelu_tanh, kInf, kInf},
        {Unary::gelu_tanh, -kInf, Real(-0.0)},
        {Unary::gelu_tanh, Real(1e30), Real(1e30)},
        {Unary::gelu_tanh, Real(-1e30), Real(-0.0)},
        {Unary::gelu_tanh, small, small / 2},
    };
    for_each_isa([&] {
        for (const Case& c : cases) {
            const Real y = compute(c.function, c.x);
            INFO("function " << static_cast<int>(c.function) << " of " << c.x << ": " << y << ", not "
                             << c.y);
            REQUIRE(same_bits(y, c.y));
        }
        for (const Unary function : kAll) {
            INFO("function " << static_cast<int>(function));
            REQUIRE(std::isnan(compute(function, kNan)));
            REQUIRE(std::isnan(compute(function, -kNan)));
        }
    });
}

TEST_CASE("exp overflows and underflows at the right place and never decreases there", "[math]") {
    if (kRealIsDouble)
        SKIP("it is the C library's");
    for_each_isa([&] {
        const Real last_finite = Real(0x1.62e42ep6), first_infinite = Real(0x1.62e43p6);
        REQUIRE(std::isfinite(compute(Unary::exp, last_finite)));
        REQUIRE(compute(Unary::exp, first_infinite) == kInf);
        REQUIRE(compute(Unary::exp, -100) > 0);                  // subnormal
        REQUIRE(compute(Unary::exp, Real(-0x1.9fe366p6)) > 0);   // e^-103.97206, above 2^-150
        REQUIRE(compute(Unary::exp, Real(-0x1.9fe36ap6)) == 0);  // e^-103.97208, below
        for (const auto& [low, high] : {std::pair(88.7f, 89.5f), std::pair(-87.33f, -87.34f)}) {
            const std::vector<Real> x = floats(word_of(low), word_of(high), 1), y = compute(Unary::exp, x);
            int falls = 0;
            for (size_t i = 1; i < x.size(); ++i)
                falls += !(x[i] > x[i - 1] ? y[i] >= y[i - 1] : y[i] <= y[i - 1]);
            REQUIRE(x.size() > 1000);
            REQUIRE(falls == 0);
        }
    });
}

TEST_CASE("tanh is odd to the bit", "[math]") {
    const std::vector<Real> x = sweep(30011);
    for_each_isa([&] {
        const std::vector<Real> y = compute(Unary::tanh, x), z = compute(Unary::tanh, negated(x));
        int wrong = 0;
        for (size_t i = 0; i < x.size(); ++i)
            wrong += !same_bits(y[i], -z[i]);
        REQUIRE(wrong == 0);
    });
}

TEST_CASE("functions have the same bits on every instruction set", "[math]") {
    const std::vector<Real> x = sweep(20021);
    const auto n = static_cast<int64_t>(x.size());
    std::vector<Real> dy(x.size());
    for (size_t i = 0; i < x.size(); ++i)
        dy[i] = Real(1) + Real(i % 64) / 64;

    uint64_t hash = 14695981039346656037u;  // FNV-1a over all results, as floats
    for (const Unary function : kAll) {
        std::vector<Real> y, dx(x.size());
        for_each_isa([&] {
            const std::vector<Real> here = compute(function, x);
            std::vector<Real> dx_here(x.size());
            cpu().unary_backward(function, n, x.data(), dy.data(), {dx_here.data()});
            if (y.empty()) {
                y = here;
                dx = dx_here;
            }
            int wrong = 0;
            for (size_t i = 0; i < x.size(); ++i)
                wrong += !same_bits(here[i], y[i]) || !same_bits(dx_here[i], dx[i]);
            INFO("function " << static_cast<int>(function) << ", against " << available()[0]);
            REQUIRE(wrong == 0);
        });
        for (const std::vector<Real>* results : {&y, &dx})
            for (const Real value : *results)
                hash = (hash ^ (std::isnan(value) ? 0 : word_of(static_cast<float>(value)))) * 1099511628211u;
    }
    // And on every machine and with every compiler. Whoever changes a formula changes this number, and
    // all golden numbers of training with it.
    if (!kRealIsDouble)
        REQUIRE(hash == 0x861425f99b0cf012u);
}
