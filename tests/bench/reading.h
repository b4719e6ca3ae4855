// For decoding: what reading the weights alone would allow.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "autograd/base/kinds.h"
#include "autograd/base/parallel.h"
#include "autograd/tensor.h"
#include "tests/bench/measure.h"

namespace plaingrad::bench {

// As decoding keeps it, packed.
inline double bytes_of_weight(autograd::Precision precision) {
    return precision == autograd::Precision::bf16 ? 2 : sizeof(autograd::Real);
}

// Memory that is read again and again, on all threads: from the cache that it fits into.
class Reading {
public:
    explicit Reading(double bytes)
        : x_(autograd::Tensor::full({static_cast<int64_t>(bytes / sizeof(Real)) / kChunk * kChunk}, 1)),
          seen_(static_cast<std::size_t>(x_.numel() / kChunk)) {}

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

}  // namespace plaingrad::bench
