// NumPy's broadcasting, in one place: loops over it, and its gradient, which is a sum.
#pragma once

#include "autograd/base/shape.h"
#include "autograd/graph.h"
#include "autograd/kernels/kernels.h"

namespace plaingrad::autograd {

// The loop over `out` in which a and b repeat along their dims of size 1 and their missing dims.
kernels::Loop4 broadcast_loop(const Shape& out, const Shape& a, const Shape& b);

// y (`to`) = scale * the sum of x (`from`) over the dims that `to` lacks or has as 1.
// `to` must broadcast to `from`.
void sum_to(const Shape& from, const Real* x, const Shape& to, Real scale, kernels::Out y);
// Adds the same to the gradient of an input of shape `to`. Does nothing if the sink is empty.
void pass_sum(const Tensor& dout, Real scale, const Shape& to, const GradSink& sink);

}  // namespace plaingrad::autograd
