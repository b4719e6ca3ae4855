// Numbers drawn one after the other, for cases that are made at random and can be made again.
#pragma once

#include <cstdint>
#include <vector>

#include "autograd/random.h"

namespace plaingrad::trust {

class Draw {
public:
    explicit Draw(const autograd::Rng& rng) : rng_(rng) {}
    int64_t below(int64_t n) { return rng_.below(next_++, n); }
    bool one_in(int64_t n) { return below(n) == 0; }
    double uniform(double low, double high) { return low + (high - low) * rng_.uniform(next_++); }
    template <class T>
    T one_of(const std::vector<T>& all) {
        return all[static_cast<std::size_t>(below(static_cast<int64_t>(all.size())))];
    }

private:
    autograd::Rng rng_;
    uint64_t next_ = 0;
};

}  // namespace plaingrad::trust
