// What the calls need: the smallest models, and what is wrong with them.
#pragma once

#include <limits>

#include "tests/models/small.h"

namespace plaingrad::trust::words {

const autograd::Rng kRng(1);
const nn::Mode kEval = nn::Mode::eval();
const autograd::Tensor kNone;
constexpr autograd::Real kNan = std::numeric_limits<autograd::Real>::quiet_NaN();
inline autograd::Tensor t(const autograd::Shape& shape) { return autograd::Tensor::full(shape, 1); }

inline models::Config small(int64_t layers = 1) {
    models::Config c = tests::sized({.kind = models::Kind::causal}, {9, 6, 4, 2, 4, layers});
    c.specials.never = {models::kPad, models::kSos, models::kUnk};
    return c;
}

}  // namespace plaingrad::trust::words
