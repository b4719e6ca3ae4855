// The model of the calls that need one.
#pragma once

#include "tests/models/small.h"

namespace plaingrad::trust::words {

inline models::Config small(int64_t layers = 1) {
    models::Config c = tests::sized({.kind = models::Kind::causal}, {9, 6, 4, 2, 4, layers});
    c.specials.never = {models::kPad, models::kSos, models::kUnk};
    return c;
}

}  // namespace plaingrad::trust::words
