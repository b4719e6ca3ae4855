// Exercise 7: an encoder block (45 minutes)
//
// The idea: attention mixes the positions; then the feed-forward network works on each position alone.
// Each of the two has a residual connection around it, so its input also passes unchanged, and a norm
// after the sum, which keeps the numbers from growing with the number of layers.
//     y = LayerNorm(x + SelfAttention(x)),  out = LayerNorm(y + FFN(y))      the paper, §3.1
//
// Given (07/given.h): the weights of a block, and self_attention (exercise 5).
// Write: norm (layer norm, Ba, Kiros & Hinton 2016, equation 4), feed_forward (equation 2), and
// encoder_block.
// Read before: nn/training.md ("2. Residual connections and layer norm", "4. The feed-forward network");
// exercise 5
#pragma once

#include "tests/exercises/07/given.h"

namespace plaingrad::exercises {

// Layer norm: (x - mean) / √(variance + eps) * gain + bias, mean and variance of each row of d numbers,
// eps = 1e-5. The variance is divided by d. x (..., d), gain and bias (d) -> (..., d)
inline Tensor norm(const Tensor& x, const Tensor& gain, const Tensor& bias) {
    not_written(7, "norm", x, gain, bias);
}

// max(0, x w1 + b1) w2 + b2      x (B, T, d_model) -> the same shape
inline Tensor feed_forward(const Tensor& x, const Block& block) { not_written(7, "feed_forward", x, block); }

// x (B, T, d_model) -> the same shape
inline Tensor encoder_block(const Tensor& x, const Block& block) {
    not_written(7, "encoder_block", x, block);
}

}  // namespace plaingrad::exercises
