// The loop that trains a model.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "nn/optim.h"

namespace plaingrad::kit {

// What one batch gives.
struct StepLoss {
    autograd::Tensor loss;
    int64_t tokens = 0;       // how many the loss is the mean of
    bool ends_epoch = false;  // the last batch of an epoch: the step ends with it, and validation follows
};

struct TrainingOptions {
    int64_t steps = 1000;  // of the whole run
    int64_t stop = 0;  // this call ends after that step, and another one resumes; 0: not before the run's end
    std::function<double(int64_t step)> learning_rate = {};
    nn::AdamOptions adam = {.beta2 = 0.98, .eps = 1e-9};  // the paper's, §5.3; unless a Training has its own
    double clip = 1;                                      // largest norm of the gradient; 0: any
    int64_t accumulate = 1;  // batches in a step: their gradient is that of the mean over all their tokens
    uint64_t seed = 0;       // of dropout
    int64_t plain_lines_every = 100;  // when standard error is not a terminal

    // Validation: every so many steps, at the end of epochs, and after the last step of the run; never without a
    // validation_loss. Smaller is better.
    int64_t validate_every = 0;  // 0: only at the end of epochs
    std::function<double()> validation_loss = {};
    // What is said of a validation; without it, the step and the loss.
    std::function<std::string(int64_t step, double loss)> describe_validation = {};
    int64_t patience = 0;      // ends when so many in a row are no better; 0: goes on
    bool restore_best = true;  // when training ends the model has the weights of the best validation

    // After each step and its validation, if there was one: for saving.
    std::function<void(int64_t step, bool validated)> after_step = {};
};

// How the validations of a run went.
struct Validations {
    double best_validation = std::numeric_limits<double>::infinity();
    int64_t best_step = 0;  // 0: there was no validation
    int64_t worse = 0;      // validations since the best one
};

// Where a run stands, besides the weights: what must be saved for it to go on later to the same bits.
struct Training : Validations {
    Training(const std::vector<nn::NamedParameter>& parameters, const nn::AdamOptions& options)
        : adam(parameters, options) {}

    nn::Adam adam;  // its steps are those of the run
};

struct TrainingResult {
    std::vector<double> losses;  // of each step
    double seconds = 0;
    double best_validation = std::numeric_limits<double>::infinity();
    int64_t best_step = 0;  // 0: there was no validation
};

// loss_of(step, mode) computes the loss of a batch of a step (from 1). After Ctrl-C training ends with that step, as
// if it were the last (see kit::interrupted). Throws Error at the first loss or gradient that is not finite, naming
// the first parameter whose gradient is not.
using LossOf = std::function<StepLoss(int64_t step, const nn::Mode& mode)>;
TrainingResult train(const std::vector<nn::NamedParameter>& parameters, const LossOf& loss_of,
                     const TrainingOptions& options);
// From where `training` stands.
TrainingResult train(Training& training, const LossOf& loss_of, const TrainingOptions& options);

}  // namespace plaingrad::kit
