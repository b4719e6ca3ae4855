// exp, log, tanh, sigmoid, gelu, their derivatives: accuracy, special values, and the same bits on every
// instruction set.
#include <algorithm>
#include <bit>

#include "tests/autograd/values.h"
#include "tests/catch.h"
#include "tests/trust/functions.h"

using namespace plaingrad;          // NOLINT
using namespace autograd;           // NOLINT
using namespace autograd::kernels;  // NOLINT
using namespace tests;              // NOLINT
using trust::Function;

namespace {

constexpr Real kInf = std::numeric_limits<Real>::infinity();

std::vector<Real> compute(const Function& function, const std::vector<Real>& x) {
    std::vector<Real> y(x.size()), ones(x.size(), 1);
    function.compute(cpu(), length(x), x.data(), ones.data(), y.data());
    return y;
}
std::vector<Real> compute(Unary f, const std::vector<Real>& x) {
    std::vector<Real> y(x.size());
    cpu().unary(f, length(x), x.data(), y.data());
    return y;
}
Real compute(Unary f, Real x) { return compute(f, std::vector{x})[0]; }

Real float_of(uint32_t word) { return std::bit_cast<float>(word); }
uint32_t word_of(float x) { return std::bit_cast<uint32_t>(x); }

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

// What each function promises in float. In double the reference is as coarse as the kernel.
double tolerance(const Function& function, double x) {
    if (!kRealIsDouble)
        return function.bound(x);
    // Beyond -37, in double, the tail is only approximate: below 1e-297.
    return function.f == Unary::gelu && x < -37 ? HUGE_VAL : 4 + 2 * function.bound(x);
}

}  // namespace

TEST_CASE("functions and derivatives are accurate to their bounds in ulp", "[math]") {
    const std::vector<Real> x = sweep(20011);
    for_each_isa([&](const char* isa) {
        for (const Function& function : trust::kFunctions) {
            const std::vector<Real> y = compute(function, x);
            int wrong = 0;
            for (std::size_t i = 0; i < x.size() && wrong < 3; ++i) {
                if (!function.defined(x[i]))
                    continue;
                const double error = trust::ulps_off(function, static_cast<double>(x[i]), y[i]);
                if (error <= tolerance(function, static_cast<double>(x[i])))
                    continue;
                ++wrong;
                UNSCOPED_INFO("x " << x[i] << " gives " << y[i] << ", " << error << " ulp off");
            }
            INFO(function.name << ", " << isa);
            REQUIRE(wrong == 0);
        }
    });
}

TEST_CASE("functions and derivatives of 0, infinity and NaN", "[math]") {
    struct Case {
        Unary f;
        Real x, slope;
    };
    const Case slopes[] = {{Unary::neg, 3, -1},          {Unary::to_bf16, 3, 1},
                           {Unary::abs, 0, 0},           {Unary::abs, kNan, kNan},
                           {Unary::abs, -kInf, -1},      {Unary::abs, -2, -1},
                           {Unary::abs, 2, 1},           {Unary::relu, 0, 0},
                           {Unary::relu, Real(-0.0), 0}, {Unary::relu, Real(1e-30), 1},
                           {Unary::relu, -2, 0},         {Unary::relu, 2, 1}};
    const std::vector<Real> x(trust::kSpecial.begin(), trust::kSpecial.end());
    for_each_isa([&](const char* isa) {
        for (const Function& function : trust::kFunctions) {
            const std::vector<Real> y = compute(function, x);
            for (std::size_t i = 0; i < x.size(); ++i) {
                const Real expected = i < 4 ? static_cast<Real>(function.at[i]) : kNan;
                INFO(function.name << " of " << x[i] << ": " << y[i] << ", not " << expected << ", " << isa);
                REQUIRE((!function.defined(x[i]) || same_or_nan(y[i], expected)));
            }
        }
        for (const Case& c : slopes) {
            const Real one = 1;
            Real dx = Real(-12345.5);
            cpu().unary_backward(c.f, 1, &c.x, &one, {&dx});
            INFO("derivative of " << static_cast<int>(c.f) << " at " << c.x << ": " << dx << ", " << isa);
            REQUIRE((dx == c.slope || same_or_nan(dx, c.slope)));
        }
        const Real tiny = std::numeric_limits<Real>::denorm_min();
        for (const Real number : {tiny, -tiny, Real(1e-20)})
            REQUIRE(same_or_nan(compute(Unary::tanh, number), number));
        REQUIRE(same_or_nan(compute(Unary::log, -tiny), kNan));
    });
}

TEST_CASE("exp overflows and underflows at the right place and never decreases there", "[math]") {
    if (kRealIsDouble)
        SKIP("it is the C library's");
    for_each_isa([&](const char*) {
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
    for_each_isa([&](const char*) {
        std::vector<Real> negative;
        for (const Real value : x)
            negative.push_back(-value);
        const std::vector<Real> y = compute(Unary::tanh, x), z = compute(Unary::tanh, negative);
        int wrong = 0;
        for (size_t i = 0; i < x.size(); ++i)
            wrong += !same_or_nan(y[i], -z[i]);
        REQUIRE(wrong == 0);
    });
}

// In this order they are hashed.
constexpr Unary kAll[] = {Unary::neg,       Unary::exp,     Unary::log,  Unary::sqrt,
                          Unary::tanh,      Unary::sigmoid, Unary::relu, Unary::gelu,
                          Unary::gelu_tanh, Unary::silu,    Unary::abs,  Unary::to_bf16};
static_assert(std::size(kAll) == static_cast<size_t>(Unary::count));

TEST_CASE("functions have the same bits on every instruction set", "[math]") {
    const std::vector<Real> x = sweep(20021);
    const auto n = static_cast<int64_t>(x.size());
    std::vector<Real> dy(x.size());
    for (size_t i = 0; i < x.size(); ++i)
        dy[i] = Real(1) + Real(i % 64) / 64;

    uint64_t hash = 14695981039346656037u;  // FNV-1a over all results, as floats
    for (const Unary function : kAll) {
        std::vector<Real> y, dx(x.size());
        for_each_isa([&](const char*) {
            const std::vector<Real> here = compute(function, x);
            std::vector<Real> dx_here(x.size());
            cpu().unary_backward(function, n, x.data(), dy.data(), {dx_here.data()});
            if (y.empty()) {
                y = here;
                dx = dx_here;
            }
            int wrong = 0;
            for (size_t i = 0; i < x.size(); ++i)
                wrong += !same_or_nan(here[i], y[i]) || !same_or_nan(dx_here[i], dx[i]);
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
