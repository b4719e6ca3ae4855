// What exercise 11 has: a layer, and its output for a whole text at once.
#pragma once

#include "tests/exercises/given.h"

namespace plaingrad::exercises {

struct Layer {
    Tensor w_q, w_k, w_v;  // (D, D)
    Tensor positions;      // (max_length, D), row p is added to the token at position p

    // x (B, T, D), the tokens at positions first ... first + T - 1 -> the same shape
    Tensor add_positions(const Tensor& x, int64_t first) const {
        return x + slice(positions, 0, first, first + x.size(1));
    }
    // Three projections, each (B, T, D) -> (B, T, D). They count the tokens that they were given.
    Tensor query(const Tensor& x) const { return count(queries, x), matmul(x, w_q); }
    Tensor key(const Tensor& x) const { return count(keys, x), matmul(x, w_k); }
    Tensor value(const Tensor& x) const { return count(values, x), matmul(x, w_v); }

    mutable int64_t queries = 0, keys = 0, values = 0;
    static void count(int64_t& tokens, const Tensor& x) { tokens += x.size(1); }
};

// All of a text x (B, T, D) at once -> (B, T, D)
inline Tensor attend_whole(const Layer& layer, const Tensor& x) {
    const Tensor y = layer.add_positions(x, 0);
    return autograd::attention(layer.query(y), layer.key(y), layer.value(y), {.mask = Mask::causal()});
}

}  // namespace plaingrad::exercises
