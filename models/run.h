// A training run, the same for every program: it keeps a log and checkpoints in its folder. It can be stopped
// or killed at any moment, and resumed with the same bits. It knows no terminal: an nn::Watch shows progress
// and reacts to signals.
//
//     models::Settings settings;  // with a row for each setting
//     const models::RunFolder folder("mine", {.save = "run", .save_every = 100}, settings);
//     const models::LanguageModel model(config, rng);
//     models::Run run(folder, models::run_model(model));  // with .resume: loads the checkpoint
//     if (run.train(loss_of, {.steps = 1000, .learning_rate = schedule}))  // false if it was stopped
//         run.finish();                                                    // run/model.safetensors
#pragma once

#include <chrono>

#include "models/pytorch.h"
#include "models/run_folder.h"
#include "models/saved.h"

namespace plaingrad::models {

// A model as a run sees it: its parameters, their names in a file, and how to write that file.
struct RunModel {
    std::vector<nn::NamedParameter> parameters;
    nn::checkpoint::StateDict state;
    std::function<void(const std::string& path, const Metadata& extra, const nn::Training* training)> save;
    std::string data = {};  // identifies the data (text::fingerprint); a run resumes with the same data only
    // Reads the weights of the model that `save` has written; without: as those of any saved model.
    std::function<void(const std::string& path)> load = {};
    const text::Tokenizer* tokenizer = nullptr;  // what the folder gets before the first checkpoint; or none
};
// text: what the model's file has besides the configuration.
template <class Model>
RunModel run_model(const Model& model, const Metadata& text = {}, const std::string& data = "",
                   const text::Tokenizer* tokenizer = nullptr) {
    return {nn::parameters(model),
            state_dict(model),
            [&model, text](const std::string& path, Metadata extra, const nn::Training* training) {
                extra.insert(text.begin(), text.end());
                models::save(path, model, extra, training);
            },
            data,
            {},
            tokenizer};
}

// What a program can add to a run.
struct RunHooks {
    std::function<Metadata()> state = {};  // its position in the data, unless steps imply it
    std::function<void(const nn::StepReport& report)> on_step = {};  // before its validation
    std::function<std::string(int64_t step, double loss)> describe_validation = {};
    std::function<void(const nn::StepReport& report)> after_step = {};  // before a checkpoint is written
    // Writes what was learned, in place of the best weights. All processes call it.
    std::function<void()> finish = {};
};

class Run {
public:
    // The folder outlives it. When the folder resumes a run, this run continues from the checkpoint.
    // adam: by default the paper's, §5.3.
    Run(const RunFolder& of_run, RunModel of_model, RunHooks hooks = {},
        const nn::AdamOptions& adam = {.beta2 = 0.98, .eps = 1e-9});
    Run(Run&&) = delete;  // its watch points to it

    // Returns whether the run has come to its end, and not only this call. The watch's `after_step` is called
    // before a checkpoint is written.
    bool train(const nn::LossOf& loss_of, nn::TrainingOptions options, nn::Watch watch = {});
    // To be called then: loads the best weights into the model, or keeps the last if there was no validation,
    // and saves it. Returns the step of these weights, or 0 if nothing was saved here. If best.safetensors is
    // missing, loads the model that an earlier call has saved; throws Error if there is none.
    int64_t finish();

    // For a program with a loop of its own (see apps/reverse_task.cpp), instead of train(): steps from
    // begin() to last(), as long as after_step() returns true; then stop(), which lets go of the watch and of
    // what it captured, and returns what train() does.
    // patience: as in TrainingOptions.
    int64_t begin(int64_t steps, nn::Watch watch = {}, int64_t patience = 0);
    int64_t last() const { return last_; }
    bool after_step(nn::StepReport report);  // its seconds are measured here
    bool stop();

    // For a run of so many steps: whether it has ended already, and the last step of this call.
    bool has_ended(int64_t steps, int64_t patience) const;
    int64_t last_of(int64_t steps) const;
    void save_last();  // the file to resume from, with the settings of this call

    // Gives all processes the weights of process 0, which has read them from a file.
    void share_weights() const;

    const std::string& log() const { return log_.text(); }  // CSV, a row for each step

    const RunFolder& folder;
    RunModel model;
    nn::Training training;
    std::vector<double> losses;  // of the steps of this call
    std::string validation;      // the message about the last one

private:
    void check_same() const;
    void resume();
    void keep(const nn::StepReport& report);
    int64_t finish_first();

    RunHooks hooks_;
    nn::TrainingLog log_;
    nn::Watch watch_;  // its after_step is keep, which calls the one that was given
    std::function<void(const nn::StepReport& report)> after_step_;
    int64_t steps_ = 0, last_ = 0, patience_ = 0;
    bool stopped_ = false;
    std::chrono::steady_clock::time_point start_;
    double loss_ = 0;  // of the last step
};

}  // namespace plaingrad::models
