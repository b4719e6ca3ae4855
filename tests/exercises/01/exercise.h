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
    // skeleton: // 1. y = Tensor::uninitialized(...), filled in a loop
    // skeleton: // 2. return with_backward("square", y, {&x}, [what it needs](const Tensor& dy) { ... });
    // skeleton: not_written(1, "square", x);
    // answer
    Tensor y = Tensor::uninitialized(x.shape());
    const Real* const from = x.data();
    Real* const to = y.mutable_data();
    for (int64_t i = 0; i < x.numel(); ++i)
        to[i] = from[i] * from[i];
    // The closure keeps x, because backward needs its elements. It needs nothing of y.
    return with_backward("square", y, {&x}, [dx = x.sink(), x = x.save()](const Tensor& dy) {
        const Real *const values = x.data(), *const d = dy.data();
        const auto out = dx.open();  // the first writer overwrites, later ones add
        for (int64_t i = 0; i < dy.numel(); ++i)
            out.data[i] = 2 * values[i] * d[i] + (out.accumulate ? out.data[i] : 0);
    });
    // end
}

}  // namespace plaingrad::exercises

// answer
// In the library: autograd/ops_elementwise.cpp, unary
//
// All functions of one number share this op. A kernel has both loops of each function, vectorised.
// end
