// Exercise 2: softmax's backward (20 minutes)
//
// The idea: y_i = e^{x_i} / Σ e^{x_j}. Because of the sum, each x_j influences every y_i, so dx_j
// collects a contribution from each of them: dx_j = Σ_i dy_i ∂y_i/∂x_j. Here ∂y_i/∂x_j is y_i (1 - y_i)
// for i = j, and -y_i y_j otherwise. Multiply this out: almost everything cancels, and one short line
// without a matrix is left.
//
// Given: y, one row of softmax's output, and dy, the gradient of the loss with respect to y.
// Write: dx, the gradient with respect to x. Begin on paper.
// Read before: autograd/README.md ("The derivative of softmax")
#pragma once

#include "tests/exercises/given.h"

namespace plaingrad::exercises {

// y, dy (N) -> dx (N)
inline Row softmax_backward(const Row& y, const Row& dy) { not_written(2, "softmax_backward", y, dy); }

}  // namespace plaingrad::exercises
