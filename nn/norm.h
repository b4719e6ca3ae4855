// Norms rescale each vector to a fixed size, whatever the layers before it did. Otherwise the sums of many
// layers would grow or shrink with the depth, and a learning rate that suits one layer would not suit the
// next.
//
// Layer normalisation, Ba, Kiros & Hinton 2016: each vector to mean 0 and variance 1, then a gain and a bias.
//
// The variance is the mean of the squared deviations (divided by d), and eps = 1e-5 is inside the root, as in
// PyTorch: [1, 0, 0, 0] becomes [1.7320, -0.5773, -0.5773, -0.5773]. (A common variant, with the unbiased
// deviation and eps outside of the root, gives [1.5, -0.5, -0.5, -0.5].)
//
// RMS normalisation, Zhang & Sennrich 2019: each vector to mean square 1, then a gain. It does not subtract
// the mean and has no bias: models trained with it are as good, and it has less to compute and to store.
#pragma once

#include <cmath>

#include "nn/module.h"

namespace plaingrad::nn {

// Another kind is a value here with its name, for configurations in files, and a case in each of Norm's two
// functions: models have only Norm. Norm's constructor leaves out the bias of a kind that has none.
enum class NormKind { layer, rms, count };
inline constexpr const char* kNormKindNames[] = {"layer", "rms"};

struct NormOptions {
    NormKind kind = NormKind::layer;
    Real eps = Real(1e-5);  // keeps the division finite if a vector is constant, or zero
    bool bias = true;       // of layer norm; RMS norm has none
};

// x (..., d) -> (..., d)
struct Norm {
    // Throws Error for an eps that is not positive and finite.
    explicit Norm(int64_t d, const NormOptions& o = {})
        : gain(Tensor::full({d}, 1)),
          bias(o.bias && o.kind == NormKind::layer ? Parameter(Tensor::zeros({d})) : Parameter()),
          kind(o.kind),
          eps(o.eps) {
        check(std::isfinite(eps) && eps > 0, "[Norm] eps must be positive and finite: got ", eps);
    }
    Tensor operator()(const Tensor& x) const {
        return kind == NormKind::rms ? autograd::rms_norm(x, gain, eps)
                                     : autograd::layer_norm(x, gain, bias, eps);
    }
    // (*this)(x + dropout(y, p, rng)): what follows each sub-layer of a post-norm Transformer.
    Tensor of_residual(const Tensor& x, const Tensor& y, Real p, const Rng& rng) const {
        return kind == NormKind::rms ? (*this)(autograd::residual(x, y, p, rng))
                                     : autograd::residual_norm(x, y, p, rng, gain, bias, eps);
    }
    void visit(Visitor& v) const {
        v("gain", gain);
        v("bias", bias);
    }

    Parameter gain;  // (d)
    Parameter bias;  // (d), or absent
    NormKind kind;
    Real eps;
};

}  // namespace plaingrad::nn
