// A two-dimensional picture of vectors, and the nearest neighbours of each.
#pragma once

#include <vector>

#include "autograd/tensor.h"

namespace plaingrad::kit {

// Principal component analysis: the two orthogonal directions in which the rows of x (n, d) vary most, found
// by power iteration, and each row's coordinates along them (n, 2). The sign of a direction is such that its
// largest entry is positive.
autograd::Tensor principal_components(const autograd::Tensor& x);

// For each row of x (n, d), the `count` others whose cosine with it is largest, best first.
std::vector<std::vector<int64_t>> nearest(const autograd::Tensor& x, int64_t count);

}  // namespace plaingrad::kit
