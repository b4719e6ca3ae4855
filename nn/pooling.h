// The vectors of all tokens of a text as one vector.
#pragma once

#include "nn/module.h"

namespace plaingrad::nn {

// x (B, T, d_model) -> (B, d_model): the mean over the first lengths[b] positions of each text. Later
// positions are ignored but must be finite. Throws Error unless there is a length from 1 to T for each text.
inline Tensor mean_of_tokens(const Tensor& x, const std::vector<int32_t>& lengths) {
    check(x.rank() == 3 && std::ssize(lengths) == x.size(0), "[mean_of_tokens] a length for each text: got ",
          lengths.size(), " for x ", x.shape());
    const int64_t batch = x.size(0), length = x.size(1);
    std::vector<Real> shares;  // (B, T)
    for (const int32_t n : lengths) {
        check(n >= 1 && n <= length, "[mean_of_tokens] a length must be from 1 to ", length, ": got ", n);
        for (int64_t t = 0; t < length; ++t)
            shares.push_back(t < n ? Real(1) / static_cast<Real>(n) : Real(0));
    }
    // As a product, so that the order of summing, and with it each bit, does not depend on the padding.
    const autograd::UsePrecision exact(autograd::Precision::float32);
    const Tensor mean = autograd::matmul(Tensor::from({batch, 1, length}, shares), x);  // (B, 1, d)
    return autograd::reshape(mean, {batch, x.size(2)});                                 // (B, d)
}

// x (B, T, d_model) -> (B, d_model): the vector of the first position.
inline Tensor first_token(const Tensor& x) {
    check(x.rank() == 3 && x.size(1) > 0, "[first_token] x must be (B, T, d_model), with T > 0: got ",
          x.shape());
    return autograd::reshape(autograd::slice(x, 1, 0, 1), {x.size(0), x.size(2)});  // (B, d_model)
}

}  // namespace plaingrad::nn
