// Speed of the matrix product, in GFLOP/s and as a share of what this machine's fma units can do; with
// --peers also as a ratio to OpenBLAS. PLAINGRAD_ISA names another instruction set than the best one.
//
// Rounds go over all shapes, and over both libraries, in turn, so that a disturbance hits one sample of each
// and not all of one; what is printed is the median.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>

#include "autograd/base/check.h"
#include "tests/bench/bench.h"

using namespace plaingrad;  // NOLINT

namespace {

using namespace bench;
namespace kernels = autograd::kernels;
using Real = float;  // of both libraries; the double build has no other
using Product = std::function<void(const kernels::Gemm&, const Real* a, const Real* b, Real* c)>;

constexpr int kRounds = 5;

// OpenBLAS's threads wait in loops for up to 30 ms before they sleep, and would take our processors.
constexpr int kSettle = 35'000;  // microseconds

struct Shape {
    int64_t m, n, k;
    bool a_transposed = false, b_transposed = false;

    double flops() const { return 2.0 * static_cast<double>(m * n * k); }
    kernels::Gemm gemm() const {
        return {.m = m,
                .n = n,
                .k = k,
                .lda = a_transposed ? m : k,
                .ldb = b_transposed ? k : n,
                .ldc = n,
                .a_transposed = a_transposed,
                .b_transposed = b_transposed};
    }
};

// Cubes; what layers do: y = x @ w, dx = dy @ wᵀ (b is transposed), dw = xᵀ @ dy (a is); and one token.
std::vector<Shape> shapes() {
    std::vector<Shape> all;
    for (const int64_t n : {64, 128, 256, 512, 1024, 2048})
        all.push_back({n, n, n});
    constexpr int64_t kLayers[][3] = {
        // tokens, in, out
        {6400, 512, 512},  {6400, 512, 2048},  // the paper's base model, 64 sentences of 100
        {4096, 256, 1024}, {2048, 384, 1536}, {1024, 128, 128},  // classifier, characters
        {320, 64, 128},    {20, 128, 256}};                      // reversing, the toy
    for (const auto& [tokens, in, out] : kLayers) {
        all.push_back({tokens, out, in});
        all.push_back({tokens, in, out, false, true});
        all.push_back({in, out, tokens, true, false});
    }
    for (const int64_t n : {512, 5000})
        for (const bool transposed : {false, true})
            all.push_back({1, n, 512, false, transposed});
    return all;
}

// It is loaded at run time, so that nothing depends on it; none if it is not installed. OpenBLAS picks its
// kernels when it is loaded. On a processor newer than itself it takes those for AVX2.
Product openblas() {
    if (std::string(kernels::available()[0]).starts_with("avx512"))
        setenv("OPENBLAS_CORETYPE", "SkylakeX", 1);
    void* const library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
        return nullptr;
    using Sgemm = void(int order, int transpose_a, int transpose_b, int m, int n, int k, Real alpha,
                       const Real* a, int lda, const Real* b, int ldb, Real beta, Real* c, int ldc);
    auto* const sgemm = reinterpret_cast<Sgemm*>(dlsym(library, "cblas_sgemm"));
    auto* const set_threads = reinterpret_cast<void (*)(int)>(dlsym(library, "openblas_set_num_threads"));
    autograd::check(sgemm != nullptr && set_threads != nullptr, "[bench] OpenBLAS has other names");
    return [=](const kernels::Gemm& g, const Real* a, const Real* b, Real* c) {
        constexpr int kRowMajor = 101, kPlain = 111, kTransposed = 112;
        const auto i = [](int64_t n) { return static_cast<int>(n); };
        set_threads(autograd::thread_count());
        sgemm(kRowMajor, g.a_transposed ? kTransposed : kPlain, g.b_transposed ? kTransposed : kPlain, i(g.m),
              i(g.n), i(g.k), 1, a, i(g.lda), b, i(g.ldb), 0, c, i(g.ldc));
    };
}

struct Operands {
    Numbers a, b, c, other;
};

// Whole numbers so small that every sum is exact: all correct products are equal.
Operands operands(const std::vector<Shape>& all) {
    int64_t a = 0, b = 0, c = 0;
    for (const Shape& s : all)
        a = std::max(a, s.m * s.k), b = std::max(b, s.k * s.n), c = std::max(c, s.m * s.n);
    const auto numbers = [](int64_t n) { return Numbers(static_cast<std::size_t>(n)); };
    Operands o{numbers(a), numbers(b), numbers(c), numbers(c)};
    for (std::size_t i = 0; i < o.a.size(); ++i)
        o.a[i] = static_cast<Real>(i % 7) - 3;
    for (std::size_t i = 0; i < o.b.size(); ++i)
        o.b[i] = static_cast<Real>(i % 11) - 5;
    return o;
}

// GFLOP/s. The first run does not count; it brings the operands into the cache.
double speed(const Shape& s, const Operands& o, Numbers& c, const Product& product) {
    const auto once = [&] {
        product(s.gemm(), o.a.data(), o.b.data(), c.data());
        return s.flops();
    };
    once();
    return 1e-9 * rate(once);
}

void measure(const std::vector<Shape>& all, const Product& peer, Operands& o, const Table& table) {
    std::vector<double> peaks;
    std::vector<std::vector<double>> ours(all.size()), theirs(all.size());
    for (int round = 0; round < kRounds; ++round) {
        peaks.push_back(fma_peak());
        for (std::size_t i = 0; i < all.size(); ++i) {
            ours[i].push_back(speed(all[i], o, o.c, kernels::cpu().float32.gemm));
            if (!peer)
                continue;
            theirs[i].push_back(speed(all[i], o, o.other, peer));
            autograd::check(std::equal(o.c.data(), o.c.data() + all[i].m * all[i].n, o.other.data()),
                            "[bench] OpenBLAS and this library computed different products");
            if (autograd::thread_count() > 1)
                usleep(kSettle);
        }
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
        const Shape& s = all[i];
        const double gflops = median(ours[i]), other = median(theirs[i]);
        const std::string layout = s.a_transposed ? "aT" : s.b_transposed ? "bT" : "";
        table.row(kernels::cpu().name, autograd::thread_count(), s.m, s.n, s.k, layout, gflops,
                  gflops / median(peaks), other, peer ? gflops / other : 0);
    }
}

}  // namespace

int main(int argc, char** argv) {
    int64_t threads = 0;
    bool peers = false, csv = false;
    const auto add = [&](kit::Options& options) {
        options.add("--threads", "N", "number of threads; 0: one thread, then all", threads, {.max = 1024});
        options.add("--peers", "also measure OpenBLAS, if it is installed", peers);
    };
    return run("bench_matmul", "measures the matrix product", argc, argv, &csv, add, [&] {
        const Product peer = peers ? openblas() : nullptr;
        if (peers && !peer)
            std::fprintf(stderr, "bench_matmul: OpenBLAS is not installed: skipped\n");
        const std::vector<Shape> all = shapes();
        Operands o = operands(all);
        const Table table(
            csv, {"isa", "threads", "m", "n", "k", "layout", "gflops", "share_of_peak", "OpenBLAS", "ratio"});
        for (const int n : thread_counts(threads)) {
            autograd::set_thread_count(n);
            measure(all, peer, o, table);
        }
    });
}
