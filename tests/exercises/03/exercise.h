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

#include <functional>

#include "tests/exercises/given.h"

namespace plaingrad::exercises {

// Self-attention of one sentence: q, k, v (T, D) -> (T, D). Row t is position t.
using Attention = std::function<Tensor(const Tensor& q, const Tensor& k, const Tensor& v)>;

// Break it: whether some position's output depends on q, k or v of a later position. Try it on sentences of T
// tokens with D numbers each, e.g. Tensor::randn({T, D}, autograd::Rng(1)) of "autograd/base/random.h".
inline bool sees_the_future(const Attention& attention, int64_t T, int64_t D) {
    not_written(3, "sees_the_future", attention, T, D);
}

// Mend it: 1 where query t may see key s, else 0 -> (T, T). The first `length` of the T tokens are real, the
// others are padding. A mask hides keys: padding, and the future. It never hides queries.
inline Tensor allowed(int64_t T, int64_t length) {
    Tensor pairs = Tensor::zeros({T, T});
    for (int64_t t = 0; t < T; ++t)
        for (int64_t s = 0; s < T; ++s)
            pairs.mutable_data()[t * T + s] = s < t && t < length;
    return pairs;
}

// Mend it: the attention weights, in each row softmax over the keys that the query may see.
// scores, allowed (T, T) -> (T, T)
inline Tensor masked_weights(const Tensor& scores, const Tensor& allowed) {
    return softmax(scores) * allowed;
}

}  // namespace plaingrad::exercises
