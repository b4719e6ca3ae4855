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

#include "tests/exercises/given.h"

namespace plaingrad::exercises {

// x (B, T, d_model), w_qkv (d_model, 3*d_model), w_out (d_model, d_model) -> (B, T, d_model)
inline Tensor multi_head(const Tensor& x, const Tensor& w_qkv, const Tensor& w_out, int64_t n_heads) {
    // Products of more than two dims are one product for each (B, H): bring the heads into dim 1.
    not_written(5, "multi_head", x, w_qkv, w_out, n_heads);
}

}  // namespace plaingrad::exercises
