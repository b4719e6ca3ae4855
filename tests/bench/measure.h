// A clock, a median, and the machine's peak speed.
#pragma once

#include <algorithm>
#include <chrono>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include "autograd/base/parallel.h"
#include "autograd/kernels/kernels.h"
#include "autograd/tensor.h"

namespace plaingrad::bench {

// Numbers in memory like a Tensor's: aligned to a cache line (otherwise every second vector would cross two),
// and on large pages if there are many.
class Numbers {
public:
    explicit Numbers(std::size_t n) : tensor_(autograd::Tensor::zeros({static_cast<int64_t>(n)})) {}
    autograd::Real* data() { return tensor_.mutable_data(); }
    const autograd::Real* data() const { return tensor_.data(); }
    std::size_t size() const { return static_cast<std::size_t>(tensor_.numel()); }
    autograd::Real& operator[](std::size_t i) { return data()[i]; }
    autograd::Real operator[](std::size_t i) const { return data()[i]; }

private:
    autograd::Tensor tensor_;
};

inline double seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

inline double median(std::vector<double> x) {
    std::sort(x.begin(), x.end());
    return x.empty() ? 0 : x[x.size() / 2];
}

// Calls f until `least` seconds have passed; f returns how many operations it did. Returns operations per
// second.
template <class F>
double rate(F f, double least = 0.02) {
    double done = 0;
    const double begin = seconds();
    double now = begin;
    do {
        done += f();
        now = seconds();
    } while (now - begin < least);
    return done / (now - begin);
}

// GFLOP/s of nothing but fma, or but products of bfloat16, on all threads in use. Clock rates change with
// time and load, so this is measured beside each measurement, not taken from a data sheet. Disturbances
// only make it smaller, so the best of some samples counts.
inline double fma_peak(autograd::Precision precision = autograd::Precision::float32) {
    constexpr int kSamples = 5;
    const int threads = autograd::thread_count();
    const autograd::kernels::Products& products = autograd::kernels::cpu().products(precision);
    std::vector<double> flops(static_cast<std::size_t>(threads));
    double best = 0;
    const auto chains = [&] {
        autograd::parallel_for(0, threads, 1, [&](int64_t i, int64_t) {
            flops[static_cast<std::size_t>(i)] = products.fma_chains(20000);
        });
        return std::accumulate(flops.begin(), flops.end(), 0.0);
    };
    for (int sample = 0; sample < kSamples; ++sample)
        best = std::max(best, rate(chains, 0.005));
    return 1e-9 * best;
}

// The most memory this process has had so far, in MiB (Linux's VmHWM); 0 where the system does not tell.
inline double peak_memory() {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;)
        if (word == "VmHWM:") {
            double kib = 0;
            status >> kib;
            return kib / 1024;
        }
    return 0;
}

}  // namespace plaingrad::bench
