// Speed of the matrix product, in GFLOP/s and as a share of what this machine's fma units can do.
//
// The peak is measured in the same run: clock rates differ from hour to hour, data sheets do not.
// Rounds go over all shapes in turn, so that a disturbance hits one sample of each and not all of
// one; what is printed is the median. Instruction sets: PLAINGRAD_ISA, or all that can run here.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <vector>

#include "autograd/base/parallel.h"
#include "autograd/kernels/kernels.h"

using namespace autograd;

namespace {

constexpr int kRounds = 7;
constexpr double kSampleSeconds = 0.02;  // how long a sample takes at least
constexpr double kTooLong = 0.5;         // what would take longer at the peak is left out

struct Shape {
    int64_t m, n, k;
    bool a_transposed = false, b_transposed = false;
    double flops() const { return 2.0 * static_cast<double>(m * n * k); }
};

// Cubes, then what a Transformer does: forward, dx = dy @ wᵀ, dw = xᵀ @ dy, decoding.
const Shape kShapes[] = {
    {64, 64, 64},
    {128, 128, 128},
    {256, 256, 256},
    {512, 512, 512},
    {1024, 1024, 1024},
    {2048, 2048, 2048},
    {768, 64, 64},
    {6400, 512, 512},
    {64, 5000, 512},
    {6400, 512, 512, false, true},
    {64, 64, 768, true},
    {512, 512, 6400, true},
    {8, 512, 512},
    {1, 512, 512},
    {1, 512, 512, false, true},
};

double seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double median(std::vector<double> x) {
    std::sort(x.begin(), x.end());
    return x.empty() ? 0 : x[x.size() / 2];
}

// Calls f until kSampleSeconds have passed; f returns the operations it did. GFLOP/s.
template <class F>
double rate(F f) {
    double flops = 0;
    const double begin = seconds();
    double now = begin;
    do {
        flops += f();
        now = seconds();
    } while (now - begin < kSampleSeconds);
    return flops / (now - begin) * 1e-9;
}

double peak() {
    const int threads = thread_count();
    return rate([&] {
        std::vector<double> flops(static_cast<size_t>(threads));
        parallel_for(0, threads, 1, [&](int64_t i, int64_t) {
            flops[static_cast<size_t>(i)] = kernels::cpu().fma_chains(20000);
        });
        double sum = 0;
        for (const double x : flops)
            sum += x;
        return sum;
    });
}

double product(const Shape& s, const std::vector<Real>& a, const std::vector<Real>& b, std::vector<Real>& c) {
    const kernels::Gemm gemm{.m = s.m,
                             .n = s.n,
                             .k = s.k,
                             .lda = s.a_transposed ? s.m : s.k,
                             .ldb = s.b_transposed ? s.k : s.n,
                             .ldc = s.n,
                             .a_transposed = s.a_transposed,
                             .b_transposed = s.b_transposed};
    kernels::cpu().gemm(gemm, a.data(), b.data(), c.data());  // not counted: it brings the operands near
    return rate([&] {
        kernels::cpu().gemm(gemm, a.data(), b.data(), c.data());
        return s.flops();
    });
}

void print(const Shape& s, double gflops, double share) {
    const char* layout = s.a_transposed ? "aT" : s.b_transposed ? "bT" : "";
    std::printf("%6lld x %4lld x %4lld %-2s", static_cast<long long>(s.m), static_cast<long long>(s.n),
                static_cast<long long>(s.k), layout);
    if (gflops == 0)
        std::printf("          -\n");
    else
        std::printf(" %10.1f %7.1f %% %11.1f us\n", gflops, 100 * share, s.flops() / gflops * 1e-3);
}

void bench() {
    std::vector<Real> a(6400 * 1024), b(6400 * 1024), c(6400 * 1024);
    for (size_t i = 0; i < a.size(); ++i) {
        a[i] = static_cast<Real>(i % 7) - 3;
        b[i] = static_cast<Real>(i % 11) - 5;
    }
    std::vector<double> peaks, rates[std::size(kShapes)];
    for (int round = 0; round < kRounds; ++round) {
        peaks.push_back(peak());
        for (size_t i = 0; i < std::size(kShapes); ++i)
            if (kShapes[i].flops() < kTooLong * 1e9 * peaks[0])
                rates[i].push_back(product(kShapes[i], a, b, c));
    }
    std::printf("\n%s, %d thread%s: fma peak %.1f GFLOP/s\n", kernels::cpu().name, thread_count(),
                thread_count() == 1 ? "" : "s", median(peaks));
    std::printf("     m      n      k       GFLOP/s   of peak          time\n");
    for (size_t i = 0; i < std::size(kShapes); ++i)
        print(kShapes[i], median(rates[i]), median(rates[i]) / median(peaks));
}

}  // namespace

int main() {
    const bool chosen = std::getenv("PLAINGRAD_ISA") != nullptr;
    const char* const only[] = {kernels::cpu().name, nullptr};
    const int all = thread_count();
    for (const char* const* name = chosen ? only : kernels::available(); *name != nullptr; ++name) {
        kernels::use(*name);
        for (const int threads : std::set<int>{1, all}) {
            set_thread_count(threads);
            bench();
        }
    }
}
