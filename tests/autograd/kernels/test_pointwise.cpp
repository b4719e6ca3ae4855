// Elementwise kernels: derivatives, broadcasting, dropout's random numbers; and that an element's bits depend
// only on its operands.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "autograd/base/parallel.h"
#include "autograd/kernels/kernels.h"
//
#include "autograd/kernels/random.h"
#include "tests/catch.h"

using namespace plaingrad;          // NOLINT
using namespace autograd;           // NOLINT
using namespace autograd::kernels;  // NOLINT

namespace {

constexpr Real kInf = std::numeric_limits<Real>::infinity();
constexpr Real kNan = std::numeric_limits<Real>::quiet_NaN();

constexpr Unary kUnary[] = {Unary::neg,       Unary::exp,     Unary::log,  Unary::sqrt,
                            Unary::tanh,      Unary::sigmoid, Unary::relu, Unary::gelu,
                            Unary::gelu_tanh, Unary::silu,    Unary::abs,  Unary::to_bf16};
static_assert(std::size(kUnary) == static_cast<size_t>(Unary::count));
constexpr Binary kBinary[] = {Binary::add,  Binary::sub,   Binary::mul,  Binary::div, Binary::max,
                              Binary::less, Binary::equal, Binary::keep, Binary::drop};
static_assert(std::size(kBinary) == static_cast<size_t>(Binary::count));

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

bool same_bits(Real a, Real b) {
    return std::memcmp(&a, &b, sizeof a) == 0 || (std::isnan(a) && std::isnan(b));
}

bool same_bits(const std::vector<Real>& a, const std::vector<Real>& b) {
    if (a.size() != b.size())
        return false;
    for (size_t i = 0; i < a.size(); ++i)
        if (!same_bits(a[i], b[i]))
            return false;
    return true;
}

int64_t length(const std::vector<Real>& x) { return static_cast<int64_t>(x.size()); }

// Numbers in (0.1, 4.1) without a period of 16.
std::vector<Real> numbers(size_t n, int seed) {
    std::vector<Real> x(n);
    for (size_t i = 0; i < n; ++i)
        x[i] = Real(0.1) + Real((i * 37 + static_cast<size_t>(seed) * 11) % 101) / 25;
    return x;
}

// Runs `kernel(n, input, output)` at every offset and small size; its outputs must be the first ones of
// the run on all inputs, and nothing around them may be touched.
void check_offsets(const std::vector<Real>& input,
                   const std::function<void(int64_t, const Real*, Real*)>& kernel) {
    const Real guard = Real(-12345.5);
    std::vector<Real> expected(input.size());
    kernel(length(input), input.data(), expected.data());
    int wrong = 0;
    for (int64_t offset = 0; offset < 16; ++offset) {
        for (int64_t n = 0; n <= 33; ++n) {
            std::vector<Real> x(static_cast<size_t>(offset + n)),
                y(static_cast<size_t>(offset + n + 20), guard);
            std::copy_n(input.data(), n, x.data() + offset);
            kernel(n, x.data() + offset, y.data() + offset);
            for (int64_t i = 0; i < length(y); ++i) {
                const bool inside = i >= offset && i < offset + n;
                const Real right = inside ? expected[static_cast<size_t>(i - offset)] : guard;
                wrong += !same_bits(y[static_cast<size_t>(i)], right);
            }
        }
    }
    REQUIRE(wrong == 0);
}

constexpr Loop4 dense(int64_t n) { return {{1, 1, 1, n}, {0, 0, 0, 1}, {0, 0, 0, 1}}; }

Real operate(Binary operation, Real a, Real b) {
    switch (operation) {
        case Binary::add:
            return a + b;
        case Binary::sub:
            return a - b;
        case Binary::mul:
            return a * b;
        case Binary::div:
            return a / b;
        case Binary::max:
            return std::isnan(a) || std::isnan(b) ? kNan : a > b ? a : b;
        case Binary::less:
            return a < b ? 1 : 0;
        case Binary::equal:
            return a == b ? 1 : 0;
        case Binary::keep:
            return b != 0 ? a : 0;
        case Binary::drop:
            return b != 0 ? 0 : a;
        case Binary::count:
            break;
    }
    return 0;
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
        REQUIRE(same_bits(out, expected));
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

constexpr RandomKey kKey = {0x12345678, 0x9abcdef1};

}  // namespace

// ---- all kernels

TEST_CASE("an element's bits do not depend on its position, and nothing else is written", "[pointwise]") {
    const std::vector<Real> x = numbers(33, 1);
    for_each_isa([&] {
        for (const Unary function : kUnary) {
            INFO("function " << static_cast<int>(function));
            check_offsets(x,
                          [&](int64_t n, const Real* in, Real* out) { cpu().unary(function, n, in, out); });
            check_offsets(x, [&](int64_t n, const Real* in, Real* out) {
                cpu().unary_backward(function, n, in, in, {out});
            });
        }
        for (const Binary operation : kBinary) {
            check_offsets(x, [&](int64_t n, const Real* in, Real* out) {
                cpu().binary(operation, dense(n), in, in, {out});
            });
            const Real two = 2;
            check_offsets(x, [&](int64_t n, const Real* in, Real* out) {
                cpu().binary(operation, {{1, 1, 1, n}, {0, 0, 0, 0}, {0, 0, 0, 1}}, &two, in, {out});
            });
        }
        check_offsets(
            x, [&](int64_t n, const Real* in, Real* out) { cpu().dropout(n, Real(0.5), kKey, in, {out}); });
        check_offsets(x, [&](int64_t n, const Real*, Real* out) { cpu().fill(n, Real(0.25), out); });
    });
}

TEST_CASE("accumulating adds to the result; overwriting does not read it", "[pointwise]") {
    const std::vector<Real> x = numbers(75, 2), dy = numbers(75, 3), old = numbers(75, 4);
    const int64_t n = length(x);
    const std::function<void(Out)> kernels[] = {
        [&](Out out) { cpu().unary_backward(Unary::gelu, n, x.data(), dy.data(), out); },
        [&](Out out) { cpu().unary_backward(Unary::neg, n, x.data(), dy.data(), out); },
        [&](Out out) { cpu().binary(Binary::mul, dense(n), x.data(), dy.data(), out); },
        [&](Out out) {
            cpu().binary(Binary::sub, {{1, 5, 3, 5}, {0, 15, 5, 1}, {0, 0, 1, 0}}, x.data(), dy.data(), out);
        },
        [&](Out out) { cpu().dropout(n, Real(0.5), kKey, x.data(), out); },
    };
    for_each_isa([&] {
        for (const auto& kernel : kernels) {
            std::vector<Real> fresh(x.size(), kNan), sum = old;
            kernel({fresh.data(), false});
            kernel({sum.data(), true});
            int wrong = 0;
            for (size_t i = 0; i < x.size(); ++i)
                wrong += std::isnan(fresh[i]) || !same_bits(sum[i], old[i] + fresh[i]);
            REQUIRE(wrong == 0);
        }
    });
}

TEST_CASE("elementwise kernels have the same bits with any number of threads", "[pointwise][threads]") {
    const std::vector<Real> x = numbers(70001, 5), dy = numbers(70001, 6);
    const int64_t n = length(x);
    const Loop4 rows = {{1, 7, 10000, 1}, {0, 10000, 1, 0}, {0, 1, 0, 0}};
    const int threads = thread_count();
    for_each_isa([&] {
        std::vector<Real> expected;
        for (const int count : {1, 2, 5}) {
            set_thread_count(count);
            std::vector<Real> y(static_cast<size_t>(5 * n), kNan);
            cpu().unary(Unary::gelu_tanh, n, x.data(), y.data());
            cpu().unary_backward(Unary::tanh, n, x.data(), dy.data(), {y.data() + n});
            cpu().dropout(n, Real(0.25), kKey, x.data(), {y.data() + 2 * n});
            cpu().fill(n, 3, y.data() + 3 * n);
            cpu().binary(Binary::div, rows, x.data(), dy.data(), {y.data() + 4 * n, false});
            y.back() = 0;  // rows are 70,000
            if (expected.empty())
                expected = y;
            REQUIRE(same_bits(y, expected));
        }
        int nans = 0;
        for (const Real value : expected)
            nans += std::isnan(value);
        REQUIRE(nans == 0);
    });
    set_thread_count(threads);
}

// ---- functions of one number

TEST_CASE("unary may work in place", "[pointwise]") {
    for_each_isa([&] {
        const std::vector<Real> x = numbers(50, 7);
        std::vector<Real> y(x.size()), in_place = x;
        cpu().unary(Unary::exp, length(x), x.data(), y.data());
        cpu().unary(Unary::exp, length(x), in_place.data(), in_place.data());
        REQUIRE(same_bits(in_place, y));
        REQUIRE(!same_bits(x, y));
    });
}

TEST_CASE("unary_backward is the derivative", "[pointwise]") {
    const double pi = std::acos(-1.0);
    struct Case {
        Unary function;
        double from, to;
        std::function<double(double)> f;
    };
    const Case cases[] = {
        {Unary::neg, -6, 6, [](double x) { return -x; }},
        {Unary::exp, -6, 2, [](double x) { return std::exp(x); }},
        {Unary::log, 0.3, 6, [](double x) { return std::log(x); }},
        {Unary::sqrt, 0.3, 6, [](double x) { return std::sqrt(x); }},
        {Unary::tanh, -6, 6, [](double x) { return std::tanh(x); }},
        {Unary::sigmoid, -6, 6, [](double x) { return 1 / (1 + std::exp(-x)); }},
        {Unary::relu, -6, -0.1, [](double x) { return x > 0 ? x : 0; }},
        {Unary::relu, 0.1, 6, [](double x) { return x > 0 ? x : 0; }},
        {Unary::abs, -6, -0.1, [](double x) { return -x; }},
        {Unary::abs, 0.1, 6, [](double x) { return x; }},
        {Unary::silu, -6, 6, [](double x) { return x / (1 + std::exp(-x)); }},
        {Unary::gelu, -6, 6, [](double x) { return x * 0.5 * std::erfc(-x * std::sqrt(0.5)); }},
        {Unary::gelu_tanh, -6, 6,
         [&](double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / pi) * (x + 0.044715 * x * x * x))); }},
    };
    const double h = 1e-5, tolerance = kRealIsDouble ? 1e-9 : 2e-6;
    for_each_isa([&] {
        for (const Case& c : cases) {
            INFO("function " << static_cast<int>(c.function));
            for (int i = 0; i <= 200; ++i) {
                const auto x = static_cast<Real>(c.from + (c.to - c.from) * i / 200);
                const Real dy = Real(-1.5);
                Real saved = x, dx = kNan;
                if (unary_saves_output(c.function))
                    cpu().unary(c.function, 1, &x, &saved);
                cpu().unary_backward(c.function, 1, &saved, &dy, {&dx});
                const double slope = (c.f(x + h) - c.f(x - h)) / (2 * h);
                const double error = std::fabs(dx - dy * slope) / std::fmax(1, std::fabs(dy * slope));
                INFO("at " << x << ": " << dx << ", not " << dy * slope);
                REQUIRE(error <= tolerance);
            }
        }
    });
}

TEST_CASE("derivatives far from 0 are 0, 1 or NaN, as they should be", "[pointwise]") {
    struct Case {
        Unary function;
        Real saved, derivative;
    };
    const Case cases[] = {
        {Unary::abs, 0, 0},
        {Unary::abs, kNan, kNan},
        {Unary::abs, -kInf, -1},
        {Unary::silu, kInf, 1},
        {Unary::silu, -kInf, 0},
        {Unary::silu, Real(1e30), 1},
        {Unary::silu, Real(-1e30), 0},
        {Unary::silu, 0, Real(0.5)},
        {Unary::silu, kNan, kNan},
        {Unary::gelu, kInf, 1},
        {Unary::gelu, -kInf, 0},
        {Unary::gelu, Real(1e30), 1},
        {Unary::gelu, Real(-1e30), 0},
        {Unary::gelu, 0, Real(0.5)},
        {Unary::gelu, kNan, kNan},
        {Unary::gelu_tanh, kInf, 1},
        {Unary::gelu_tanh, -kInf, 0},
        {Unary::gelu_tanh, Real(1e30), 1},
        {Unary::gelu_tanh, Real(-1e30), 0},
        {Unary::gelu_tanh, 0, Real(0.5)},
        {Unary::gelu_tanh, kNan, kNan},
        {Unary::relu, 0, 0},
        {Unary::relu, Real(-0.0), 0},
        {Unary::relu, Real(1e-30), 1},
        {Unary::tanh, 1, 0},
        {Unary::tanh, -1, 0},
        {Unary::tanh, kNan, kNan},
        {Unary::sigmoid, 0, 0},
        {Unary::sigmoid, 1, 0},
        {Unary::sqrt, 0, kInf},
        {Unary::log, 0, kInf},
    };
    for_each_isa([&] {
        for (const Case& c : cases) {
            const Real one = 1;
            Real dx = Real(-12345.5);
            cpu().unary_backward(c.function, 1, &c.saved, &one, {&dx});
            INFO("function " << static_cast<int>(c.function) << " at " << c.saved << ": " << dx);
            REQUIRE((std::isnan(c.derivative) ? std::isnan(dx) : dx == c.derivative));
        }
    });
}

// ---- functions of two numbers

TEST_CASE("binary equals plain loops: every way of broadcasting", "[pointwise]") {
    const std::vector<Real> a = numbers(2000, 8), b = numbers(2000, 9);
    const int64_t sizes[][4] = {{2, 3, 4, 5}, {1, 2, 1, 17}, {3, 1, 16, 1}, {2, 2, 3, 33},
                                {1, 1, 1, 1}, {4, 0, 3, 2},  {2, 3, 4, 0},  {5, 4, 1, 16}};
    for_each_isa([&] {
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

TEST_CASE("binary equals plain loops: rows with any strides", "[pointwise]") {
    const std::vector<Real> a = numbers(2000, 10), b = numbers(2000, 11);
    const Loop4 loops[] = {
        {{2, 3, 4, 5}, {60, 5, 15, 1}, {60, 20, 5, 1}},        // a with two dimensions swapped
        {{2, 3, 4, 35}, {0, 140, 35, 1}, {3, 0, 7, 0}},        // both with gaps
        {{1, 1, 40, 20}, {0, 0, 20, 1}, {0, 0, 0, 0}},         // b a single number
        {{2, 2, 2, 40}, {160, 80, 40, 1}, {200, 100, 50, 1}},  // rows of a longer table
    };
    for_each_isa([&] {
        for (const Loop4& loop : loops)
            check_binary(loop, a, b);
    });
}

TEST_CASE("binary divides long rows and many rows among threads", "[pointwise]") {
    const std::vector<Real> a = numbers(60000, 12), b = numbers(60000, 13);
    const Loop4 loops[] = {
        dense(50001),
        {{1, 1, 3, 20000}, {0, 0, 20000, 1}, {0, 0, 0, 1}},
        {{1, 1, 20000, 3}, {0, 0, 3, 1}, {0, 0, 0, 1}},
        {{3, 100, 10, 19}, {0, 190, 19, 1}, {19000, 190, 0, 0}},
    };
    for_each_isa([&] {
        for (const Loop4& loop : loops)
            check_binary(loop, a, b);
    });
}

// ---- dropout

TEST_CASE("dropout keeps elements at the given rate, and scales them", "[dropout]") {
    const int64_t n = 50000;
    for_each_isa([&] {
        for (const Real p : {Real(0.1), Real(0.5), Real(0.9)}) {
            const std::vector<Real> y = dropped_ones(n, p, kKey);
            int64_t kept = 0, other = 0;
            for (const Real value : y) {
                kept += value == 1 / (1 - p);
                other += value != 1 / (1 - p) && value != 0;
            }
            const auto rate = static_cast<double>(p), count = static_cast<double>(n);
            const double sigmas =
                (static_cast<double>(kept) - count * (1 - rate)) / std::sqrt(count * rate * (1 - rate));
            INFO("p " << p << ": kept " << kept << " of " << n);
            REQUIRE(other == 0);
            REQUIRE(std::fabs(sigmas) <= 4);
        }
    });
}

TEST_CASE("dropout of 0 keeps everything, of 1 nothing; a dropped element is 0 whatever it was",
          "[dropout]") {
    std::vector<Real> x = numbers(40, 14), y(40, kNan);
    for_each_isa([&] {
        cpu().dropout(40, 0, kKey, x.data(), {y.data()});
        REQUIRE(same_bits(y, x));
        const std::vector<Real> bad = {kNan, kInf, -kInf, 1, -1};
        std::vector<Real> none(5, kNan);
        cpu().dropout(5, 1, kKey, bad.data(), {none.data()});
        REQUIRE(same_bits(none, std::vector<Real>(5, 0)));
    });
}

TEST_CASE("dropout's mask depends only on key and element", "[dropout]") {
    std::vector<Real> first;
    for_each_isa([&] {
        const std::vector<Real> y = dropped_ones(5000, Real(0.3), kKey);
        if (first.empty())
            first = y;
        REQUIRE(same_bits(y, first));
        REQUIRE(same_bits(dropped_ones(5000, Real(0.3), kKey), y));
        int wrong = 0;
        for (size_t i = 0; i < y.size(); ++i)
            wrong += !same_bits(y[i], scalar_keep_scale(kKey, static_cast<int64_t>(i), Real(0.3)));
        REQUIRE(wrong == 0);
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
