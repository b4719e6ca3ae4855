// Random choices, each a function of a seed and of how many were made before it: a case that is made of them
// can be made again.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <iterator>

#include "autograd/base/random.h"

namespace plaingrad::tests {

class Dice {
public:
    explicit Dice(const autograd::Rng& rng) : rng_(rng) {}
    int64_t below(int64_t n) { return rng_.below(drawn_++, n); }
    // The same, as the standard library counts.
    std::size_t index(std::size_t n) { return static_cast<std::size_t>(below(static_cast<int64_t>(n))); }
    bool chance(double p) { return rng_.uniform(drawn_++) < p; }
    bool one_in(int64_t n) { return below(n) == 0; }
    double uniform(double low, double high) { return low + (high - low) * rng_.uniform(drawn_++); }
    template <class T>
    T one_of(std::initializer_list<T> list) {
        return list.begin()[below(static_cast<int64_t>(list.size()))];
    }
    template <class List>
    auto& one_of(List& list) {
        return list[index(std::size(list))];
    }
    // A generator of its own, which no later choice shares.
    autograd::Rng fork() { return rng_.fork("fork").fork(drawn_++); }

private:
    autograd::Rng rng_;
    uint64_t drawn_ = 0;
};

}  // namespace plaingrad::tests
