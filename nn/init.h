// Initial values of parameters, each a function of the Rng and the element's index.
//
// They are random, because equal elements of a layer would get equal gradients and stay equal. They are
// scaled so that vectors neither grow nor shrink from layer to layer: a sum of `in` products has `in` times
// the variance of one product, hence 1/√in.
#pragma once

#include "nn/module.h"

namespace plaingrad::nn {

enum class Init {
    xavier,   // matrices U(±√(6/(in+out))) (Glorot & Bengio 2010), biases 0, embeddings N(0, 1/d)
    normal,   // matrices and embeddings N(0, 1/in): standard deviation d^-0.5; biases 0
    pytorch,  // PyTorch's defaults: matrices and biases U(±1/√in), embeddings N(0, 1)
    bert,     // matrices and embeddings N(0, 0.02²), biases 0 (Devlin et al. 2019)
    // As bert, but matrices that write into the residual stream are N(0, 0.02²/(2 layers)), so that its
    // variance does not grow with the depth (Radford et al. 2019, §2.3).
    gpt2,
    none,  // matrices and embeddings are not set: for a model whose weights come from a file
    count
};
inline constexpr const char* kInitNames[] = {"xavier", "normal", "pytorch", "bert", "gpt2", "none"};

Tensor uniform(const Shape& shape, double bound, const Rng& rng);     // in [-bound, bound)
Tensor normal(const Shape& shape, double deviation, const Rng& rng);  // mean 0

// A matrix stored in `shape` that maps `in` elements to `out`; and the bias after it, 0 where `in` is 0.
Tensor initial_matrix(Init init, const Shape& shape, int64_t in, int64_t out, const Rng& rng);
Tensor initial_bias(Init init, int64_t in, int64_t out, const Rng& rng);
// Scales a matrix of `initial_matrix` that writes into the residual stream of a stack of n_layers.
void scale_residual_projection(Init init, const Parameter& matrix, int64_t n_layers);
// A table of vectors (count, d).
Tensor initial_table(Init init, int64_t count, int64_t d, const Rng& rng);

}  // namespace plaingrad::nn
