// Exercise 1: square, an operation with its backward (10 minutes)
//
// The idea: an op computes its result, and leaves in the graph a function that turns the gradient of the
// result, dy, into the gradient of its input, dx. If x changes by a little, x² changes by 2x times as much.
// So dx = 2 x dy, element by element: the chain rule.
//
// Given: x of any shape; with_backward, save() and sink(), as in the example at the head of autograd/op.h.
// Write: square, with one loop forward and one loop backward, and without calling another op.
// Read before: autograd/README.md ("A graph of four operations"); autograd/op.h
#pragma once

#include "autograd/op.h"
#include "tests/exercises/given.h"

namespace plaingrad::exercises {

// y = x², of x's shape        dx = 2 x dy
inline Tensor square(const Tensor& x) {
    // 1. y = Tensor::uninitialized(...), filled in a loop
    // 2. return with_backward("square", y, {&x}, [what backward needs](const Tensor& dy) { ... });
    not_written(1, "square", x);
}

}  // namespace plaingrad::exercises
