// Checks a backward against finite differences of its forward, for your own ops too.
//
//     const GradcheckResult r = gradcheck([](const std::vector<Tensor>& x) { return mul(x[0], x[1]); },
//                                         {Tensor::from({2}, {1, 2}), Tensor::from({2}, {3, 4})});
//     if (!r.ok) std::cerr << r.message;
//
// Build with -DPLAINGRAD_REAL=double for a meaningful check: in float, the difference of two nearly equal
// losses has few correct digits left. And check with products in float32: the rounding of bf16 has no
// derivative.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "autograd/tensor.h"

namespace plaingrad::autograd {

struct GradcheckOptions {
    bool in_double = kRealIsDouble;         // for which precision the next three are
    double eps = in_double ? 1e-6 : 1e-2;   // step of the central difference
    double atol = in_double ? 1e-5 : 1e-2;  // |analytic - numeric| <= atol + rtol |numeric|
    double rtol = in_double ? 1e-3 : 2e-2;
    bool may_be_zero = false;  // otherwise an input whose gradient is 0 everywhere fails the check
    uint64_t seed = 1;         // of the random upstream gradient
};

struct GradcheckResult {
    bool ok = true;
    double worst = 0;     // the largest |analytic - numeric| seen
    std::string message;  // which input and element failed, with both values; empty if ok
};

// f must be a function of its inputs alone (dropout: with a fixed rng). Its output, of any shape, is
// multiplied by a random tensor and summed: a plain sum would prove nothing for softmax, where its gradient
// is 0. Every element of every input is checked.
GradcheckResult gradcheck(FunctionRef<Tensor(const std::vector<Tensor>&)> f,
                          const std::vector<Tensor>& inputs, const GradcheckOptions& options = {});

}  // namespace plaingrad::autograd
