// Norms rescale each vector to a fixed size, whatever the layers before it did. Otherwise the sums of many
// layers would grow or shrink with the depth, and a learning rate that suits one layer would not suit the
// next.
//
// Layer normalisation, Ba, Kiros & Hinton 2016: each vector to mean 0 and variance 1, then a gain and a bias.
//
// The variance is divided by d, and eps = 1e-5 is inside the root, as in PyTorch: [1, 0, 0, 0] becomes
// [1.7320, -0.5773, -0.5773, -0.5773]. (A common variant, with the unbiased deviation and eps outside of the
// root, gives [1.5, -0.5, -0.5, -0.5].)
#pragma once

#include <cmath>
#include <iterator>

#include "nn/module.h"

namespace plaingrad::nn {

// Another kind is a value here with its name, for configurations in files, and a case in each of Norm's two
// functions: models have only Norm. Norm's constructor leaves out the bias of a kind that has none.
enum class NormKind { layer, count };
inline constexpr const char* kNormKindNames[] = {"layer"};
static_assert(std::size(kNormKindNames) == static_cast<std::size_t>(NormKind::count));

struct NormOptions {
    NormKind kind = NormKind::layer;
    Real eps = Real(1e-5);  // keeps the division finite if a vector is constant
    bool bias = true;
};

// x (..., d) -> (..., d)
struct Norm {
    // Throws Error for an eps that is not positive and finite.
    explicit Norm(int64_t d, const NormOptions& o = {})
        : gain(Tensor::full({d}, 1)),
          bias(o.bias ? Parameter(Tensor::zeros({d})) : Parameter()),
          kind(o.kind),
          eps(o.eps) {
        check(std::isfinite(eps) && eps > 0, "[Norm] eps must be positive and finite: got ", eps);
    }
    Tensor operator()(const Tensor& x) const { return autograd::layer_norm(x, gain, bias_or_zeros(), eps); }
    // (*this)(x + dropout(y, p, rng)), fused: what follows each sub-layer of a post-norm Transformer.
    Tensor of_residual(const Tensor& x, const Tensor& y, Real p, const Rng& rng) const {
        return autograd::residual_norm(x, y, p, rng, gain, bias_or_zeros(), eps);
    }
    void visit(Visitor& v) const {
        v("gain", gain);
        v("bias", bias);
    }

    Parameter gain;  // (d)
    Parameter bias;  // (d), or absent
    NormKind kind;
    Real eps;

private:
    Tensor bias_or_zeros() const { return bias->defined() ? bias.tensor() : Tensor::zeros(gain->shape()); }
};

}  // namespace plaingrad::nn
