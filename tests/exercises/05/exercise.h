// Exercise 5: multi-head attention (45 minutes)
//
// The idea: one softmax gives each position one weighted mean of the others. Several heads, each with
// D = d_model / H columns of its own, attend to several things at once, and cost no more than one wide head.
//     MultiHead(x) = Concat(head_1, ..., head_H) W_O      "Attention Is All You Need", §3.2.2
//
// Given: one matrix for all projections, W_Q | W_K | W_V side by side. Head h is columns h*D to h*D + D
// of each.
// Write: multi_head, from slice, reshape, permute, matmul and softmax. There is no mask.
// Read before: nn/README.md ("6. Why several heads"); exercise 4
#pragma once

#include <cmath>

#include "tests/exercises/given.h"

namespace plaingrad::exercises {

// answer
// A row of x has its heads side by side, so (T, H*D) is also (T, H, D). But each head attends over all
// positions, so H must come before T, which takes a permutation. (Reshaping to (H, T, D) gives the right
// shape, but mixes positions with heads. Such a model still trains, only worse.)
inline Tensor split_heads(const Tensor& x, int64_t n_heads) {
    const Tensor heads = reshape(x, {x.size(0), x.size(1), n_heads, -1});  // (B, T, H, D)
    return permute(heads, {0, 2, 1, 3});                                   // (B, H, T, D)
}
// end

// x (B, T, d_model), w_qkv (d_model, 3*d_model), w_out (d_model, d_model) -> (B, T, d_model)
inline Tensor multi_head(const Tensor& x, const Tensor& w_qkv, const Tensor& w_out, int64_t n_heads) {
    // Products of more than two dims are one product for each (B, H): bring the heads into dim 1.
    // skeleton: not_written(5, "multi_head", x, w_qkv, w_out, n_heads);
    // answer
    const int64_t d = x.size(2);
    const Tensor qkv = matmul(x, w_qkv);                                 // (B, T, 3*d_model)
    const Tensor q = split_heads(slice(qkv, 2, 0, d), n_heads);          // (B, H, T, D)
    const Tensor k = split_heads(slice(qkv, 2, d, 2 * d), n_heads);      // (B, H, T, D)
    const Tensor v = split_heads(slice(qkv, 2, 2 * d, 3 * d), n_heads);  // (B, H, T, D)
    const Real root = std::sqrt(static_cast<Real>(d / n_heads));         // of D, not of d_model
    const Tensor weights = softmax(matmul(q, k, true) / root);           // (B, H, T, T)
    const Tensor heads = permute(matmul(weights, v), {0, 2, 1, 3});      // (B, T, H, D)
    return matmul(reshape(heads, {x.size(0), x.size(1), d}), w_out);     // (B, T, d_model)
    // end
}

}  // namespace plaingrad::exercises

// answer
// In the library: nn/attention.cpp, in_proj
// In the library: autograd/plain.cpp, split_heads
//
// The fused op reads each head's columns in place, so it needs no permutation.
// end
