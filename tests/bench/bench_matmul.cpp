// Speed of the matrix product, in GFLOP/s and as a share of what this machine's fma units can do; with
// --peers also as a ratio to OpenBLAS and oneDNN.
//
// Rounds go over all shapes, and over all libraries, in turn, so that a disturbance hits one sample of each
// and not all of one; what is printed is the median. Instruction sets: PLAINGRAD_ISA, or all that can run
// here.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <set>
#include <type_traits>

#include "apps/kit/options.h"
#include "apps/kit/program.h"
#include "autograd/base/check.h"
#include "tests/bench/blas.h"
#include "tests/bench/measure.h"

using namespace plaingrad;  // NOLINT

namespace {

using namespace bench;
namespace kernels = autograd::kernels;

constexpr int kRounds = 5;
constexpr double kTooLong = 0.3;  // seconds; a product that would take longer at peak speed is left out

// The libraries' threads wait in loops for up to 30 ms before they sleep, and would take our processors.
constexpr int kSettle = 35'000;  // microseconds

struct Shape {
    int64_t m, n, k;
    bool a_transposed = false, b_transposed = false;
    bool brief = false;  // also measured for the instruction sets that are not this machine's best

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

// Cubes; then what Transformers do: y = x @ w, dx = dy @ wᵀ (b is transposed), dw = xᵀ @ dy (a is).
std::vector<Shape> shapes() {
    std::vector<Shape> all;
    for (const int64_t n : {64, 128, 256, 512, 1024, 2048})
        all.push_back({n, n, n, false, false, true});
    const auto layer = [&](int64_t tokens, int64_t in, int64_t out, bool brief = false) {
        all.push_back({tokens, out, in, false, false, brief});
        all.push_back({tokens, in, out, false, true, brief});
        all.push_back({in, out, tokens, true, false, brief});
    };
    layer(6400, 512, 512, true);  // the paper's base model, 64 sentences of 100
    layer(6400, 512, 2048);
    layer(6400, 2048, 512);
    layer(6400, 512, 5000);
    layer(6400, 2048, 5000);
    layer(4096, 256, 1024);  // the classifier
    layer(2048, 384, 1536);  // the character models
    layer(768, 128, 512);
    layer(1024, 128, 128);
    layer(1024, 128, 256);
    layer(320, 64, 128);  // reversing
    layer(320, 64, 64);
    layer(20, 128, 256);                   // the toy
    for (const int64_t n : {512, 5000}) {  // one token
        all.push_back({1, n, 512, false, false, true});
        all.push_back({1, n, 512, false, true, true});
    }
    return all;
}

struct Settings {
    int64_t threads = 0;
    bool peers = false, csv = false;
};

struct Operands {
    Numbers a, b, c, other;
};

// GFLOP/s. The first run does not count; it brings the operands into the cache.
template <class Product>
double speed(const Shape& s, const Operands& o, Numbers& c, const Product& product) {
    product(s.gemm(), o.a.data(), o.b.data(), c.data());
    return 1e-9 * rate([&] {
               product(s.gemm(), o.a.data(), o.b.data(), c.data());
               return s.flops();
           });
}

void print_head(const Settings& s, const std::vector<Blas>& peers, double peak) {
    if (s.csv)
        return;
    std::printf("\n%s, %d thread%s: fma peak %.1f GFLOP/s\n", kernels::cpu().name, autograd::thread_count(),
                autograd::thread_count() == 1 ? "" : "s", peak);
    std::printf("     m      n      k       GFLOP/s   of peak          time");
    for (const Blas& peer : peers)
        std::printf(" %10s", peer.name.c_str());
    std::printf("%s\n", peers.empty() ? "" : "   to the best");
}

void print(const Settings& s, const Shape& shape, double peak, const std::vector<double>& gflops) {
    const char* layout = shape.a_transposed ? "aT" : shape.b_transposed ? "bT" : "";
    const auto number = [](int64_t n) { return static_cast<long long>(n); };
    const double share = gflops[0] / peak;
    if (s.csv)
        std::printf("%s,%d,%lld,%lld,%lld,%s,%.1f,%.4f", kernels::cpu().name, autograd::thread_count(),
                    number(shape.m), number(shape.n), number(shape.k), layout, gflops[0], share);
    else
        std::printf("%6lld x %4lld x %4lld %-2s %10.1f %7.1f %% %10.1f us", number(shape.m), number(shape.n),
                    number(shape.k), layout, gflops[0], 100 * share, shape.flops() / gflops[0] * 1e-3);
    for (std::size_t i = 1; i < gflops.size(); ++i)
        std::printf(s.csv ? ",%.1f" : " %10.1f", gflops[i]);
    if (gflops.size() > 1)
        std::printf(s.csv ? ",%.3f" : " %12.2f",
                    gflops[0] / *std::max_element(gflops.begin() + 1, gflops.end()));
    std::printf("\n");
}

// Whole numbers so small that every sum is exact: all correct products are equal.
Operands operands(const std::vector<Shape>& all) {
    std::size_t a = 0, b = 0, c = 0;
    for (const Shape& s : all) {
        a = std::max(a, static_cast<std::size_t>(s.m * s.k));
        b = std::max(b, static_cast<std::size_t>(s.k * s.n));
        c = std::max(c, static_cast<std::size_t>(s.m * s.n));
    }
    Operands o{Numbers(a), Numbers(b), Numbers(c), Numbers(c)};
    for (std::size_t i = 0; i < a; ++i)
        o.a[i] = static_cast<Real>(i % 7) - 3;
    for (std::size_t i = 0; i < b; ++i)
        o.b[i] = static_cast<Real>(i % 11) - 5;
    return o;
}

// One instruction set, one number of threads.
void bench(const Settings& s, const std::vector<Shape>& all, const std::vector<Blas>& peers, Operands& o) {
    std::vector<double> peaks;
    std::vector<std::vector<std::vector<double>>> rates(all.size(),
                                                        std::vector<std::vector<double>>(1 + peers.size()));
    for (const Blas& peer : peers)
        peer.set_threads(autograd::thread_count());
    for (int round = 0; round < kRounds; ++round) {
        peaks.push_back(fma_peak());
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (all[i].flops() > kTooLong * 1e9 * peaks[0])
                continue;
            rates[i][0].push_back(speed(all[i], o, o.c, kernels::cpu().float32.gemm));
            for (std::size_t p = 0; p < peers.size(); ++p) {
                rates[i][1 + p].push_back(speed(all[i], o, o.other, peers[p].gemm));
                const auto numbers = static_cast<std::ptrdiff_t>(all[i].m * all[i].n);
                autograd::check(std::equal(o.c.data(), o.c.data() + numbers, o.other.data()), "[bench] ",
                                peers[p].name, " and this library computed different products");
                if (autograd::thread_count() > 1)
                    usleep(kSettle);
            }
        }
    }
    print_head(s, peers, median(peaks));
    for (std::size_t i = 0; i < all.size(); ++i) {
        std::vector<double> gflops;
        for (const std::vector<double>& samples : rates[i])
            gflops.push_back(median(samples));
        if (gflops[0] > 0)
            print(s, all[i], median(peaks), gflops);
    }
    std::fflush(stdout);
}

std::vector<Blas> find_peers() {
    std::vector<Blas> found;
    if constexpr (std::is_same_v<Real, float>) {
        find_openblas(found);
        find_onednn(found);
    }
    if (found.empty())
        std::fprintf(stderr, "bench_matmul: neither OpenBLAS nor oneDNN is installed: skipped\n");
    return found;
}

int run(const Settings& s) {
    const std::vector<Shape> every = shapes();
    std::vector<Shape> brief;
    std::copy_if(every.begin(), every.end(), std::back_inserter(brief),
                 [](const Shape& x) { return x.brief; });
    Operands o = operands(every);
    const std::vector<Blas> peers = s.peers ? find_peers() : std::vector<Blas>{};
    if (s.csv) {
        std::printf("isa,threads,m,n,k,layout,gflops,share_of_peak");
        for (const Blas& peer : peers)
            std::printf(",%s", peer.name.c_str());
        std::printf("%s\n", peers.empty() ? "" : ",ratio_to_best");
    }
    const std::string best = kernels::cpu().name;
    const bool one_set = s.peers || std::getenv("PLAINGRAD_ISA") != nullptr;
    const int all = autograd::thread_count();
    for (const char* const* name = kernels::available(); *name != nullptr; ++name) {
        if (one_set && *name != best)
            continue;
        kernels::use(*name);
        for (const int threads : s.threads > 0 ? std::set<int>{all} : std::set<int>{1, all}) {
            autograd::set_thread_count(threads);
            bench(s, *name == best ? every : brief, peers, o);
        }
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    return kit::run("bench_matmul", argv[0], [&] {
        Settings s;
        kit::Options options({"build/bench/bench_matmul", "measures the matrix product"});
        options.add("--threads", "N", "number of threads; 0: one thread, then all", s.threads, {.max = 1024});
        options.add("--peers", "also measure OpenBLAS and oneDNN, if they are installed", s.peers);
        options.add("--csv", "print comma-separated values", s.csv);
        options.parse(argc, argv);
        if (s.threads > 0)
            autograd::set_thread_count(static_cast<int>(s.threads));
        return run(s);
    });
}
