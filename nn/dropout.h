// Dropout, Srivastava et al. 2014: in training, each element is 0 with probability `rate`, else divided by
// 1 - rate; in evaluation nothing happens. "Attention Is All You Need", §5.4.
//
// No element can then rely on the presence of another, which makes the model learn redundant features. The
// division preserves each element's mean, (1 - rate) x / (1 - rate) = x, so evaluation needs no correction.
#pragma once

#include "nn/module.h"

namespace plaingrad::nn {

struct Dropout {
    // rng: any Rng that differs between the layers of a model, e.g. rng.fork("dropout"). Throws Error unless
    // 0 <= rate < 1.
    Dropout(Real rate_, const Rng& rng) : rate(rate_), stream(rng.state()) {
        check(rate >= 0 && rate < 1, "[Dropout] the rate must be from 0 to below 1: got ", rate);
    }
    Tensor operator()(const Tensor& x, const Mode& mode) const {
        return autograd::dropout(x, rate_in(mode), rng_in(mode));
    }

    // Arguments for the fused ops, which replace the call above.
    Real rate_in(const Mode& mode) const { return mode.training ? rate : 0; }
    Rng rng_in(const Mode& mode) const { return mode.rng.fork(stream); }

    Real rate;
    uint64_t stream;  // this layer's stream among the random streams of a step
};

}  // namespace plaingrad::nn
