// Randomness as a function: number i of a stream, the same on every platform and for any thread count.
//
// An Rng has no state that advances. It is a key; `fork` derives the key of a sub-stream from a name or a
// number, and bits(i), uniform(i), normal(i) are functions of the key and i. So the initial weights of a
// layer depend on the seed and the layer's name, not on which layers were made before it, and a dropout mask
// can be computed again in backward instead of being kept.
//
//     Rng rng(42);
//     Rng weights = rng.fork("encoder").fork(0).fork("weight");
//     Real x = weights.normal(7);
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "autograd/base/kinds.h"
#include "autograd/base/real.h"

namespace plaingrad::autograd {

// FNV-1a (Fowler, Noll and Vo): one number that depends on every byte of a text, for names, and for data that
// must be the same as before. Two texts can be made that have the same number: it is no signature.
struct Hash {
    uint64_t value = 0xcbf29ce484222325u;

    Hash& add(uint64_t number) { return value = (value ^ number) * 0x100000001b3u, *this; }
    Hash& add(std::string_view text) {
        for (const char c : text)
            add(static_cast<unsigned char>(c));
        return *this;
    }
};

class Rng {
public:
    explicit Rng(uint64_t seed);

    Rng fork(std::string_view name) const;
    Rng fork(uint64_t number) const;

    uint64_t bits(uint64_t i) const;   // 64 random bits
    double uniform(uint64_t i) const;  // in [0, 1), 53 bits
    double normal(uint64_t i) const;   // mean 0, deviation 1 (Box and Muller, of uniform 2i and 2i+1)
    int64_t below(uint64_t i, int64_t n) const;  // in [0, n), unbiased to 2^-64 n. Requires n >= 1.

    // 0 .. n-1 in random order (Fisher and Yates). Throws Error for a negative n.
    std::vector<int64_t> permutation(int64_t n) const;

    kernels::RandomKey key() const;  // for kernels: autograd/kernels/random.h
    uint64_t state() const { return key_; }
    static Rng from_state(uint64_t state);

private:
    Rng() = default;
    uint64_t key_ = 0;
};

}  // namespace plaingrad::autograd
