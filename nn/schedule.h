// Learning rates as functions of the step, which counts from 1.
#pragma once

#include <cstdint>

namespace nn {

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
    double operator()(int64_t step) const;
};

// Rises linearly to `lr` for `warmup` steps, then follows half a cosine down to `lr_end` at step `total`, and
// stays there. Loshchilov & Hutter 2017.
struct CosineSchedule {
    double lr;
    int64_t total;
    int64_t warmup = 0;
    double lr_end = 0;
    double operator()(int64_t step) const;
};

}  // namespace nn
