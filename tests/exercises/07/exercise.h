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
// answer
// The 1e-5 is inside the root: for a constant row, whose variance is 0, it keeps the division finite, and the
// root's derivative too.
// end
inline Tensor norm(const Tensor& x, const Tensor& gain, const Tensor& bias) {
    // skeleton: not_written(7, "norm", x, gain, bias);
    // answer
    const Tensor centred = x - mean(x, {-1}, true);               // (..., d)
    const Tensor variance = mean(centred * centred, {-1}, true);  // (..., 1)
    return gain * centred / sqrt(variance + Real(1e-5)) + bias;   // (..., d)
    // end
}

// max(0, x w1 + b1) w2 + b2      x (B, T, d_model) -> the same shape
// answer
// Without relu, the two matrices would be one.
// end
inline Tensor feed_forward(const Tensor& x, const Block& block) {
    // skeleton: not_written(7, "feed_forward", x, block);
    // answer
    const Tensor hidden = relu(matmul(x, block.w1) + block.b1);  // (B, T, d_ff)
    return matmul(hidden, block.w2) + block.b2;                  // (B, T, d_model)
    // end
}

// x (B, T, d_model) -> the same shape
// answer
// The second residual connection starts after the first norm.
// end
inline Tensor encoder_block(const Tensor& x, const Block& block) {
    // skeleton: not_written(7, "encoder_block", x, block);
    // answer
    const Tensor y = norm(x + self_attention(x, block), block.gain1, block.bias1);
    return norm(y + feed_forward(y, block), block.gain2, block.bias2);
    // end
}

}  // namespace plaingrad::exercises

// answer
// In the library: models/families/encoder.cpp, EncoderLayer::operator()
// In the library: models/families/encoder.h, Residual
// In the library: autograd/plain.cpp, layer_norm
// end
