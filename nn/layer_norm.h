// Layer normalisation, Ba, Kiros & Hinton 2016: each vector to mean 0 and variance 1, then a gain and a bias.
//
// The variance is divided by d, and eps = 1e-5 stands inside the root, as in PyTorch: [1, 0, 0, 0] becomes
// [1.7320, -0.5773, -0.5773, -0.5773]. (A variant that is often seen, with the unbiased deviation and eps
// outside of the root, gives [1.5, -0.5, -0.5, -0.5].)
#pragma once

#include "nn/module.h"

namespace plaingrad::nn {

// x (..., d) -> (..., d)
struct LayerNorm {
    explicit LayerNorm(int64_t d, Real eps_ = Real(1e-5), bool with_bias = true)
        : gain(Tensor::full({d}, 1)),
          bias(with_bias ? Parameter(Tensor::zeros({d})) : Parameter()),
          eps(eps_) {}
    Tensor operator()(const Tensor& x) const { return autograd::layer_norm(x, gain, bias_or_zeros(), eps); }
    Tensor bias_or_zeros() const { return bias->defined() ? bias.tensor() : Tensor::zeros(gain->shape()); }
    void visit(Visitor& v) const {
        v("gain", gain);
        v("bias", bias);
    }

    Parameter gain;  // (d)
    Parameter bias;  // (d), or absent
    Real eps;
};

}  // namespace plaingrad::nn
