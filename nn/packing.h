// Weights for a model that only generates: packed, in the order in which products read them.
//
// Decoding packs a copy of each weight that it multiplies (autograd/weight.h). A model that does
// nothing else needs no other form. With the copies alone, a weight takes 4 bytes in float32 instead of 8,
// and 2 in bfloat16 instead of 6.
//
//     auto model = load_model<LanguageModel>("run");
//     model.config.block.precision = Precision::bf16;
//     pack_weights(model);
//     generate(*model.start(prompts), ...);
//
// Packed are the matrices of all Linears, and the tables of embeddings and output layers. The others, biases,
// norms and learned positions, stay float32. The results have the same bits as before in this precision, with
// one exception: with bfloat16, an embedding's vectors consist of the rounded numbers, too. (A model
// that was saved in bfloat16 loses nothing by this.)
//
// A packed weight is frozen. Training, saving, cloning or printing it throws Error: load the model again for
// that.
#pragma once

#include "autograd/weight.h"
#include "nn/module.h"

namespace plaingrad::nn {

// Packs one parameter, if it is of the kind that is packed and is not yet. So a loader can pack each one as
// soon as its numbers are complete, and never has more than one in float32. Throws Error if it is packed in
// the other precision.
inline void pack_weight(const NamedParameter& p) {
    if (p.is_matrix || p.is_table)
        autograd::pack(p.tensor, p.is_table);
}

// Packs all of a module; a model with a configuration, for products in the precision that this names.
template <Module M>
void pack_weights(M& module) {
    autograd::Precision own = autograd::UsePrecision::active();
    if constexpr (requires { module.config.block.precision; })
        own = module.config.block.precision;
    const autograd::UsePrecision precision(own);
    for (const NamedParameter& p : all_parameters(module))
        pack_weight(p);
}

}  // namespace plaingrad::nn
