// What every exercise has: tensors and operations by their short names, and the words for what is not written
// yet.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "autograd/base/check.h"
#include "autograd/ops.h"

namespace plaingrad::exercises {

using autograd::concat;  // the only one that its arguments, a braced list, do not lead to
using autograd::Mask;
using autograd::Real;
using autograd::Shape;
using autograd::Tensor;

using Row = std::vector<double>;  // one row of numbers, where an exercise needs no tensor

// Throws Error: `[exercise 4] attention is not written yet`. The arguments are passed only so that no
// compiler calls them unused.
template <class... Arguments>
[[noreturn]] void not_written(int exercise, const char* what, const Arguments&...) {
    throw autograd::Error(autograd::join("[exercise ", exercise, "] ", what,
                                         " is not written yet; write it in place of the line ",
                                         "`not_written(...)`, and run `make exercise-", exercise, "` again"));
}

}  // namespace plaingrad::exercises
