// A step of several parts and batches, with a function that gives the loss of each.
#pragma once

#include <functional>

#include "nn/parallel/data_parallel.h"

namespace plaingrad::tests {

using LossOf = std::function<nn::StepLoss(const nn::StepPart& at, const nn::Mode& mode)>;

// Whose gradients are computed, by which processes, and how many parts each batch has.
struct InParts {
    std::vector<nn::NamedParameter> parameters;
    nn::Team& team = nn::alone();
    int64_t parts = 1;
};

// rng: of the step, for dropout.
inline nn::StepGradient backward(const InParts& in, int64_t step, const autograd::Rng& rng,
                                 const LossOf& loss_of, int64_t batches = 1) {
    nn::zero_grad(in.parameters);
    nn::Gradients gradients(in.parameters, in.team, in.parts);
    const auto [begin, end] = nn::parts_of(in.team.rank(), in.team.size(), in.parts);
    for (int64_t part = begin; part < end; ++part)
        for (nn::StepPart at = {step, 0, part, in.parts, batches}; at.batch < batches; ++at.batch)
            gradients.backward(loss_of(at, nn::Mode::train(nn::rng_of(rng, at))), at);
    return gradients.sum();
}

}  // namespace plaingrad::tests
