// The random numbers of dropout, on 16 lanes.
//
// They are counter-based: number i of a stream is a hash of the stream's key and of i, so any thread
// can compute any of them, in any order, forwards and again in backward.
#pragma once

#include "autograd/kernels/kernels.h"
#include "autograd/kernels/simd.h"

namespace autograd::kernels {
namespace {

// 32 random bits for each counter. Multiplying carries a changed bit to all higher ones, xor with a
// shift brings it back down; after two rounds each bit of the counter flips each bit of the result
// half of the time. In scalars:
//
//   x = counter ^ key.a;
//   x = (x ^ x >> 16) * kMultiplier1 ^ key.b;
//   x = (x ^ x >> 15) * kMultiplier2;
//   return x ^ x >> 16;
//
// Shifts and multipliers: Chris Wellons' lowbias32 (public domain), found by search. Flipping one bit
// of the counter flips each bit of the result with probability 1/2, to 0.0012 (2^21 random counters).
constexpr int32_t kMultiplier1 = 0x7feb352d;
constexpr int32_t kMultiplier2 = static_cast<int32_t>(0x846ca68bu);

inline Int hash(RandomKey key, Int counter) {
    Int x = counter ^ int_broadcast(static_cast<int32_t>(key.a));
    x = (x ^ shift_right<16>(x)) * int_broadcast(kMultiplier1);
    x = x ^ int_broadcast(static_cast<int32_t>(key.b));
    x = (x ^ shift_right<15>(x)) * int_broadcast(kMultiplier2);
    return x ^ shift_right<16>(x);
}

// The counter has 32 bits; elements from 2^32 on belong to later blocks, each with a key of its own.
// Also the first gets a new one, in which each bit depends on all bits of the old: `hash` does little
// with key.b, and the masks of two keys that differ in a bit or two would resemble each other.
inline RandomKey key_of_block(RandomKey key, uint32_t block) {
    const auto mix = [](uint32_t x) {
        x = (x ^ x >> 16) * static_cast<uint32_t>(kMultiplier1);
        x = (x ^ x >> 15) * static_cast<uint32_t>(kMultiplier2);
        return x ^ x >> 16;
    };
    const uint32_t b = mix(key.b ^ mix(key.a ^ (block + 0x9e3779b9u)));
    return {mix(key.a ^ b), b};
}

// Whether to drop: the first 24 bits of the hash against p * 2^24, rounded, as integers.
inline Mask dropped(RandomKey key, Int counter, Real p) {
    const auto threshold = static_cast<int32_t>(static_cast<double>(p) * 16777216.0 + 0.5);
    return less(shift_right<8>(hash(key, counter)), int_broadcast(threshold));
}

// For the elements first_element ... first_element + 15: 0 if dropped, 1/(1-p) if kept. 0 <= p <= 1.
inline Vec keep_scale(RandomKey key, int64_t first_element, Real p) {
    static constexpr int32_t lane_numbers[kLanes] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const auto block = static_cast<uint32_t>(static_cast<uint64_t>(first_element) >> 32);
    const auto first_counter = static_cast<int32_t>(first_element & 0xffffffff);
    const Int counter = int_broadcast(first_counter) + int_load(lane_numbers);
    const Vec scale = broadcast(Real(1) / (Real(1) - p));

    const Vec here = select(dropped(key_of_block(key, block), counter, p), zero(), scale);
    if (first_counter >= 0 || first_counter + (kLanes - 1) < 0)
        return here;
    // The last lanes are in the next block: those whose counter went from 2^32 - 1 (-1 as int) to 0.
    const Vec next = select(dropped(key_of_block(key, block + 1), counter, p), zero(), scale);
    return select(less(int_broadcast(-1), counter), next, here);
}

// x after dropout, x being elements first_element ... + 15: 0 where dropped, even of inf and NaN.
inline Vec dropped_out(Vec x, RandomKey key, int64_t first_element, Real p) {
    if (p == 0)
        return x;
    const Vec scale = keep_scale(key, first_element, p);
    return select(equal(scale, zero()), zero(), x * scale);
}

}  // namespace
}  // namespace autograd::kernels
