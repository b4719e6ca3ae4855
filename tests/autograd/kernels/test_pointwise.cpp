// Elementwise kernels: broadcasting, dropout's random numbers; and that an element's bits depend only on its
// operands. (Functions and derivatives: test_math.cpp.)
#include <functional>

#include "tests/autograd/kernels/calls.h"
#include "tests/catch.h"
//
#include "autograd/kernels/random.h"

using namespace plaingrad;          // NOLINT
using namespace autograd;           // NOLINT
using namespace autograd::kernels;  // NOLINT
using namespace tests;              // NOLINT

namespace {

constexpr Real kInf = std::numeric_limits<Real>::infinity();
constexpr RandomKey kKey = {0x12345678, 0x9abcdef1};

constexpr Binary kBinary[] = {Binary::add,  Binary::sub,   Binary::mul,  Binary::div, Binary::max,
                              Binary::less, Binary::equal, Binary::keep, Binary::drop};
static_assert(std::size(kBinary) == static_cast<size_t>(Binary::count));

constexpr Loop4 dense(int64_t n) { return {{1, 1, 1, n}, {0, 0, 0, 1}, {0, 0, 0, 1}}; }

// Few different numbers, so that some are equal, or 0; and some NaN.
std::vector<Real> halves(int64_t n, uint64_t seed) {
    std::vector<Real> x = numbers(n, seed);
    for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = i % 37 == 5 ? kNan : std::round(2 * x[i]) / 2;
    return x;
}

// The definition of `binary`.
std::vector<Real> naive(Binary operation, const Loop4& loop, const Real* a, const Real* b) {
    std::vector<Real> out;
    for (int64_t i = 0; i < loop.size[0]; ++i)
        for (int64_t j = 0; j < loop.size[1]; ++j)
            for (int64_t k = 0; k < loop.size[2]; ++k)
                for (int64_t l = 0; l < loop.size[3]; ++l)
                    out.push_back(operate(operation,
                                          a[i * loop.a[0] + j * loop.a[1] + k * loop.a[2] + l * loop.a[3]],
                                          b[i * loop.b[0] + j * loop.b[1] + k * loop.b[2] + l * loop.b[3]]));
    return out;
}

// The strides of a dense operand whose dimension d is broadcast where bit d of `repeated` is set.
void set_strides(const int64_t (&size)[4], int repeated, int64_t (&stride)[4]) {
    int64_t step = 1;
    for (int d = 3; d >= 0; --d) {
        const bool repeats = (repeated >> d & 1) != 0;
        stride[d] = repeats ? 0 : step;
        step *= repeats ? 1 : size[d];
    }
}

void check_binary(const Loop4& loop, const std::vector<Real>& a, const std::vector<Real>& b) {
    for (const Binary operation : kBinary) {
        const std::vector<Real> expected = naive(operation, loop, a.data(), b.data());
        std::vector<Real> out(expected.size() + 1, Real(-12345.5));
        cpu().binary(operation, loop, a.data(), b.data(), {out.data()});
        REQUIRE(out.back() == Real(-12345.5));
        out.pop_back();
        INFO("operation " << static_cast<int>(operation) << ", sizes " << loop.size[0] << " " << loop.size[1]
                          << " " << loop.size[2] << " " << loop.size[3] << ", strides of a " << loop.a[0]
                          << " " << loop.a[1] << " " << loop.a[2] << " " << loop.a[3] << ", of b "
                          << loop.b[0] << " " << loop.b[1] << " " << loop.b[2] << " " << loop.b[3]);
        REQUIRE(same_or_nan(out, expected));
    }
}

// ---- dropout's hash, in scalars

uint32_t scalar_hash(RandomKey key, uint32_t counter) {
    uint32_t x = counter ^ key.a;
    x = (x ^ x >> 16) * 0x7feb352du ^ key.b;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}

Real scalar_keep_scale(RandomKey key, int64_t element, Real p) {
    const auto block = static_cast<uint32_t>(static_cast<uint64_t>(element) >> 32);
    const auto threshold = static_cast<uint32_t>(static_cast<double>(p) * 16777216.0 + 0.5);
    const uint32_t random = scalar_hash(key_of_block(key, block), static_cast<uint32_t>(element));
    return random >> 8 >= threshold ? 1 / (1 - p) : 0;
}

std::vector<Real> dropped_ones(int64_t n, Real p, RandomKey key) {
    const std::vector<Real> ones(static_cast<size_t>(n), Real(1));
    std::vector<Real> y(ones.size(), kNan);
    cpu().dropout(n, p, key, ones.data(), {y.data()});
    return y;
}

// The correlation of which elements two masks keep, `lag` apart, in units of its standard deviation.
double correlation_sigmas(const std::vector<Real>& x, const std::vector<Real>& y, int lag, double p) {
    const size_t n = x.size() - static_cast<size_t>(lag), from = y.size() - n;
    double sum = 0;
    for (size_t i = 0; i < n; ++i)
        sum += ((x[i] > 0) - (1 - p)) * ((y[from + i] > 0) - (1 - p));
    return sum / (p * (1 - p)) / std::sqrt(static_cast<double>(n));
}

}  // namespace

// At which address: see test_bits.cpp.
TEST_CASE("an element's bits do not depend on how many there are", "[pointwise]") {
    using Kernel = std::function<void(int64_t n, const Real* x, Real* y)>;
    std::vector<Kernel> all = {
        [](int64_t n, const Real* x, Real* y) { cpu().dropout(n, Real(0.5), kKey, x, {y}); },
        [](int64_t n, const Real*, Real* y) { cpu().fill(n, Real(0.25), y); }};
    for (int f = 0; f < static_cast<int>(Unary::count); ++f) {
        const auto function = static_cast<Unary>(f);
        all.push_back([=](int64_t n, const Real* x, Real* y) { cpu().unary(function, n, x, y); });
        all.push_back(
            [=](int64_t n, const Real* x, Real* y) { cpu().unary_backward(function, n, x, x, {y}); });
    }
    for (const Binary f : kBinary)
        for (const int64_t step : {1, 0})  // 0: with one number
            all.push_back([=](int64_t n, const Real* x, Real* y) {
                cpu().binary(f, {{1, 1, 1, n}, {0, 0, 0, step}, {0, 0, 0, 1}}, x, x, {y});
            });
    const std::vector<Real> x = numbers(33, 1, 0.1, 4);
    for_each_isa([&](const char* isa) {
        for (std::size_t i = 0; i < all.size(); ++i) {
            std::vector<Real> whole(x.size(), kNan);
            all[i](33, x.data(), whole.data());
            for (int64_t n = 0; n <= 33; ++n) {
                std::vector<Real> first(static_cast<std::size_t>(n), kNan);
                all[i](n, x.data(), first.data());
                INFO("kernel " << i << ", " << n << " numbers, " << isa);
                REQUIRE(same_bits(first, std::vector<Real>(whole.begin(), whole.begin() + n)));
            }
        }
    });
}

// ---- functions of two numbers

TEST_CASE("binary equals plain loops: every way of broadcasting", "[pointwise]") {
    const std::vector<Real> a = halves(2000, 8), b = halves(2000, 9);
    const int64_t sizes[][4] = {{2, 3, 4, 5}, {1, 2, 1, 17}, {3, 1, 16, 1}, {2, 2, 3, 33},
                                {1, 1, 1, 1}, {4, 0, 3, 2},  {2, 3, 4, 0},  {5, 4, 1, 16}};
    for_each_isa([&](const char*) {
        for (const auto& size : sizes) {
            for (int repeated = 0; repeated < 256; repeated += size[3] == 5 ? 1 : 7) {
                Loop4 loop = {{size[0], size[1], size[2], size[3]}, {}, {}};
                set_strides(loop.size, repeated & 15, loop.a);
                set_strides(loop.size, repeated >> 4, loop.b);
                check_binary(loop, a, b);
            }
        }
    });
}

TEST_CASE("binary equals plain loops: rows with any strides, long ones, and many", "[pointwise]") {
    const std::vector<Real> a = halves(60000, 10), b = halves(60000, 11);
    const Loop4 loops[] = {
        {{2, 3, 4, 5}, {60, 5, 15, 1}, {60, 20, 5, 1}},        // a with two dimensions swapped
        {{2, 3, 4, 35}, {0, 140, 35, 1}, {3, 0, 7, 0}},        // both with gaps
        {{1, 1, 40, 20}, {0, 0, 20, 1}, {0, 0, 0, 0}},         // b a single number
        {{2, 2, 2, 40}, {160, 80, 40, 1}, {200, 100, 50, 1}},  // rows of a longer table
        dense(50001),
        {{1, 1, 3, 20000}, {0, 0, 20000, 1}, {0, 0, 0, 1}},
        {{1, 1, 20000, 3}, {0, 0, 3, 1}, {0, 0, 0, 1}},
        {{3, 100, 10, 19}, {0, 190, 19, 1}, {19000, 190, 0, 0}},
    };
    for_each_isa([&](const char*) {
        for (const Loop4& loop : loops)
            check_binary(loop, a, b);
    });
}

// ---- dropout

TEST_CASE("dropout keeps elements at the given rate, by key and element, and scales them", "[dropout]") {
    const int64_t n = 50000;
    for (const Real p : {Real(0.1), Real(0.3), Real(0.5), Real(0.9)}) {
        std::vector<Real> expected;
        for (int64_t i = 0; i < n; ++i)
            expected.push_back(scalar_keep_scale(kKey, i, p));
        for_each_isa([&](const char* isa) {
            INFO("p " << p << ", " << isa);
            REQUIRE(same_bits(dropped_ones(n, p, kKey), expected));
        });
        const auto kept = static_cast<double>(n - std::count(expected.begin(), expected.end(), Real(0)));
        const auto rate = static_cast<double>(p), count = static_cast<double>(n);
        INFO("p " << p << ": kept " << kept << " of " << n);
        REQUIRE(std::fabs(kept - count * (1 - rate)) <= 4 * std::sqrt(count * rate * (1 - rate)));
    }
}

TEST_CASE("dropout of 0 keeps everything, of 1 nothing; a dropped element is 0 whatever it was",
          "[dropout]") {
    std::vector<Real> x = numbers(40, 14, 0.1, 4), y(40, kNan);
    for_each_isa([&](const char*) {
        cpu().dropout(40, 0, kKey, x.data(), {y.data()});
        REQUIRE(same_bits(y, x));
        const std::vector<Real> bad = {kNan, kInf, -kInf, 1, -1};
        std::vector<Real> none(5, kNan);
        cpu().dropout(5, 1, kKey, bad.data(), {none.data()});
        REQUIRE(same_bits(none, std::vector<Real>(5, 0)));
    });
}

TEST_CASE("dropout's masks of different keys, and adjacent elements of one mask, are independent",
          "[dropout]") {
    const int64_t n = 100000;
    const RandomKey others[] = {{kKey.a + 1, kKey.b},  {kKey.a, kKey.b + 1}, {kKey.b, kKey.a}, {0, 0},
                                {kKey.a ^ 16, kKey.b}, {~kKey.a, kKey.b},    {1, 0},           {0, 1}};
    for (const Real p : {Real(0.1), Real(0.5)}) {
        const std::vector<Real> mask = dropped_ones(n, p, kKey);
        for (const RandomKey& other : others) {
            INFO("key " << other.a << " " << other.b << ", p " << p);
            REQUIRE(std::fabs(correlation_sigmas(mask, dropped_ones(n, p, other), 0,
                                                 static_cast<double>(p))) <= 4.5);
        }
        for (const int lag : {1, 2, 3, 8, 16, 64, 256, 512, 1024}) {
            INFO("lag " << lag << ", p " << p);
            REQUIRE(std::fabs(correlation_sigmas(mask, mask, lag, static_cast<double>(p))) <= 4.5);
        }
    }
}

// The header's functions, for numbers too large for a test to run through the kernel; here they are
// compiled for whatever instruction set the tests are.
TEST_CASE("keep_scale is right at any element, 2^32 included", "[dropout]") {
    const int64_t block = int64_t(1) << 32;
    const int64_t firsts[] = {0,          1,         100,           block / 2 - 7, block - 17, block - 16,
                              block - 15, block - 9, block - 1,     block,         block + 5,  3 * block - 4,
                              5 * block,  -8,        INT64_MAX - 20};
    for (const int64_t first : firsts) {
        Real lane[kLanes];
        store(lane, keep_scale(kKey, first, Real(0.5)));
        for (int64_t i = 0; i < kLanes; ++i) {
            INFO("element " << first << " + " << i);
            REQUIRE(lane[i] == scalar_keep_scale(kKey, first + i, Real(0.5)));
        }
    }
    // Blocks have masks of their own.
    std::vector<Real> masks[3];
    for (int64_t i = 0; i < 3; ++i)
        for (int64_t element = 0; element < 20000; ++element)
            masks[i].push_back(scalar_keep_scale(kKey, i * block + element, Real(0.5)));
    REQUIRE(std::fabs(correlation_sigmas(masks[0], masks[1], 0, 0.5)) <= 4.5);
    REQUIRE(std::fabs(correlation_sigmas(masks[0], masks[2], 0, 0.5)) <= 4.5);
    REQUIRE(std::fabs(correlation_sigmas(masks[1], masks[2], 0, 0.5)) <= 4.5);
}

TEST_CASE("the hash's every output bit flips half of the time with every bit of the counter", "[dropout]") {
    const uint32_t counters = 1 << 14;
    double worst = 0;
    for (int in = 0; in < 32; ++in) {
        int flips[32] = {};
        for (uint32_t i = 0; i < counters; ++i) {
            const uint32_t change = scalar_hash(kKey, i) ^ scalar_hash(kKey, i ^ 1u << in);
            for (int out = 0; out < 32; ++out)
                flips[out] += static_cast<int>(change >> out & 1);
        }
        for (const int count : flips)
            worst = std::fmax(worst, std::fabs(count / static_cast<double>(counters) - 0.5));
    }
    INFO(worst);
    REQUIRE(worst <= 0.05);
}
