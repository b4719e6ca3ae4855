// The random numbers of dropout, on 16 lanes.
//
// They are counter-based: number i of a stream is a hash of the stream's key and of i, so any thread
// can compute any of them, in any order, forwards and again in backward.
#pragma once

#include "autograd/kernels/kernels.h"
#include "autograd/kernels/simd.h"

namespace plaingrad::autograd::kernels {
namespace {

// 32 random bits for each x, a number or 16 lanes of them. Multiplying carries a changed bit to all higher
// ones, xor with a shift brings it back down; after two rounds each bit of x flips each bit of the result
// half of the time.
//
// Shifts and multipliers: Chris Wellons' lowbias32 (public domain), found by search. Flipping one bit
// of the counter flips each bit of the result with probability 1/2, to 0.0012 (2^21 random counters).
template <class T>
T mix(T x, T key, T multiplier1, T multiplier2) {
    x = ((x ^ (x >> 16)) * multiplier1) ^ key;
    x = (x ^ (x >> 15)) * multiplier2;
    return x ^ (x >> 16);
}
constexpr uint32_t kMultiplier1 = 0x7feb352d, kMultiplier2 = 0x846ca68b;
inline uint32_t mix(uint32_t x) { return mix(x, 0u, kMultiplier1, kMultiplier2); }

inline Int hash(RandomKey key, Int counter) {
    return mix(counter ^ int_broadcast(key.a), int_broadcast(key.b), int_broadcast(kMultiplier1),
               int_broadcast(kMultiplier2));
}

// The counter has 32 bits; elements from 2^32 on belong to later blocks, each with a key of its own. The
// first block gets a new key too, in which each bit depends on all bits of the old one: `hash` mixes key.b
// only weakly, and the masks of two keys that differ in a bit or two would resemble each other.
inline RandomKey key_of_block(RandomKey key, uint32_t block) {
    const uint32_t b = mix(key.b ^ mix(key.a ^ (block + 0x9e3779b9u)));
    return {mix(key.a ^ b), b};
}

// For the elements first ... first + 15 of a block, by its key: 0 if dropped, 1/(1-p) if kept. 0 <= p <= 1.
// Compares the first 24 bits of the hash with p * 2^24, rounded, as integers.
inline Vec keep_scale_in_block(RandomKey key, uint32_t first, Real p) {
    const double scaled = static_cast<double>(p) * 16777216.0;
    const auto threshold = static_cast<int32_t>(scaled + 0.5);  // NOLINT(bugprone-incorrect-roundings): >= 0
    const Int hashes = hash(key, int_broadcast(first) + lane_numbers());
    return select(less(hashes >> 8, int_broadcast(static_cast<uint32_t>(threshold))), zero(),
                  broadcast(Real(1) / (Real(1) - p)));
}

// The same for any sixteen elements.
inline Vec keep_scale(RandomKey key, int64_t first_element, Real p) {
    const auto block = static_cast<uint32_t>(first_element >> 32);
    const auto first = static_cast<uint32_t>(first_element);
    const Vec here = keep_scale_in_block(key_of_block(key, block), first, p);
    if (first <= UINT32_MAX - (kLanes - 1))
        return here;
    // The last lanes are in the next block: those from 2^32 on.
    const Vec next = keep_scale_in_block(key_of_block(key, block + 1), first, p);
    return select(first_of((int64_t(1) << 32) - first), here, next);
}

// Dropout with one key and rate. The key of the first block, which is nearly always the only one, is computed
// once.
class DropOut {
public:
    DropOut(RandomKey key = {}, Real p = 0) : key_(key), first_block_(key_of_block(key, 0)), p_(p) {}

    // x being elements first_element ... + 15: 0 where dropped, even of inf and NaN.
    Vec operator()(Vec x, int64_t first_element) const {
        if (p_ == 0)
            return x;
        const Vec scale = first_element <= int64_t(UINT32_MAX) - (kLanes - 1)
                              ? keep_scale_in_block(first_block_, static_cast<uint32_t>(first_element), p_)
                              : keep_scale(key_, first_element, p_);
        return select(equal(scale, zero()), zero(), x * scale);
    }

private:
    RandomKey key_, first_block_;
    Real p_;
};

}  // namespace
}  // namespace plaingrad::autograd::kernels
