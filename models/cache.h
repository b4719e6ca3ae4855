// What is kept between two steps of decoding, so that each token is computed once.
#pragma once

#include <vector>

#include "models/config.h"
#include "nn/attention.h"

namespace plaingrad::models {

// Keys | values of the positions decoded so far, of one layer: (B, capacity, 2*d_model), of which `length`
// positions are filled. The capacity doubles when it is full.
struct SelfCache {
    Tensor filled;
    int64_t length = 0;

    void append(const Tensor& next);                // (B, T, 2*d_model)
    void select(const std::vector<int32_t>& rows);  // sentence i becomes the old sentence rows[i]
};

// Causal self-attention of the positions that follow the cached ones, which join the cache:
// x (B, T, d_model) -> (B, T, d_model), to the bit what attention over all positions gives at these.
Tensor attend_causally(const nn::MultiHeadAttention& attention, const Tensor& x, SelfCache& cache);

// Rows `rows` of x (B, ...), as a new tensor.
Tensor select_rows(const Tensor& x, const std::vector<int32_t>& rows);

}  // namespace plaingrad::models
