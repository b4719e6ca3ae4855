// Solution 7: an encoder block
#pragma once

#include "tests/exercises/07/given.h"

namespace plaingrad::exercises {

// x (..., d), gain and bias (d) -> (..., d). The 1e-5 is inside the root: for a constant row, whose
// variance is 0, it keeps the division finite, and the root's derivative too.
inline Tensor norm(const Tensor& x, const Tensor& gain, const Tensor& bias) {
    const Tensor centred = x - mean(x, {-1}, true);               // (..., d)
    const Tensor variance = mean(centred * centred, {-1}, true);  // (..., 1)
    return gain * centred / sqrt(variance + Real(1e-5)) + bias;   // (..., d)
}

// Without relu, the two matrices would be one.
inline Tensor feed_forward(const Tensor& x, const Block& block) {
    const Tensor hidden = relu(matmul(x, block.w1) + block.b1);  // (B, T, d_ff)
    return matmul(hidden, block.w2) + block.b2;                  // (B, T, d_model)
}

// x (B, T, d_model) -> the same shape. The second residual connection starts after the first norm.
inline Tensor encoder_block(const Tensor& x, const Block& block) {
    const Tensor y = norm(x + self_attention(x, block), block.gain1, block.bias1);
    return norm(y + feed_forward(y, block), block.gain2, block.bias2);
}

}  // namespace plaingrad::exercises

// In the library: models/families/encoder.cpp, EncoderLayer::operator()
// In the library: models/families/encoder.h, Residual
// In the library: autograd/plain.cpp, layer_norm
