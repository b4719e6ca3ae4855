// Packs a model's weights, as one that is opened with OpenOptions::packed has them.
#pragma once

#include "autograd/weight.h"
#include "nn/module.h"

namespace plaingrad::tests {

inline void pack_weight(const nn::NamedParameter& p) {
    if (p.is_matrix || p.is_table)
        autograd::pack(p.tensor, p.is_table);
}

// In the precision of the model's configuration, if it has one.
template <nn::Module M>
void pack_weights(const M& module) {
    autograd::Precision own = autograd::UsePrecision::active();
    if constexpr (requires { module.config.block.precision; })
        own = module.config.block.precision;
    const autograd::UsePrecision precision(own);
    for (const nn::NamedParameter& p : nn::all_parameters(module))
        pack_weight(p);
}

}  // namespace plaingrad::tests
