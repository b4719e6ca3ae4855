// A step of several parts and batches, with a function that gives the loss of each.
#pragma once

#include <functional>

#include "nn/parallel/data_parallel.h"

namespace plaingrad::tests {

using LossOf = std::function<nn::StepLoss(const nn::StepPart& at, const nn::Mode& mode)>;

// rng: of the step, for dropout.
inline nn::StepGradient backward(const nn::DataParallel& parallel, int64_t step, const autograd::Rng& rng,
                                 const LossOf& loss_of, int64_t batches = 1) {
    nn::zero_grad(parallel.parameters());
    nn::Gradients gradients(parallel);
    for (int64_t part = parallel.own().begin; part < parallel.own().end; ++part)
        for (nn::StepPart at = {step, 0, part, parallel.parts(), batches}; at.batch < batches; ++at.batch)
            gradients.backward(loss_of(at, nn::Mode::train(nn::rng_of(rng, at))), at);
    return gradients.sum();
}

}  // namespace plaingrad::tests
