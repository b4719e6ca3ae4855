// What the calls need: the smallest models, and what is wrong with them.
#pragma once

#include <limits>

#include "models/config.h"
#include "nn/module.h"

namespace plaingrad::trust::words {

const autograd::Rng kRng(1);
const nn::Mode kEval = nn::Mode::eval();
const autograd::Tensor kNone;
constexpr autograd::Real kNan = std::numeric_limits<autograd::Real>::quiet_NaN();
inline autograd::Tensor t(const autograd::Shape& shape) { return autograd::Tensor::full(shape, 1); }

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
