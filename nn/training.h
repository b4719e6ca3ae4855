// The loop that trains a model: forward, backward, clip, step; and what a longer run has besides
// (models/runs/run.h): the state that a checkpoint keeps, and a log.
//
//     Adam adam(parameters(model), {.beta2 = 0.98});
//     train(adam, [&](int64_t step, const Mode& mode) { return model.loss(batch(step), mode); },
//           {.steps = 1000, .learning_rate = CosineSchedule{1e-3, 1000}});
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "nn/optim.h"

namespace plaingrad::nn {

using LearningRate = std::function<double(int64_t step)>;

struct TrainingOptions {
    int64_t steps = 1000;
    LearningRate learning_rate = {};
    double clip = 1;    // largest norm of the gradient; 0: any
    uint64_t seed = 0;  // of dropout
};

// Takes the steps that Adam has not taken yet. Returns the loss of each. Throws Error at the first loss or
// gradient that is not finite.
std::vector<double> train(Adam& adam, const std::function<Tensor(int64_t step, const Mode& mode)>& loss_of,
                          const TrainingOptions& options);

// Throws Error if the loss or the norm of a step's gradient is not finite, naming the first parameter whose
// gradient is not.
void check_finite(int64_t step, double loss, double norm, const std::vector<NamedParameter>& parameters);

// The results of a step.
struct StepReport {
    int64_t step = 0;
    double loss = 0;  // the mean over its tokens
    int64_t tokens = 0;
    double learning_rate = 0;
    double grad_norm = 0;                   // before clipping
    double seconds = 0;                     // since this call of the run began, its validations included
    std::optional<double> validation = {};  // the loss, if there was one after this step
    bool ends_epoch = false;
    bool stops = false;  // in any process
};

// The state of a run's validations.
struct Validations {
    double best_validation = std::numeric_limits<double>::infinity();
    int64_t best_step = 0;  // 0: there was no validation
    int64_t worse = 0;      // validations since the best one
};

// The state of a run besides the weights: what must be saved to resume it with the same bits.
struct Training : Validations {
    Training(const std::vector<NamedParameter>& parameters, const AdamOptions& options)
        : adam(parameters, options) {}

    Adam adam;  // its steps are those of the run
};

// A log as CSV: a row for each step. Tokens a second are those of the step, over the time since the row
// before.
class TrainingLog {
public:
    // For a run that is resumed from `step`: the text of its log. Later rows are dropped, because those steps
    // are repeated. "" for a new run.
    explicit TrainingLog(const std::string& text = "", int64_t step = 0);
    void add(const StepReport& report);
    const std::string& text() const { return text_; }

private:
    std::string text_;
    double seconds_ = 0;  // of the row before
};

}  // namespace plaingrad::nn
