// The loop that trains a model.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "nn/optim.h"

namespace kit {

// What one step of training gives.
struct StepLoss {
    autograd::Tensor loss;
    int64_t tokens = 0;  // how many the loss is the mean of; for the speed in the progress line
};

struct TrainingOptions {
    int64_t steps = 1000;
    std::function<double(int64_t step)> learning_rate = {};
    nn::AdamOptions adam = {.beta2 = 0.98, .eps = 1e-9};  // the paper's, §5.3
    double clip = 1;                                      // largest norm of the gradient
    uint64_t seed = 0;                                    // of dropout
    int64_t plain_lines_every = 100;                      // when standard error is not a terminal

    // Validation: every so many steps, and after the last; 0: never. Smaller is better. The weights of the best
    // one are what the model has when training ends.
    int64_t validate_every = 0;
    std::function<double()> validation_loss = {};
    int64_t patience = 0;  // ends when so many in a row are no better; 0: goes on
};

struct TrainingResult {
    std::vector<double> losses;  // of each step
    double seconds = 0;
    double best_validation = std::numeric_limits<double>::infinity();
    int64_t best_step = 0;  // 0: there was no validation
};

// loss_of(step, mode) computes the loss of a step (from 1). After Ctrl-C training ends with that step, as if it
// were the last (see kit::interrupted). Throws Error at the first loss or gradient that is not finite.
TrainingResult train(const std::vector<nn::NamedParameter>& parameters,
                     const std::function<StepLoss(int64_t step, const nn::Mode& mode)>& loss_of,
                     const TrainingOptions& options);

}  // namespace kit
