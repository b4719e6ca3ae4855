// Solution 3: break and mend a mask
#pragma once

#include <algorithm>
#include <functional>
#include <limits>

#include "autograd/base/random.h"
#include "tests/exercises/given.h"

namespace plaingrad::exercises {

using Attention = std::function<Tensor(const Tensor& q, const Tensor& k, const Tensor& v)>;

// Changes all tokens from position `later` on, and looks whether a position before them noticed. Every
// `later` is tried, because a mask that is off by one leaks only from t + 1 to t. q, k and v all change,
// because any of them may leak.
inline bool sees_the_future(const Attention& attention, int64_t T, int64_t D) {
    const auto sentence = [&](uint64_t seed) { return Tensor::randn({T, D}, autograd::Rng(seed)); };
    const Tensor q = sentence(1), k = sentence(2), v = sentence(3);
    const Tensor before = attention(q, k, v);
    for (int64_t later = 1; later < T; ++later) {
        const auto changed = [&](const Tensor& x, uint64_t seed) {
            return concat({slice(x, 0, 0, later), slice(sentence(seed), 0, later, T)}, 0);  // (T, D)
        };
        const Tensor after = attention(changed(q, 4), changed(k, 5), changed(v, 6));
        if (!std::equal(before.data(), before.data() + later * D, after.data()))
            return true;
    }
    return false;
}

// The first mistake was `s < t`, which hides a position from itself: it could not know its own token. The
// second was `t < length`, which hides queries, while everyone still sees padding as keys.
inline Tensor allowed(int64_t T, int64_t length) {
    Tensor pairs = Tensor::zeros({T, T});
    for (int64_t t = 0; t < T; ++t)
        for (int64_t s = 0; s < T; ++s)
            pairs.mutable_data()[t * T + s] = s <= t && s < length;
    return pairs;
}

// The third mistake was to mask after softmax. By then the hidden keys are in the sum: the weights of a
// row add up to less than 1, and how much less tells about the future. Before softmax the lowest number
// hides a key, as its exp is 0.
inline Tensor masked_weights(const Tensor& scores, const Tensor& allowed) {
    return softmax(where(allowed, scores, std::numeric_limits<Real>::lowest()));
}

}  // namespace plaingrad::exercises

// In the library: autograd/tokens.h, and_causal
// In the library: autograd/plain.cpp, allowed_pairs
//
// The fused kernel does not even compute hidden scores: its loops end at the last visible key
// (autograd/kernels/attention.cpp).
