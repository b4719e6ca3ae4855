// The matrix product, of numbers and of bfloat16. Not "close to" a reference: equal to it, bit for bit, for
// every size, layout, instruction set and number of threads. The reference is what kernels.h says, in plain
// loops (trust/defined_order.h). Each element of it depends on its row and column alone; so a row that has
// its bits does not depend on how many others there are.
#include "autograd/ops.h"
#include "tests/autograd/values.h"
#include "tests/catch.h"
#include "tests/trust/defined_order.h"
#include "tests/trust/operands.h"

using namespace plaingrad;          // NOLINT
using namespace autograd;           // NOLINT
using namespace autograd::kernels;  // NOLINT
using namespace tests;              // NOLINT
using trust::Product;

namespace {

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

constexpr int kTransposeA = 1, kTransposeB = 2, kAccumulate = 4, kBias = 8;

// `gap`: how much longer than needed the rows of each matrix are.
Product product(const Sizes& s, int flags, int64_t gap = 0, Precision precision = Precision::float32) {
    Product p;
    p.g.m = s.m, p.g.n = s.n, p.g.k = s.k;
    p.g.a_transposed = flags & kTransposeA, p.g.b_transposed = flags & kTransposeB;
    p.g.accumulate = flags & kAccumulate, p.with_bias = flags & kBias;
    p.g.lda = gap + (p.g.a_transposed ? s.m : s.k);
    p.g.ldb = 2 * gap + (p.g.b_transposed ? s.k : s.n);
    p.g.ldc = 3 * gap + s.n;
    p.precision = precision;
    return p;
}

void check_here(trust::Workbench& workbench, const Product& p) {
    for (const bool packed : {false, true}) {
        INFO(p.name() << ", " << cpu().name << (packed ? ", packed" : "") << ", " << thread_count());
        const bool as_defined = workbench.run(packed) == trust::Workbench::Found{};
        REQUIRE(as_defined);
    }
}

// On every instruction set.
void check_bits(const Product& p, const trust::Operands& x) {
    static trust::Workbench workbench;
    workbench.set(p, x, in_defined_order(p, x));
    for_each_isa([&](const char*) { check_here(workbench, p); });
}
void check_bits(const Product& p) { check_bits(p, trust::Operands(p, Rng(1))); }

void check_both(const Sizes& s, int flags, int64_t gap) {
    for (const Precision precision : {Precision::float32, Precision::bf16})
        check_bits(product(s, flags, gap, precision));
}

// On a processor without fma such a product takes a second.
bool is_large(const Sizes& s) { return s.m * s.n * s.k > 20'000'000; }
// One of the two, where both would take long.
Precision precision_of(const Sizes& s) { return s.m % 3 == 1 ? Precision::bf16 : Precision::float32; }

}  // namespace

TEST_CASE("gemm: every small size", "[kernels][gemm]") {
    const Threads one(1);
    for (int64_t m = 0; m <= 13; ++m)
        for (int64_t n = 0; n <= 129; n += n < 34 ? 1 : 5)
            for (int transposes = 0; transposes < 4; ++transposes)
                check_both({m, n, (m * 7 + n * 3 + transposes) % 11},
                           transposes | (m % 2 == 1 ? kAccumulate : 0) | (n % 3 == 1 ? kBias : 0), n % 4);
}

TEST_CASE("gemm: transposes, accumulation, bias and leading dimensions in all combinations",
          "[kernels][gemm]") {
    for (const Sizes& s : {kShapes[2], kShapes[3], kShapes[7]})
        for (int flags = 0; flags < 16; ++flags)
            for (const int64_t gap : {0, 5})
                check_both(s, flags, gap);
}

TEST_CASE("gemm: k around the ends of its blocks", "[kernels][gemm]") {
    for (const int64_t k : {int64_t{0}, int64_t{1}, kGemmBlockK - 1, kGemmBlockK, kGemmBlockK + 1,
                            2 * kGemmBlockK, 2 * kGemmBlockK + 1})
        for (int flags = 0; flags < 8; ++flags)
            for (const int64_t m : {1, 7, 100})
                check_both({m, 17, k}, flags & kAccumulate ? flags | kBias : flags, 1);
}

TEST_CASE("gemm: random rectangles", "[kernels][gemm]") {
    Dice dice(Rng(1));
    for (int round = 0; round < 40; ++round)
        check_both({dice.below(180), dice.below(180), dice.below(90)}, static_cast<int>(dice.below(16)),
                   dice.below(8));
}

TEST_CASE("gemm: sizes that reach every path, and of each the first row alone", "[kernels][gemm]") {
    for (const Sizes& s : kShapes)
        for (int transposes = is_large(s) ? 2 : 0; transposes < (is_large(s) ? 3 : 4); ++transposes)
            for (const int64_t rows : {s.m, int64_t{1}})
                check_bits(product({rows, s.n, s.k}, transposes | kBias, 0, precision_of(s)));
}

TEST_CASE("gemm: the same bits for any number of threads", "[kernels][gemm][threads]") {
    trust::Workbench workbench;
    for (const Sizes& s : kShapes)
        for (int flags = 0; flags < 8; ++flags) {
            if (is_large(s) && flags != kTransposeA && flags != (kTransposeB | kAccumulate))
                continue;
            const Product p = product(s, flags == 2 ? flags | kBias : flags, 0, precision_of(s));
            const trust::Operands x(p, Rng(1));
            workbench.set(p, x, in_defined_order(p, x));
            for (const int number : {1, 2, 3, 5, 16, 64}) {
                if (number > 3 && flags >= 4)  // not all combinations: they would take seconds
                    continue;
                const Threads threads(number);
                check_here(workbench, p);
            }
        }
}

TEST_CASE("gemm: inside of parallel_for", "[kernels][gemm]") {
    const Threads three(3);
    const Product p = product({131, 97, 520}, kTransposeA | kBias);
    const trust::Operands x(p, Rng(1));
    const std::vector<Real> sum = in_defined_order(p, x);
    std::vector<char> equal(8);
    parallel_for(0, 8, 1, [&](int64_t begin, int64_t) {
        trust::Workbench workbench;
        workbench.set(p, x, sum);
        equal[static_cast<std::size_t>(begin)] = workbench.run(false) == trust::Workbench::Found{};
    });
    CHECK(equal == std::vector<char>(8, 1));
}

// 0 * NaN and 0 * infinity are NaN: a product that skips zeros, or reads padding as data, fails.
TEST_CASE("gemm: NaN and infinity go where they belong, and nowhere else", "[kernels][gemm]") {
    trust::Workbench workbench;
    for (const Sizes& s : kShapes)
        for (int transposes = 0; transposes < 4; ++transposes)
            for (const bool in_a : {false, true})
                for (const Precision precision : {Precision::float32, Precision::bf16}) {
                    if (is_large(s) ||
                        (s.m > 1 && precision != precision_of(s)))  // a row has ways of its own
                        continue;
                    const Product p = product(s, transposes, 0, precision);
                    trust::Operands x(p, Rng(1));
                    std::vector<Real>&zeros = in_a ? x.b : x.a, &other = in_a ? x.a : x.b;
                    std::fill(zeros.begin(), zeros.end(), Real(0));
                    other.front() = kNan;
                    other.back() = std::numeric_limits<Real>::infinity();
                    const std::vector<Real> sum = in_defined_order(p, x);
                    workbench.set(p, x, sum);
                    check_here(workbench, p);
                    const int64_t lines = std::min<int64_t>(in_a ? s.m : s.n, 2), length = in_a ? s.n : s.m;
                    CHECK(std::count_if(sum.begin(), sum.end(), [](Real y) { return y != y; }) ==
                          lines * length);
                }
}

// The activation in the product is the same as one after it; what was before it is kept on request.
TEST_CASE("gemm: an activation equals the composition", "[kernels][gemm]") {
    std::vector<Sizes> shapes = {{3, 20, 0}, {6, 64, 64}, {64, 64, 64}, {1, 40, 30}};
    shapes.insert(shapes.end(), std::begin(kShapes), std::end(kShapes));
    for (const Sizes& s : shapes)
        for (const Unary f : {Unary::relu, Unary::gelu, Unary::gelu_tanh, Unary::silu}) {
            if (s.m * s.n * s.k > 2'000'000 && static_cast<int>(f) != s.m % 4)
                continue;  // one function is enough, as the emulated fma is slow
            Product p = product(s, ((static_cast<int>(f) + static_cast<int>(s.m)) & 7) | kBias, s.m > 1);
            p.activation = f;
            trust::Operands x(p, Rng(1));
            if (s.k > 0)
                x.a.front() = kNan;
            for (const bool keeps_sum : {false, true}) {
                p.keeps_sum = keeps_sum;
                check_bits(p, x);
            }
        }
}

// Small products run side by side, and large ones one after the other.
TEST_CASE("gemm: in a batch each product has the bits that it has alone", "[kernels][gemm]") {
    const auto matrix = [](const Tensor& batch, int64_t i) {
        return reshape(slice(batch, 0, i, i + 1), {batch.size(1), batch.size(2)});
    };
    for (const auto& [count, s] : {std::pair(40, Sizes{9, 20, 17}), {3, {130, 140, 130}}, {1, {5, 6, 7}}})
        for (const bool transposed : {false, true}) {
            const Tensor a = random({count, s.m, s.k}, 1);
            const Tensor b = random(transposed ? Shape{count, s.n, s.k} : Shape{count, s.k, s.n}, 2);
            for (const int number : {1, 3}) {
                const Threads threads(number);
                const Tensor c = matmul(a, b, transposed);
                for (int64_t i = 0; i < count; ++i) {
                    INFO(count << " of " << s.m << " x " << s.n << ", number " << i << ", " << number);
                    REQUIRE(same_bits(matmul(matrix(a, i), matrix(b, i), transposed), matrix(c, i)));
                }
            }
        }
}
