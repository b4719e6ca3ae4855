// The loop that trains a model: forward, backward, clip, step, and validations in between. It prints nothing
// and saves nothing: progress lines, logs, signals and checkpoints are callbacks of its Watch.
//
//     Training training(parameters(model), {.beta2 = 0.98});
//     train(training,
//           [&](const StepPart& at, const Mode& mode) {
//               return StepLoss{model.loss(batch(at.step), mode), tokens};
//           },
//           {.steps = 1000, .learning_rate = CosineSchedule{1e-3, 1000}});
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "nn/optim.h"
#include "nn/parallel/data_parallel.h"

namespace plaingrad::nn {

struct TrainingOptions {
    int64_t steps = 1000;  // of the whole run
    int64_t stop = 0;  // this call ends after that step, and another one resumes; 0: not before the run's end
    std::function<double(int64_t step)> learning_rate = {};
    AdamOptions adam = {.beta2 = 0.98, .eps = 1e-9};  // the paper's, §5.3; unless a Training has its own
    double clip = 1;                                  // largest norm of the gradient; 0: any
    int64_t accumulate = 1;  // batches in a step: their gradient is that of the mean over all their tokens
    uint64_t seed = 0;       // of dropout

    // Validation: after every validate_every steps, at the end of epochs, and after the last step of the run;
    // never without a validation_loss. Smaller is better.
    int64_t validate_every = 0;  // 0: only at the end of epochs
    std::function<double()> validation_loss = {};
    int64_t patience = 0;  // ends the run after this many validations without improvement; 0: never
    // When the run has ended, the model gets the weights of the best validation. A run that was resumed since
    // then does not have them: Training::best_weights are saved nowhere (models::Run keeps a file of them).
    bool restore_best = true;
};

// The results of a step.
struct StepReport {
    int64_t step = 0;
    double loss = 0;  // the mean over its tokens
    int64_t tokens = 0;
    double learning_rate = 0;
    double grad_norm = 0;                   // before clipping
    double seconds = 0;                     // since this call of `train` began, its validations included
    std::optional<double> validation = {};  // the loss, if there was one after this step
    bool ends_epoch = false;
    bool stops = false;  // the watch has said so, in any process
};

// Callbacks that observe a run. Each may be empty.
struct Watch {
    std::function<void(const StepReport& report)> on_step = {};  // before the validation
    std::function<void(int64_t step, double loss, bool better)> on_validation = {};
    std::function<void(const StepReport& report)> after_step = {};  // after it: for logs and checkpoints
    std::function<bool()> should_stop = {};  // asked once after each step, e.g. whether Ctrl-C was pressed
};

// The state of a run's validations.
struct Validations {
    double best_validation = std::numeric_limits<double>::infinity();
    int64_t best_step = 0;  // 0: there was no validation
    int64_t worse = 0;      // validations since the best one
};

// The state of a run besides the weights: what must be saved to resume it with the same bits.
struct Training : Validations {
    // team, parts: see DataParallel.
    Training(const std::vector<NamedParameter>& parameters, const AdamOptions& options, Team& team = alone(),
             int64_t parts = 1)
        : adam(parameters, options), parallel(parameters, team, parts) {}

    Adam adam;  // its steps are those of the run
    DataParallel parallel;
    std::vector<NamedParameter> best_weights = {};  // copies, kept for restore_best and saved nowhere
};

struct TrainingResult {
    std::vector<double> losses;  // of each step
    double seconds = 0;
    double best_validation = std::numeric_limits<double>::infinity();
    int64_t best_step = 0;  // 0: there was no validation
};

// Continues from the state `training`. If the watch stops it, this call ends after that step, and another
// call resumes. Throws Error at the first loss or gradient that is not finite, naming the first parameter
// whose gradient is not.
TrainingResult train(Training& training, const LossOf& loss_of, const TrainingOptions& options,
                     const Watch& watch = {});
// From the beginning.
TrainingResult train(const std::vector<NamedParameter>& parameters, const LossOf& loss_of,
                     const TrainingOptions& options, const Watch& watch = {});

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
