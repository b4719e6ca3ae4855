// The residual connection around each sub-layer. "Attention Is All You Need", §3.1 and §5.4.
#pragma once

#include "models/config.h"
#include "nn/dropout.h"
#include "nn/layer_norm.h"

namespace plaingrad::models {

// post: LayerNorm(x + Dropout(Sublayer(x)))        pre: x + Dropout(Sublayer(LayerNorm(x)))
struct Residual {
    Residual(const StackConfig& config, const Rng& rng)
        : norm(config.d_model, config.norm_eps, config.norm_bias),
          dropout(config.dropout.sublayers, rng),
          placement(config.norm) {}

    // sublayer: Tensor (Tensor x), both (B, T, d_model)
    template <class Sublayer>
    Tensor operator()(const Tensor& x, const Mode& mode, const Sublayer& sublayer) const {
        const Real p = dropout.rate_in(mode);
        const Rng rng = dropout.rng_in(mode);
        if (placement == NormPlacement::pre)
            return autograd::residual(x, sublayer(norm(x)), p, rng);
        return autograd::residual_norm(x, sublayer(x), p, rng, norm.gain, norm.bias_or_zeros(), norm.eps);
    }
    void visit(Visitor& v) const { norm.visit(v); }

    nn::LayerNorm norm;
    nn::Dropout dropout;
    NormPlacement placement;
};

}  // namespace plaingrad::models
