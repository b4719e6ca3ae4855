#include "autograd/base/random.h"

#include <cmath>
#include <numbers>
#include <numeric>

#include "autograd/base/check.h"
#include "autograd/base/portable_math.h"

namespace plaingrad::autograd {
namespace {

// The finalizer of SplitMix64 (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators",
// 2014): a bijection in which every input bit changes every output bit with probability close to 1/2.
uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

constexpr uint64_t kGolden = 0x9e3779b97f4a7c15u;  // 2^64 / golden ratio: spreads consecutive counters

}  // namespace

Rng::Rng(uint64_t seed) : key_(mix(seed + kGolden)) {}

Rng Rng::from_state(uint64_t state) {
    Rng rng;
    rng.key_ = state;
    return rng;
}

// Two forks collide with the same probability as two random 64-bit numbers.
Rng Rng::fork(std::string_view name) const {
    return from_state(mix(mix(key_ ^ Hash().add(name).value) + kGolden));
}
Rng Rng::fork(uint64_t number) const { return from_state(mix(mix(key_ + kGolden * (number + 1)) ^ kGolden)); }

// Two rounds with the key in both: with one, the streams of two keys would be the same sequence shifted.
uint64_t Rng::bits(uint64_t i) const { return mix(mix(key_ + kGolden * i) ^ key_); }

double Rng::uniform(uint64_t i) const { return static_cast<double>(bits(i) >> 11) * 0x1p-53; }

double Rng::normal(uint64_t i) const {
    const double u = 1.0 - uniform(2 * i), angle = 2.0 * std::numbers::pi * uniform(2 * i + 1);
    return std::sqrt(-2.0 * portable::log(u)) * portable::cos(angle);
}

int64_t Rng::below(uint64_t i, int64_t n) const {
    check(n >= 1, "[Rng::below] n must be at least 1: got ", n);
    __extension__ using Wide = unsigned __int128;
    return static_cast<int64_t>(static_cast<Wide>(bits(i)) * static_cast<uint64_t>(n) >> 64);
}

std::vector<int64_t> Rng::permutation(int64_t n) const {
    check(n >= 0, "[permutation] of a negative number of elements: ", n);
    std::vector<int64_t> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), int64_t(0));
    for (int64_t i = n - 1; i > 0; --i)
        std::swap(order[static_cast<std::size_t>(i)],
                  order[static_cast<std::size_t>(below(static_cast<uint64_t>(i), i + 1))]);
    return order;
}

kernels::RandomKey Rng::key() const {
    const uint64_t k = mix(key_ + kGolden);
    return {static_cast<uint32_t>(k), static_cast<uint32_t>(k >> 32)};
}

}  // namespace plaingrad::autograd
