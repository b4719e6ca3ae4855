// Learning rates as functions of the step, which counts from 1.
//
// They rise first (warm-up), because the length of Adam's step does not depend on the size of the gradient:
// full steps from the start would move every weight on the evidence of a few batches. In a deep model with
// the norms after the sub-layers they make the vectors of all inputs alike, and it hardly learns
// (nn/training.md, "Warm-up"). Rates fall later, because only small steps come close to a minimum.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "autograd/base/check.h"
#include "autograd/base/portable_math.h"

namespace plaingrad::nn {

// A schedule is a plain struct with `double operator()(int64_t step) const`.

struct ConstantSchedule {
    double lr;
    double operator()(int64_t) const { return lr; }
};

// "Attention Is All You Need", §5.3, equation 3: lr = factor d_model^-0.5 min(step^-0.5, step warmup^-1.5).
// It rises linearly for `warmup` steps, then falls with the inverse square root.
struct WarmupInverseSqrt {
    int64_t d_model = 512;
    int64_t warmup = 4000;
    double factor = 1;
    double operator()(int64_t step) const {
        autograd::check(step >= 1 && warmup >= 1 && d_model >= 1,
                        "[schedule] step, warm-up and d_model count from 1: got ", step, ", ", warmup,
                        " and ", d_model);
        const double s = static_cast<double>(step), w = static_cast<double>(warmup);
        return factor / std::sqrt(static_cast<double>(d_model)) *
               std::min(1 / std::sqrt(s), s / (w * std::sqrt(w)));
    }
};

// Rises linearly to `lr` for `warmup` steps, then follows half a cosine down to `lr_end` at step `total`, and
// stays there. Loshchilov & Hutter 2017.
struct CosineSchedule {
    double lr;
    int64_t total;
    int64_t warmup = 0;
    double lr_end = 0;
    double operator()(int64_t step) const {
        autograd::check(step >= 1, "[schedule] steps count from 1: got ", step);
        if (step <= warmup)
            return lr * static_cast<double>(step) / static_cast<double>(warmup);
        if (step >= total)
            return lr_end;
        const double done = static_cast<double>(step - warmup) / static_cast<double>(total - warmup);
        return lr_end + (lr - lr_end) * 0.5 * (1 + autograd::portable::cos(std::numbers::pi * done));
    }
};

}  // namespace plaingrad::nn
