#include "nn/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "autograd/base/check.h"

namespace nn {

double WarmupInverseSqrt::operator()(int64_t step) const {
    autograd::check(step >= 1 && warmup >= 1, "[schedule] step and warm-up count from 1: got step ", step,
                    ", warm-up ", warmup);
    const double s = static_cast<double>(step), w = static_cast<double>(warmup);
    return factor / std::sqrt(static_cast<double>(d_model)) *
           std::min(1 / std::sqrt(s), s / (w * std::sqrt(w)));
}

double CosineSchedule::operator()(int64_t step) const {
    autograd::check(step >= 1, "[schedule] steps count from 1: got ", step);
    if (step <= warmup)
        return lr * static_cast<double>(step) / static_cast<double>(warmup);
    if (step >= total)
        return lr_end;
    const double done = static_cast<double>(step - warmup) / static_cast<double>(total - warmup);
    return lr_end + (lr - lr_end) * 0.5 * (1 + std::cos(std::numbers::pi * done));
}

}  // namespace nn
