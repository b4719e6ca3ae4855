// The vectors of all tokens of a text as one vector.
#pragma once

#include "nn/module.h"

namespace plaingrad::nn {

// x (B, T, d_model) -> (B, d_model): the mean over the first lengths[b] positions of each text. Later
// positions are ignored but must be finite. Throws Error unless there is a length from 1 to T for each text.
Tensor mean_of_tokens(const Tensor& x, const std::vector<int32_t>& lengths);

// x (B, T, d_model) -> (B, d_model): the vector of the first position.
Tensor first_token(const Tensor& x);

}  // namespace plaingrad::nn
