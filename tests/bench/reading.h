// For decoding: runs that are timed, and what reading the weights alone would allow.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "autograd/base/kinds.h"
#include "autograd/base/parallel.h"
#include "autograd/tensor.h"
#include "tests/bench/measure.h"

namespace plaingrad::bench {

constexpr int kRounds = 15;

// As decoding keeps it, packed.
inline double bytes_of_weight(autograd::Precision precision) {
    return precision == autograd::Precision::bf16 ? 2 : sizeof(autograd::Real);
}

// Milliseconds of a run, the median of some.
template <class Run>
double milliseconds(Run run) {
    run();
    std::vector<double> times;
    for (int i = 0; i < kRounds; ++i) {
        const double begin = seconds();
        run();
        times.push_back(1e3 * (seconds() - begin));
    }
    return median(times);
}

// Memory that is read again and again, on all threads: from the cache that it fits into.
class Reading {
public:
    explicit Reading(double bytes)
        : x_(autograd::Tensor::full({static_cast<int64_t>(bytes / sizeof(Real)) / kChunk * kChunk}, 1)),
          seen_(static_cast<std::size_t>(x_.numel() / kChunk)) {}
    double bytes() const { return static_cast<double>(x_.numel()) * sizeof(Real); }

    void read() const {
        autograd::parallel_for(0, x_.numel(), kChunk, [&](int64_t begin, int64_t end) {
            Wide all[4] = {};
            const auto* at = reinterpret_cast<const Wide*>(x_.data() + begin);
            for (const auto* last = reinterpret_cast<const Wide*>(x_.data() + end); at < last; at += 4) {
                for (int i = 0; i < 4; ++i)
                    __builtin_prefetch(at + kAhead + i);
                for (int i = 0; i < 4; ++i)
                    all[i] |= at[i];
            }
            const Wide any = all[0] | all[1] | all[2] | all[3];
            seen_[static_cast<std::size_t>(begin / kChunk)] = any[0] | any[7];
        });
    }

    // Of one pass, the fastest of some, as disturbances only make it slower.
    double seconds_of_best(int64_t passes) const {
        double best = 1e9;
        for (int64_t i = 0; i < passes; ++i) {
            const double begin = seconds();
            read();
            best = std::min(best, seconds() - begin);
        }
        return best;
    }

private:
    using Real = autograd::Real;
    using Wide [[gnu::vector_size(64)]] = uint64_t;
    static constexpr int64_t kChunk = 1 << 14, kAhead = 64;  // numbers; Wides
    autograd::Tensor x_;                                     // its memory is aligned to 64 bytes
    mutable std::vector<uint64_t> seen_;                     // or the compiler removes the reading
};

// Bytes per second; the best of some samples.
inline double read_speed(double bytes) {
    const Reading reading(bytes);
    double best = 0;
    for (int sample = 0; sample < 5; ++sample)
        best = std::max(best, rate([&] { return reading.read(), reading.bytes(); }, 0.02));
    return best;
}

// bytes: what a token reads, if reading is its limit; else 0.
inline void print_row(bool csv, const std::string& what, int64_t batch, double per_second, double bytes) {
    const double allowed = bytes > 0 ? read_speed(bytes) / bytes : 0;
    if (csv) {
        std::printf("%d,%s,%lld,%.0f,%.0f,%.2f\n", autograd::thread_count(), what.c_str(),
                    static_cast<long long>(batch), per_second, bytes, allowed);
    } else {
        std::printf("%d thread%s %s, batch %2lld: %8.0f tokens a second", autograd::thread_count(),
                    autograd::thread_count() == 1 ? ", " : "s,", what.c_str(), static_cast<long long>(batch),
                    per_second);
        if (bytes > 0)
            std::printf("; each reads %.1f MB, which alone at %.1f GB/s would allow %.0f", 1e-6 * bytes,
                        1e-9 * allowed * bytes, allowed);
        std::printf("\n");
    }
    std::fflush(stdout);
}

}  // namespace plaingrad::bench
