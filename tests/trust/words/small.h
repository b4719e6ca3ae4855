// The model of the calls that need one.
#pragma once

#include "models/config.h"

namespace plaingrad::trust::words {

inline models::Config small(int64_t layers = 1) {
    models::Config c = {.kind = models::Kind::causal};
    c.vocabulary = 9;
    c.max_length = 6;
    c.n_layers = layers;
    c.specials.never = {models::kPad, models::kSos, models::kUnk};
    c.block.d_model = c.block.d_ff = 4;
    c.block.n_heads = 2;
    return c;
}

}  // namespace plaingrad::trust::words
