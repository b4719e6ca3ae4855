// The vector of sixteen lanes against plain numbers, lane by lane. Here it is the one that this file's flags
// choose; the others are reached by way of the kernels, or with CXXFLAGS='-mavx2 -mfma' and the like.
#include "autograd/kernels/simd.h"

#include <bit>
#include <limits>

#include "tests/autograd/values.h"
#include "tests/catch.h"

using namespace plaingrad;          // NOLINT
using namespace autograd;           // NOLINT
using namespace autograd::kernels;  // NOLINT
using namespace tests;              // NOLINT

namespace {

constexpr Real kInf = std::numeric_limits<Real>::infinity();
constexpr Real kTiny = std::numeric_limits<Real>::denorm_min();

// Sixteen of each, so that each meets each of the others once when one vector is rotated.
constexpr Real kNumbers[kLanes] = {Real(0.0), Real(-0.0), Real(1.5),       Real(-2.5),     Real(0.1), kTiny,
                                   -kTiny,    Real(1e30), Real(-1e9),      Real(3e9),      Real(0.5), kInf,
                                   -kInf,     kNan,       Real(8388609.0), Real(1.0000001)};
constexpr int32_t kWords[kLanes] = {0,          1,          -1,    2,      INT32_MIN,  INT32_MAX,
                                    0x7feb352d, -2,         65535, -65536, 0x3f3504f3, 0x55555555,
                                    1 << 23,    -(1 << 23), 12345, -7};

struct Lanes {
    Real lane[kLanes];
    Real& operator[](int i) { return lane[i]; }
};

Lanes lanes(Vec a) {
    Lanes x;
    store(x.lane, a);
    return x;
}

// Words, by way of their halves: integers below 2^24 are numbers.
Int words(const int32_t* p) {
    Lanes low, high;
    for (int i = 0; i < kLanes; ++i) {
        low[i] = static_cast<Real>(p[i] & 0xffff);
        high[i] = static_cast<Real>(p[i] >> 16);
    }
    return (to_int(load(high.lane)) << 16) | to_int(load(low.lane));
}

std::vector<uint32_t> words(Int a) {
    Lanes low = lanes(to_real(a & int_broadcast(0xffff))), high = lanes(to_real(a >> 16));
    std::vector<uint32_t> word(kLanes);
    for (size_t i = 0; i < kLanes; ++i)
        word[i] = static_cast<uint32_t>(high.lane[i]) << 16 | static_cast<uint32_t>(low.lane[i]);
    return word;
}

// f on vectors and on numbers, for all pairs of kNumbers.
template <class F>
void compare(const char* name, const F& f) {
    for (int shift = 0; shift < kLanes; ++shift) {
        Lanes other;
        for (int i = 0; i < kLanes; ++i)
            other[i] = kNumbers[(i + shift) % kLanes];
        Lanes y = lanes(f(load(kNumbers), load(other.lane)));
        for (int i = 0; i < kLanes; ++i) {
            INFO(name << "(" << kNumbers[i] << ", " << other[i] << ") in lane " << i << " is " << y[i]);
            CHECK(same_or_nan(y[i], f(kNumbers[i], other[i])));
        }
    }
}

// The same of words.
template <class F, class G>
void compare_words(const char* name, const F& f, const G& g) {
    for (int shift = 0; shift < kLanes; ++shift) {
        int32_t other[kLanes];
        for (int i = 0; i < kLanes; ++i)
            other[i] = kWords[(i + shift) % kLanes];
        const std::vector<uint32_t> y = words(f(words(kWords), words(other)));
        for (int i = 0; i < kLanes; ++i) {
            INFO(name << "(" << kWords[i] << ", " << other[i] << ") in lane " << i);
            CHECK(y[static_cast<size_t>(i)] == static_cast<uint32_t>(g(static_cast<uint32_t>(kWords[i]),
                                                                       static_cast<uint32_t>(other[i]))));
        }
    }
}
template <class F>
void compare_words(const char* name, const F& f) {
    compare_words(name, f, f);
}

// The functions of a Vec, and what they are of a number.
Vec constant(Vec, Real x) { return broadcast(x); }
Real constant(Real, Real x) { return x; }
Vec larger(Vec a, Vec b) { return max(a, b); }
Real larger(Real a, Real b) { return a > b ? a : b; }
Vec smaller(Vec a, Vec b) { return min(a, b); }
Real smaller(Real a, Real b) { return a < b ? a : b; }
Vec root(Vec a) { return sqrt(a); }
Real root(Real a) { return std::sqrt(a); }
Vec if_less(Vec a, Vec b, Vec yes, Vec no) { return select(less(a, b), yes, no); }
Real if_less(Real a, Real b, Real yes, Real no) { return a < b ? yes : no; }
Vec if_equal(Vec a, Vec b, Vec yes, Vec no) { return select(equal(a, b), yes, no); }
Real if_equal(Real a, Real b, Real yes, Real no) { return a == b ? yes : no; }
Vec plus_product(Vec a, Vec b, Vec c) { return fma(a, b, c); }
Real plus_product(Real a, Real b, Real c) { return std::fma(a, b, c); }
Vec less_product(Vec a, Vec b, Vec c) { return fnma(a, b, c); }
Real less_product(Real a, Real b, Real c) { return std::fma(-a, b, c); }

Vec numbered(Real first) { return to_real(lane_numbers()) + broadcast(first); }

}  // namespace

TEST_CASE("simd: each lane computes what a number would", "[simd][kernels]") {
    compare("+", [](auto a, auto b) { return a + b; });
    compare("-", [](auto a, auto b) { return a - b; });
    compare("*", [](auto a, auto b) { return a * b; });
    compare("/", [](auto a, auto b) { return a / b; });
    compare("max", [](auto a, auto b) { return larger(a, b); });
    compare("min", [](auto a, auto b) { return smaller(a, b); });
    compare("sqrt", [](auto a, auto) { return root(a); });
    compare("less", [](auto a, auto b) { return if_less(a, b, a, constant(a, 1)); });
    compare("equal", [](auto a, auto b) { return if_equal(a, b, constant(a, 1), b); });
    compare("broadcast", [](auto a, auto) { return constant(a, Real(-0.0)); });
    for (const Real c : kNumbers) {
        compare("fma", [c](auto a, auto b) { return plus_product(a, b, constant(a, c)); });
        compare("fnma", [c](auto a, auto b) { return less_product(a, b, constant(a, c)); });
    }
}

// x y is so near 2^-24 that 1 + x y, or the next number + x y, lies next to the middle between two floats.
// Whoever rounds to double first may end in the middle.
TEST_CASE("simd: fma rounds once", "[simd][kernels]") {
    int near = 0, wrong = 0;
    for (int i = 1; i < 20'000; ++i) {
        const Real x = 1 + static_cast<Real>(i) / 32768, y = 1 / x, scaled = x * Real(0x1p-24);
        near += std::abs(static_cast<double>(x) * static_cast<double>(y) - 1) < 0x1p-27;
        for (const Real c : {Real(1), Real(1) + Real(0x1p-23), Real(-1), Real(-1) - Real(0x1p-23)})
            for (const Real sign : {Real(1), Real(-1)}) {
                const Vec sum = fma(broadcast(sign * scaled), broadcast(y), broadcast(c));
                wrong += !same_or_nan(lanes(sum)[0], std::fma(sign * scaled, y, c));
            }
    }
    CHECK(near > 100);
    CHECK(wrong == 0);
}

TEST_CASE("simd: integers wrap, shift and compare", "[simd][kernels]") {
    compare_words("+", [](auto a, auto b) { return a + b; });
    compare_words("-", [](auto a, auto b) { return a - b; });
    compare_words("*", [](auto a, auto b) { return a * b; });
    compare_words("&", [](auto a, auto b) { return a & b; });
    compare_words("|", [](auto a, auto b) { return a | b; });
    compare_words("^", [](auto a, auto b) { return a ^ b; });
    compare_words("<<", [](auto a, auto) { return a << 23; });
    compare_words(">>", [](auto a, auto) { return a >> 15; });
    compare_words(
        "shift_right_signed", [](Int a, Int) { return shift_right_signed(a, 23); },
        [](uint32_t a, uint32_t) { return static_cast<int32_t>(a) >> 23; });
    compare_words(
        "less", [](Int a, Int b) { return to_int(select(less(a, b), broadcast(1), zero())); },
        [](uint32_t a, uint32_t b) { return static_cast<int32_t>(a) < static_cast<int32_t>(b); });
    compare_words(
        "bits", [](Int a, Int) { return bits(to_real(a)); },
        [](uint32_t a, uint32_t) {
            return std::bit_cast<uint32_t>(static_cast<float>(static_cast<int32_t>(a)));
        });
}

TEST_CASE("simd: to_int rounds to nearest, ties to even; out of range is INT32_MIN", "[simd][kernels]") {
    const std::pair<double, int32_t> cases[] = {{0.5, 0},
                                                {1.5, 2},
                                                {2.5, 2},
                                                {-0.5, 0},
                                                {-1.5, -2},
                                                {-2.5, -2},
                                                {1.75, 2},
                                                {-3.25, -3},
                                                {4194303.5, 4194304},
                                                {4194304.5, 4194304},
                                                {4194305.5, 4194306},
                                                {-4194305.5, -4194306},
                                                {8388607.5, 8388608},
                                                {8388609, 8388609},
                                                {-16777218, -16777218},
                                                {2147483520, 2147483520},
                                                {2147483648.0, INT32_MIN},
                                                {-2147483648.0, INT32_MIN},
                                                {1e30, INT32_MIN},
                                                {-1e30, INT32_MIN},
                                                {INFINITY, INT32_MIN},
                                                {NAN, INT32_MIN}};
    for (const auto& [x, y] : cases) {
        INFO(x);
        REQUIRE(words(to_int(broadcast(static_cast<Real>(x))))[kLanes - 1] == static_cast<uint32_t>(y));
    }
}

// The memory ends after the numbers, so that sanitizers find a load or store that is too wide.
TEST_CASE("simd: loads and stores of the first n lanes, and no others", "[simd][kernels]") {
    for (int n = 0; n <= kLanes + 1; ++n) {
        const auto count = static_cast<size_t>(n);
        std::vector<Real> x(count), y(kLanes + 2, -1);
        for (size_t i = 0; i < count; ++i)
            x[i] = static_cast<Real>(i + 1);
        Lanes zeros = lanes(load(x.data(), n)), filled = lanes(load(x.data(), n, kInf));
        store(y.data(), n, numbered(1));
        store(x.data(), n, numbered(1));
        for (int i = 0; i < kLanes; ++i) {
            const auto number = static_cast<Real>(i + 1);
            INFO("n = " << n << ", lane " << i);
            CHECK(zeros[i] == (i < n ? number : 0));
            CHECK(filled[i] == (i < n ? number : kInf));
            CHECK(y[static_cast<size_t>(i)] == (i < n ? number : -1));
        }
        CHECK(y[kLanes] == -1);
    }
}

TEST_CASE("simd: reductions of sixteen lanes, always by the same tree", "[simd][kernels]") {
    Lanes x;
    for (int i = 0; i < kLanes; ++i)
        x[i] = Real(1) / static_cast<Real>(3 * i + 1);
    const Vec v = load(x.lane);
    for (int half = kLanes / 2; half > 0; half /= 2)
        for (int i = 0; i < half; ++i)
            x[i] = x[i] + x[i + half];
    CHECK(same_or_nan(reduce_add(v), x[0]));
    for (int i = 0; i < kLanes; ++i) {
        Lanes y = {};
        y[i] = 1;
        CHECK(reduce_max(load(y.lane)) == 1);
    }
}

TEST_CASE("simd: interleaving, and with it a transpose", "[simd][kernels]") {
    Lanes low = lanes(interleave_low(numbered(0), numbered(100)));
    Lanes high = lanes(interleave_high(numbered(0), numbered(100)));
    for (int i = 0; i < kLanes; ++i) {
        CHECK(low[i] == static_cast<Real>(i / 2 + i % 2 * 100));
        CHECK(high[i] == static_cast<Real>(i / 2 + i % 2 * 100 + 8));
    }
    Vec row[kLanes];
    for (int i = 0; i < kLanes; ++i)
        row[i] = numbered(static_cast<Real>(100 * i));
    transpose(row);
    for (int i = 0; i < kLanes; ++i)
        for (int j = 0; j < kLanes; ++j)
            CHECK(lanes(row[i])[j] == static_cast<Real>(100 * j + i));
}
