#include EXERCISE  // the learner's page, or ours
#include <cmath>
#include <cstdio>

#include "autograd/kernels/kernels.h"
#include "tests/bench/measure.h"
#include "tests/catch.h"
#include "tests/exercises/marking.h"
#include "tests/reference.h"

using namespace plaingrad::exercises;  // NOLINT
namespace autograd = plaingrad::autograd;
namespace bench = plaingrad::bench;

static const Marking exercise(12);

TEST_CASE("the right product, of any sizes") {
    const int64_t sizes[][3] = {{1, 1, 1},   {2, 3, 4},    {6, 16, 8},   {7, 17, 5},
                                {1, 100, 3}, {65, 1, 300}, {70, 33, 513}};
    for (const auto& [m, n, k] : sizes) {
        const Tensor a = random_tensor({m, k}, 1), b = random_tensor({k, n}, 2);
        Tensor c = Tensor::full({m, n}, 1e6);
        matmul(m, n, k, a.data(), b.data(), c.mutable_data());
        const auto size = [](int64_t x) { return static_cast<std::size_t>(x); };
        Row expected = plaingrad::reference::matmul(row_of(a), row_of(b), size(m), size(k), size(n)),
            added = expected;
        for (double& value : added)
            value += 1e6;
        exercise.expect_values(autograd::join("c (m, n, k = ", m, ", ", n, ", ", k, ")"), c, {m, n}, expected,
                               {{"the product is added to what was in c: overwrite it", added}});
    }
    Tensor c = Tensor::full({2, 2}, 7);
    matmul(2, 2, 0, c.data(), c.data(), c.mutable_data());
    exercise.expect_values("c (k = 0)", c, {2, 2}, {0, 0, 0, 0});
}

TEST_CASE("twice as fast as three loops", "[benchmark]") {
    constexpr int64_t kSize = 768;
    bench::Numbers a(kSize * kSize), b(kSize * kSize), c(kSize * kSize);
    for (std::size_t i = 0; i < a.size(); ++i) {
        a[i] = static_cast<Real>(i % 7);
        b[i] = static_cast<Real>(i % 5);
    }
    using Product = void (*)(int64_t, int64_t, int64_t, const Real*, const Real*, Real*);
    const auto seconds = [&](Product product) {
        const auto once = [&] { return product(kSize, kSize, kSize, a.data(), b.data(), c.data()), 1.0; };
        return 1 / bench::rate(once, 0.05);
    };
    const Product library = [](int64_t m, int64_t n, int64_t k, const Real* x, const Real* y, Real* z) {
        autograd::kernels::cpu().float32.gemm({.m = m, .n = n, .k = k, .lda = k, .ldb = n, .ldc = n}, x, y,
                                              z);
    };
    // In turn, because what disturbs one of the three then disturbs the others too.
    std::vector<double> yours, ours;
    for (int round = 0; round < 9; ++round) {
        const double naive = seconds(three_loops);
        yours.push_back(naive / seconds(matmul));
        ours.push_back(naive / seconds(library));
    }
    const double ratio = bench::median(yours);
    std::printf("         %.1f times as fast as three loops (the library, with its threads: %.1f times)\n",
                ratio, bench::median(ours));
    std::fflush(stdout);
    exercise.expect(
        ratio >= 2, "matmul is ", std::round(ratio * 10) / 10, " times as fast as three loops; expected 2. ",
        ratio < 1.2 ? "Begin with a tile of c, 6 rows by 2 vectors or so: its sums must stay in registers"
                    : "Next: pack the columns of b that a tile reads, so that they lie side by side");
}
