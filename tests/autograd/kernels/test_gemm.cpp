// The matrix product, of numbers and of bfloat16. Not "close to" a reference: equal to it, bit for bit, for
// every size, layout, instruction set and number of threads. The reference is what kernels.h says, in four
// loops.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "autograd/base/parallel.h"
#include "autograd/kernels/kernels.h"
#include "tests/autograd/kernels/bf16_reference.h"
#include "tests/autograd/values.h"
#include "tests/catch.h"

using namespace plaingrad;  // NOLINT
using namespace autograd;
using kernels::Gemm;
using kernels::kGemmBlockK;

namespace {

constexpr Real kNaN = std::numeric_limits<Real>::quiet_NaN();

// Every instruction set in turn, the best one again at the end.
template <class F>
void on_each_isa(F f) {
    for (const char* const* name = kernels::available(); *name != nullptr; ++name) {
        kernels::use(*name);
        INFO("instruction set " << *name);
        f();
    }
    kernels::use(kernels::available()[0]);
}

// Numbers in [-1, 1) with full mantissas, so that another order of additions changes the last bit.
std::vector<Real> numbers(int64_t n, uint32_t seed) {
    std::vector<Real> x(static_cast<size_t>(n));
    uint64_t state = seed * 2654435761u + 1;
    for (Real& value : x) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        value = static_cast<Real>(static_cast<int64_t>(state >> 11)) / Real(4503599627370496.0) - 1;
    }
    return x;
}

// Two results are the same if their bits are; all NaNs are the same.
bool same(const std::vector<Real>& x, const std::vector<Real>& y) {
    return x.size() == y.size() && std::equal(x.begin(), x.end(), y.begin(), [](Real a, Real b) {
               return (std::isnan(a) && std::isnan(b)) || std::memcmp(&a, &b, sizeof a) == 0;
           });
}

// A product with its operands. The vectors end with the last element, so that a sanitizer sees a read
// beyond it; c has room around it, and in the gaps between its rows, that must stay as it is.
struct Problem {
    static constexpr int64_t kGuard = 40;
    Gemm g;
    std::vector<Real> a, b, c, bias;
    bool bf16 = false, packed = false;

    // `gap`: how much longer than needed the rows of each matrix are.
    Problem(int64_t m, int64_t n, int64_t k, bool a_transposed, bool b_transposed, bool accumulate,
            bool with_bias, int64_t gap = 0) {
        const int64_t a_rows = a_transposed ? k : m, a_columns = a_transposed ? m : k;
        const int64_t b_rows = b_transposed ? n : k, b_columns = b_transposed ? k : n;
        g = {m,         n, k, a_columns + gap, b_columns + 2 * gap, n + 3 * gap, a_transposed, b_transposed,
             accumulate};
        const auto size = [](int64_t rows, int64_t columns, int64_t ld) {
            return rows == 0 ? 0 : (rows - 1) * ld + columns;
        };
        a = numbers(size(a_rows, a_columns, g.lda), 1);
        b = numbers(size(b_rows, b_columns, g.ldb), 2);
        c = numbers(size(m, n, g.ldc) + 2 * kGuard, 3);
        if (!accumulate)
            std::fill(c.begin(), c.end(), kNaN);  // overwriting must not read it
        if (with_bias)
            bias = numbers(n, 4);
    }

    std::vector<Real> run() const {
        Gemm gemm = g;
        gemm.bias = bias.empty() ? nullptr : bias.data();
        std::vector<Real> result = c;
        const Problem before = *this;
        const Precision precision = bf16 ? Precision::bf16 : Precision::float32;
        const kernels::Products& products = kernels::cpu().products(precision);
        std::vector<Real> of_b = b;
        if (packed) {
            of_b.assign(static_cast<size_t>(kernels::packed_size(g.n, g.k, precision)), kNaN);
            products.pack(gemm, b.data(), of_b.data());
            gemm.b_packed = true;
        }
        products.gemm(gemm, a.data(), of_b.data(), result.data() + kGuard);
        if (!same(a, before.a) || !same(b, before.b) || !same(bias, before.bias))
            result.clear();  // so that no reference is equal
        return result;
    }

    // Whether some columns of op(b), packed and read back, are what they were, rounded if that is the
    // precision.
    bool columns_come_back() const {
        const Precision precision = bf16 ? Precision::bf16 : Precision::float32;
        const kernels::Products& products = kernels::cpu().products(precision);
        std::vector<Real> of_b(static_cast<size_t>(kernels::packed_size(g.n, g.k, precision)), kNaN);
        products.pack(g, b.data(), of_b.data());
        bool same_numbers = true;
        for (int64_t j = 0; j < g.n; j += 1 + g.n / 3) {  // the first one, and some others
            std::vector<Real> is(static_cast<size_t>(g.k), kNaN), expected;
            for (int64_t k = 0; k < g.k; ++k) {
                const Real x = b[static_cast<size_t>(g.b_transposed ? j * g.ldb + k : k * g.ldb + j)];
                expected.push_back(bf16 ? tests::bf16(x) : x);
            }
            products.unpack_column(g, of_b.data(), j, is.data());
            same_numbers = same_numbers && same(is, expected);
        }
        return same_numbers;
    }

    std::vector<Real> reference() const {
        std::vector<Real> result = c;
        Problem rounded = *this;
        for (std::vector<Real>* factors : {&rounded.a, &rounded.b})
            for (Real& x : *factors)
                x = bf16 ? tests::bf16(x) : x;
        for (int64_t i = 0; i < g.m; ++i)
            for (int64_t j = 0; j < g.n; ++j)
                result[static_cast<size_t>(kGuard + i * g.ldc + j)] = rounded.element(i, j);
        return result;
    }

    Real element(int64_t i, int64_t j) const {
        const auto at = [](const std::vector<Real>& x, int64_t index) {
            return x[static_cast<size_t>(index)];
        };
        const auto factors = [&](int64_t k, Real& x, Real& y) {
            x = at(a, g.a_transposed ? k * g.lda + i : i * g.lda + k);
            y = at(b, g.b_transposed ? j * g.ldb + k : k * g.ldb + j);
        };
        Real sum = g.accumulate ? at(c, kGuard + i * g.ldc + j) : Real(0);
        for (int64_t begin = 0; begin < g.k; begin += kGemmBlockK) {
            const int64_t end = std::min(begin + kGemmBlockK, g.k);
            Real block = bf16 ? tests::chain_of_pairs(begin, end, factors) : 0, x = 0, y = 0;
            for (int64_t k = begin; !bf16 && k < end; ++k)
                factors(k, x, y), block = std::fma(x, y, block);
            sum = begin == 0 && !g.accumulate ? block : sum + block;
        }
        return bias.empty() ? sum : sum + at(bias, j);
    }

    std::string name() const {
        return std::to_string(g.m) + " x " + std::to_string(g.n) + " x " + std::to_string(g.k) +
               (g.a_transposed ? ", a transposed" : "") + (g.b_transposed ? ", b transposed" : "") +
               (g.accumulate ? ", accumulating" : "") + (bias.empty() ? "" : ", bias") + ", ldc " +
               std::to_string(g.ldc) + (bf16 ? ", bf16" : "") + (packed ? ", b packed" : "");
    }
};

void check_bits(Problem problem) {
    for (const bool bf16 : {false, true}) {
        problem.bf16 = bf16;
        const std::vector<Real> expected = problem.reference();
        on_each_isa([&] {
            problem.packed = false;
            INFO(problem.name());
            const bool equal = same(problem.run(), expected);
            REQUIRE(equal);
            problem.packed = true;
            INFO("b packed");
            const bool equal_if_packed = same(problem.run(), expected);
            REQUIRE(equal_if_packed);
            const bool unpacked = problem.columns_come_back();
            REQUIRE(unpacked);
        });
    }
}

// Sizes that reach every path: one row, few and many; b and a read in place or packed, because of their size
// or because their rows are far apart; edges of tiles, several blocks of k, bands of rows, ranges of columns.
struct Sizes {
    int64_t m, n, k;
};
constexpr Sizes kShapes[] = {
    {1, 33, 700},    {5, 200, 513},   {7, 130, 40},     {90, 300, 90}, {97, 257, 65},
    {30, 70, 70},    {96, 64, 512},   {100, 70, 520},   {250, 33, 30}, {2100, 140, 10},
    {100, 2100, 20}, {1, 4500, 512},  {1, 1100, 30},    {2, 600, 530}, {4, 70, 1040},
    {420, 1100, 17}, {1100, 300, 40}, {1030, 200, 530}, {1, 2048, 8},
};

}  // namespace

TEST_CASE("gemm: every small size", "[kernels][gemm]") {
    const tests::Threads one(1);
    for (int64_t m = 0; m <= 13; ++m)
        for (int64_t n = 0; n <= 129; n += n < 34 ? 1 : 5)
            for (int flags = 0; flags < 4; ++flags) {
                const int64_t k = (m * 7 + n * 3 + flags) % 11;
                check_bits(Problem(m, n, k, flags & 1, flags & 2, m % 2 == 1, n % 3 == 1, n % 4));
            }
}

TEST_CASE("gemm: transposes, accumulation, bias and leading dimensions in all combinations",
          "[kernels][gemm]") {
    for (const auto& [m, n, k] : {kShapes[2], kShapes[3], kShapes[7]})
        for (int flags = 0; flags < 32; ++flags)
            check_bits(Problem(m, n, k, flags & 1, flags & 2, flags & 4, flags & 8, flags & 16 ? 5 : 0));
}

TEST_CASE("gemm: k around the ends of its blocks", "[kernels][gemm]") {
    for (const int64_t k : {int64_t{0}, int64_t{1}, kGemmBlockK - 1, kGemmBlockK, kGemmBlockK + 1,
                            2 * kGemmBlockK, 2 * kGemmBlockK + 1})
        for (int flags = 0; flags < 8; ++flags)
            for (const int64_t m : {1, 7, 100})
                check_bits(Problem(m, 17, k, flags & 1, flags & 2, flags & 4, flags & 4, 1));
}

TEST_CASE("gemm: random rectangles", "[kernels][gemm]") {
    uint32_t state = 1;
    const auto random = [&](uint32_t below) {
        return static_cast<int64_t>((state = state * 1664525 + 1013904223) >> 8) % below;
    };
    for (int round = 0; round < 40; ++round) {
        const int64_t m = random(180), n = random(180), k = random(90);
        check_bits(Problem(m, n, k, random(2), random(2), random(2), random(2), random(8)));
    }
}

TEST_CASE("gemm: the same bits for any number of threads", "[kernels][gemm][threads]") {
    for (const auto& [m, n, k] : kShapes)
        for (int flags = 0; flags < 8; ++flags) {
            Problem problem(m, n, k, flags & 1, flags & 2, flags & 4, flags == 2);
            problem.bf16 = m % 3 == 1;
            const std::vector<Real> expected = problem.reference();
            for (const int number : {1, 2, 3, 5, 16, 64}) {
                if (number > 3 && flags >= 4)  // not all combinations: they would take seconds
                    continue;
                const tests::Threads threads(number);
                INFO(problem.name() << ", " << number << " threads");
                const bool equal = same(problem.run(), expected);
                REQUIRE(equal);
            }
        }
}

TEST_CASE("gemm: inside of parallel_for", "[kernels][gemm]") {
    const int before = thread_count();
    set_thread_count(3);
    const Problem problem(131, 97, 520, true, false, false, true);
    const std::vector<Real> expected = problem.reference();
    std::vector<char> equal(8);
    parallel_for(0, 8, 1, [&](int64_t begin, int64_t) {
        equal[static_cast<size_t>(begin)] = same(problem.run(), expected);
    });
    CHECK(equal == std::vector<char>(8, 1));
    set_thread_count(before);
}

TEST_CASE("gemm: a row does not depend on how many others there are", "[kernels][gemm]") {
    for (const Sizes& shape : kShapes)
        for (int flags = 0; flags < 4; ++flags) {
            Problem problem(shape.m, shape.n, shape.k, flags & 1, flags & 2, false, true);
            problem.bf16 = shape.m % 3 == 1;
            on_each_isa([&] {
                INFO(problem.name());
                const std::vector<Real> all = problem.run();
                Gemm g = problem.g;
                g.m = 1;
                g.bias = problem.bias.data();
                bool equal = true;
                for (int64_t row = 0; row < shape.m; row += 1 + shape.m / 5) {
                    std::vector<Real> alone(static_cast<size_t>(shape.n));
                    const auto product =
                        problem.bf16 ? kernels::cpu().bf16.gemm : kernels::cpu().float32.gemm;
                    product(g, problem.a.data() + row * (g.a_transposed ? 1 : g.lda), problem.b.data(),
                            alone.data());
                    const auto begin = all.begin() + Problem::kGuard + row * g.ldc;
                    equal = equal && same(alone, std::vector<Real>(begin, begin + shape.n));
                }
                CHECK(equal);
            });
        }
}

// 0 * NaN and 0 * infinity are NaN: a product that skips zeros, or reads padding as data, fails.
TEST_CASE("gemm: NaN and infinity go where they belong, and nowhere else", "[kernels][gemm]") {
    for (const auto& [m, n, k] : kShapes)
        for (int flags = 0; flags < 16; ++flags) {
            Problem problem(m, n, k, flags & 1, flags & 2, false, false);
            problem.bf16 = flags & 8;
            if (m > 1 && problem.bf16 != (m % 3 == 1))  // a single row has a way of its own in each precision
                continue;
            std::vector<Real>& zeros = flags & 4 ? problem.a : problem.b;
            std::vector<Real>& other = flags & 4 ? problem.b : problem.a;
            std::fill(zeros.begin(), zeros.end(), Real(0));
            other.front() = kNaN;
            other.back() = std::numeric_limits<Real>::infinity();
            const std::vector<Real> c = problem.run();
            int64_t wrong = 0;
            for (int64_t i = 0; i < m; ++i)
                for (int64_t j = 0; j < n; ++j) {
                    const int64_t line = flags & 4 ? j : i, last = flags & 4 ? n - 1 : m - 1;
                    const Real value = c[static_cast<size_t>(Problem::kGuard + i * n + j)];
                    wrong += std::isnan(value) != (line == 0 || line == last);
                }
            INFO(problem.name());
            CHECK(wrong == 0);
        }
}

TEST_CASE("gemm: an empty sum", "[kernels][gemm]") {
    const Problem overwritten(3, 20, 0, false, false, false, false),
        kept(3, 20, 0, false, false, true, false);
    on_each_isa([&] {
        const std::vector<Real> c = overwritten.run();
        CHECK(std::count(c.begin(), c.end(), Real(0)) == 60);
        const bool unchanged = same(kept.run(), kept.c);
        CHECK(unchanged);
    });
}

// The activation in the product is the same as one after it; what was before it is kept on request.
TEST_CASE("gemm: an activation equals the composition", "[kernels][gemm]") {
    using kernels::Unary;
    constexpr Sizes kMore[] = {{3, 20, 0}, {6, 64, 64}, {64, 64, 64}, {1, 40, 30}};
    std::vector<Sizes> shapes(std::begin(kShapes), std::end(kShapes));
    shapes.insert(shapes.end(), std::begin(kMore), std::end(kMore));
    for (const auto& [m, n, k] : shapes)
        for (const Unary f : {Unary::relu, Unary::gelu, Unary::gelu_tanh, Unary::silu}) {
            if (m * n * k > 2'000'000 && static_cast<int>(f) != m % 4)
                continue;  // one function is enough, as the emulated fma is slow
            const int flags = static_cast<int>(f) + static_cast<int>(m);
            Problem problem(m, n, k, flags & 1, flags & 2, flags & 4, true, m > 1 ? 1 : 0);
            if (k > 0)
                problem.a.front() = kNaN;
            on_each_isa([&, rows = m, columns = n] {  // clang 14 captures no structured binding
                INFO(problem.name() << ", function " << static_cast<int>(f));
                const std::vector<Real> sum = problem.run();
                std::vector<Real> expected = sum;
                for (int64_t i = 0; i < rows; ++i) {
                    Real* const row = expected.data() + Problem::kGuard + i * problem.g.ldc;
                    kernels::cpu().unary(f, columns, row, row);
                }
                Problem fused = problem;
                fused.g.activation = &f;
                const bool equal = same(fused.run(), expected);
                CHECK(equal);
                std::vector<Real> before = problem.c;
                fused.g.before_activation = before.data() + Problem::kGuard;
                const bool still_equal = same(fused.run(), expected), kept = same(before, sum);
                CHECK(still_equal);
                CHECK(kept);
            });
        }
}
