// What exercise 7 has: the weights of a block, and its attention.
#pragma once

#include "tests/exercises/given.h"

namespace plaingrad::exercises {

struct Block {
    int64_t n_heads;
    Tensor w_qkv, w_out;    // (d_model, 3*d_model), (d_model, d_model)
    Tensor gain1, bias1;    // of the norm after attention: (d_model)
    Tensor w1, b1, w2, b2;  // (d_model, d_ff), (d_ff), (d_ff, d_model), (d_model)
    Tensor gain2, bias2;    // of the norm after the feed-forward network: (d_model)
};

// x (B, T, d_model) -> the same shape
inline Tensor self_attention(const Tensor& x, const Block& block) {
    const Tensor heads = autograd::self_attention(matmul(x, block.w_qkv), {.n_heads = block.n_heads});
    return matmul(heads, block.w_out);
}

}  // namespace plaingrad::exercises
