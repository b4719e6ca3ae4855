// Exercise 4: attention in ten lines (30 minutes)
//
// The idea: a query is compared with every key by a dot product. Softmax turns these scores into weights
// that sum to 1. The output is the mean of the values with these weights: a look-up in a table, but a
// soft one, which can be differentiated.
//     Attention(Q, K, V) = softmax(Q Kᵀ / √D) V      "Attention Is All You Need", equation 1
//
// Given: the operations of autograd/ops.h (attention itself does not count): matmul, softmax, where, ...
// Write: attention, with a mask. Built from operations, it is differentiable without further work.
// Read before: nn/README.md ("2. Three tokens by hand", "7. Masks"); autograd/ops.h
#pragma once

#include <cmath>
#include <limits>

#include "tests/exercises/given.h"

namespace plaingrad::exercises {

// q (B, T, D), k (B, S, D), v (B, S, E), allowed (T, S): 1 where query t may see key s, else 0 -> (B, T, E)
// A query that may see no key gives zeros.
inline Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& allowed) {
    // skeleton: not_written(4, "attention", q, k, v, allowed);
    // answer
    // A dot product of D numbers of variance 1 has variance D. Divided by √D it has variance 1 for any D,
    // and softmax does not saturate.
    const Tensor scores = matmul(q, k, true) / std::sqrt(static_cast<Real>(q.size(2)));  // (B, T, S)
    const Tensor masked = where(allowed, scores, std::numeric_limits<Real>::lowest());   // (B, T, S)
    // If all keys are hidden, all scores are equal and so are the weights. The second `where` makes them 0.
    const Tensor weights = where(allowed, softmax(masked), 0);  // (B, T, S)
    return matmul(weights, v);                                  // (B, T, E)
    // end
}

}  // namespace plaingrad::exercises

// answer
// In the library: autograd/plain.cpp, attention
// In the library: autograd/kernels/attention.cpp, attention_backward
//
// The kernel is the fused form: it never holds all scores in memory at once.
// end
