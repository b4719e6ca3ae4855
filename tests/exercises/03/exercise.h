// Exercise 3: break and mend a mask (20 minutes)
//
// The idea: a decoder learns to predict token t + 1 from positions 0 to t, for all t at once. If a
// position can see later tokens, it simply copies the answer: the training loss looks wonderful, and the
// model can write nothing. Looking at outputs does not reveal this. A test does: an output must not
// change when a token changes that it may not see.
//
// Given: allowed and masked_weights, with three classic mistakes in them.
// Write: sees_the_future, a test for any attention. Then mend the three mistakes.
// Read before: nn/README.md ("7. Masks"); autograd/tokens.h
#pragma once

#include <algorithm>
#include <functional>
#include <limits>

#include "autograd/base/random.h"
#include "tests/exercises/given.h"

namespace plaingrad::exercises {

// Self-attention of one sentence: q, k, v (T, D) -> (T, D). Row t is position t.
using Attention = std::function<Tensor(const Tensor& q, const Tensor& k, const Tensor& v)>;

// Break it: whether some position's output depends on q, k or v of a later position. Try it on sentences of T
// tokens with D numbers each, e.g. Tensor::randn({T, D}, autograd::Rng(1)) of "autograd/base/random.h".
// answer
// Changes all tokens from position `later` on, and looks whether a position before them noticed. Every
// `later` is tried, because a mask that is off by one leaks only from t + 1 to t. q, k and v all change,
// because any of them may leak.
// end
inline bool sees_the_future(const Attention& attention, int64_t T, int64_t D) {
    // skeleton: not_written(3, "sees_the_future", attention, T, D);
    // answer
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
    // end
}

// Mend it: 1 where query t may see key s, else 0 -> (T, T). The first `length` of the T tokens are real, the
// others are padding. A mask hides keys: padding, and the future. It never hides queries.
// answer
// The first mistake was `s < t`, which hides a position from itself: it could not know its own token. The
// second was `t < length`, which hides queries, while everyone still sees padding as keys.
// end
inline Tensor allowed(int64_t T, int64_t length) {
    Tensor pairs = Tensor::zeros({T, T});
    for (int64_t t = 0; t < T; ++t)
        for (int64_t s = 0; s < T; ++s)
            // skeleton: pairs.mutable_data()[t * T + s] = s < t && t < length;
            // answer
            pairs.mutable_data()[t * T + s] = s <= t && s < length;
    // end
    return pairs;
}

// Mend it: the attention weights, in each row softmax over the keys that the query may see.
// scores, allowed (T, T) -> (T, T)
// answer
// The third mistake was to mask after softmax. By then the hidden keys are in the sum: the weights of a
// row add up to less than 1, and how much less tells about the future. Before softmax the lowest number
// hides a key, as its exp is 0.
// end
inline Tensor masked_weights(const Tensor& scores, const Tensor& allowed) {
    // skeleton: return softmax(scores) * allowed;
    // answer
    return softmax(where(allowed, scores, std::numeric_limits<Real>::lowest()));
    // end
}

}  // namespace plaingrad::exercises

// answer
// In the library: autograd/tokens.h, and_causal
// In the library: autograd/plain.cpp, allowed_pairs
//
// The fused kernel does not even compute hidden scores: its loops end at the last visible key
// (autograd/kernels/attention.cpp).
// end
