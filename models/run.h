// A training run, the same for every program: it keeps a log and checkpoints in its folder, and can be
// stopped or killed at any moment and resumed to the same bits. It has no terminal: progress and signals hang
// on the nn::Watch.
//
//     models::Settings settings;                                    // a row for each
//     const models::RunFolder folder("mine", {.save = "run", .save_every = 100}, settings);
//     const models::LanguageModel model(config, rng);
//     models::Run run(folder, models::parts_of(model));  // with .resume: as the folder's run was left
//     if (run.train(loss_of, {.steps = 1000, .learning_rate = schedule}))  // false if it was stopped
//         run.finish();                                                    // run/model.safetensors
#pragma once

#include <chrono>

#include "models/pytorch.h"
#include "models/run_folder.h"
#include "models/saved.h"

namespace plaingrad::models {

// What a run must know of its model: its weights, how a file has them, and how such a file is written.
struct RunParts {
    std::vector<nn::NamedParameter> parameters;
    nn::checkpoint::StateDict state;
    std::function<void(const std::string& path, const Metadata& extra, const nn::Training* training)> save;
    std::string data = {};  // which data a run began with (text::fingerprint): it is resumed with no others
};
// text: what the model's file has to say besides its configuration.
template <class Model>
RunParts parts_of(const Model& model, const Metadata& text = {}, const std::string& data = "") {
    return {nn::parameters(model), state_dict(model),
            [&model, text](const std::string& path, Metadata extra, const nn::Training* training) {
                extra.insert(text.begin(), text.end());
                models::save(path, model, extra, training);
            },
            data};
}

// What a program adds, if it needs to.
struct RunHooks {
    std::function<Metadata()> state = {};  // its position in the data, unless steps imply it
    std::function<std::string(int64_t step, double loss)> describe_validation = {};
    std::function<void(const nn::StepReport& report)> after_step = {};  // before a checkpoint is written
    std::function<void()> finish = {};  // writes what was learned, in place of the best weights
};

class Run {
public:
    // The folder outlives it. When the folder resumes a run, this run continues from the checkpoint.
    // adam: by default the paper's, §5.3.
    Run(const RunFolder& of_run, RunParts of_model, RunHooks hooks = {},
        const nn::AdamOptions& adam = {.beta2 = 0.98, .eps = 1e-9});
    Run(Run&&) = delete;  // its watch knows where it is

    // Returns whether the run has come to its end, and not only this call. Of the watch, `after_step` is the
    // run's.
    bool train(const nn::LossOf& loss_of, nn::TrainingOptions options, nn::Watch watch = {});
    // Then: gives the model the best weights, or leaves it the last if there was no validation, and saves it.
    // Returns the step that they are of, or 0 if nothing was saved here.
    int64_t finish();

    // Where the loop is the program's own (see apps/reverse_task.cpp): steps from begin() to last(), as long
    // as after_step() returns true; then stop(), which returns what train() does. patience: of
    // TrainingOptions.
    int64_t begin(int64_t steps, nn::Watch watch = {}, int64_t patience = 0);
    int64_t last() const { return last_; }
    bool after_step(nn::StepReport report);  // its seconds are measured here
    bool stop();

    // Of a run of so many steps: whether it has ended already, and the last step of this call.
    bool has_ended(int64_t steps, int64_t patience) const;
    int64_t last_of(int64_t steps) const;

    const RunFolder& folder;
    RunParts parts;
    nn::Training training;
    std::vector<double> losses;  // of the steps of this call
    std::string validation;      // the message about the last one

private:
    void keep(const nn::StepReport& report);
    void save_last();

    RunHooks hooks_;
    nn::TrainingLog log_;
    nn::Watch watch_;
    int64_t steps_ = 0, last_ = 0, patience_ = 0;
    bool stopped_ = false;
    std::chrono::steady_clock::time_point start_;
    double loss_ = 0;  // of the last step
};

}  // namespace plaingrad::models
