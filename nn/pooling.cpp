#include "nn/pooling.h"

namespace plaingrad::nn {

Tensor mean_of_tokens(const Tensor& x, const std::vector<int32_t>& lengths) {
    autograd::check(x.rank() == 3 && std::ssize(lengths) == x.size(0),
                    "[mean_of_tokens] a length for each text: got ", lengths.size(), " for x ", x.shape());
    const int64_t batch = x.size(0), length = x.size(1);
    std::vector<Real> shares;  // (B, T)
    for (const int32_t n : lengths) {
        autograd::check(n >= 1 && n <= length, "[mean_of_tokens] a length must be from 1 to ", length,
                        ": got ", n);
        for (int64_t t = 0; t < length; ++t)
            shares.push_back(t < n ? Real(1) / static_cast<Real>(n) : Real(0));
    }
    // As a product, so that the order of summing, and with it each bit, does not depend on the padding.
    const autograd::UsePrecision exact(autograd::Precision::float32);
    const Tensor mean = autograd::matmul(Tensor::from({batch, 1, length}, shares), x);  // (B, 1, d)
    return autograd::reshape(mean, {batch, x.size(2)});                                 // (B, d)
}

Tensor first_token(const Tensor& x) {
    autograd::check(x.rank() == 3 && x.size(1) > 0,
                    "[first_token] x must be (B, T, d_model), with T > 0: got ", x.shape());
    return autograd::reshape(autograd::slice(x, 1, 0, 1), {x.size(0), x.size(2)});  // (B, d_model)
}

}  // namespace plaingrad::nn
