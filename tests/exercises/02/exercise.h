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

#include <numeric>

#include "tests/exercises/given.h"

namespace plaingrad::exercises {

// y, dy (N) -> dx (N)
// answer
//     dx_j = Σ_i dy_i y_i ([i = j] - y_j) = y_j (dy_j - Σ_i y_i dy_i)
//
// The sum is the mean of dy, weighted by y: what counts is how much dy_j differs from that mean. And Σ dx
// is 0, because adding the same number to all x does not change y.
// end
inline Row softmax_backward(const Row& y, const Row& dy) {
    // skeleton: not_written(2, "softmax_backward", y, dy);
    // answer
    const double mean = std::inner_product(y.begin(), y.end(), dy.begin(), 0.0);
    Row dx;
    for (std::size_t i = 0; i < y.size(); ++i)
        dx.push_back(y[i] * (dy[i] - mean));
    return dx;
    // end
}

}  // namespace plaingrad::exercises

// answer
// In the library: autograd/kernels/rows.cpp, softmax_backward
//
// The same two passes over a row, 16 numbers at a time.
// end
