// The residual connection around each sub-layer. "Attention Is All You Need", §3.1 and §5.4.
#pragma once

#include "models/config.h"
#include "nn/dropout.h"
#include "nn/norm.h"

namespace plaingrad::models {

// post: Norm(x + Dropout(Sublayer(x)))        pre: x + Dropout(Sublayer(Norm(x)))
struct Residual {
    Residual(const Config& config, const Rng& rng)
        : norm(config.block.d_model, norm_options(config)),
          dropout(config.block.dropout.sublayers, rng),
          placement(config.block.norm) {}

    // sublayer: Tensor (Tensor x), both (B, T, d_model)
    template <class Sublayer>
    Tensor operator()(const Tensor& x, const Mode& mode, const Sublayer& sublayer) const {
        const Real p = dropout.rate_in(mode);
        const Rng rng = dropout.rng_in(mode);
        if (placement == NormPlacement::pre)
            return autograd::residual(x, sublayer(norm(x)), p, rng);
        return norm.of_residual(x, sublayer(x), p, rng);
    }

    nn::Norm norm;
    nn::Dropout dropout;
    NormPlacement placement;
};

}  // namespace plaingrad::models
