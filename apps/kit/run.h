// A training run, the same for every program: it says first what it will take, keeps a log and checkpoints in
// its folder, and can be stopped at any moment and resumed to the same bits.
//
//     Settings s;                                         // with a kit::RunSettings
//     kit::Options options = train_options(s);            // with kit::add_run_options
//     options.parse(argc, argv);
//     kit::RunFolder folder("classify", s.run, options);  // with --resume, `s` is as the run began
//     const Classifier model(...);
//     kit::Run run(folder, s.run, kit::parts_of(model));  // and `model` what the checkpoint holds
//     if (run.train(loss_of, training_options, plan))     // false if --stop-after ended it
//         test(model);
#pragma once

#include "apps/kit/plan.h"
#include "apps/kit/progress.h"
#include "apps/kit/run_folder.h"
#include "models/pytorch.h"
#include "models/saved.h"

namespace plaingrad::kit {

// What a run must know of its model: its weights, how a file has them, and how such a file is written.
struct RunParts {
    std::vector<nn::NamedParameter> parameters;
    nn::checkpoint::StateDict state;
    std::function<void(const std::string& path, const Metadata& extra, const nn::Training* training)> save;
    std::string data = {};  // which data a run began with: it is resumed with no others
};
// text: what the model's file has to say besides its configuration.
template <class Model>
RunParts parts_of(const Model& model, const Metadata& text = {}, const std::string& data = "") {
    return {nn::parameters(model), models::state_dict(model),
            [&model, text](const std::string& path, Metadata extra, const nn::Training* training) {
                extra.insert(text.begin(), text.end());
                models::save(path, model, extra, training);
            },
            data};
}

// What a program adds, if it needs to.
struct RunHooks {
    std::function<Metadata()> state = {};  // where its data stand, if the number of steps does not tell
    std::function<std::string(int64_t step, double loss)> describe_validation = {};
    std::function<void(const nn::StepReport& report)> after_step = {};  // before a checkpoint is written
    int64_t plain_lines_every = 100;    // of the progress, where it does not go to a terminal
    std::function<void()> finish = {};  // writes what was learned, in place of the best weights
};

// A number that depends on every letter, for RunParts::data.
std::string fingerprint(const std::vector<std::string>& texts);

class Run {
public:
    // Both outlive it. With --resume it stands where the checkpoint does. adam: by default the paper's, §5.3.
    Run(const RunFolder& folder, const RunSettings& settings, RunParts parts, RunHooks hooks = {},
        const nn::AdamOptions& adam = {.beta2 = 0.98, .eps = 1e-9});

    // Throws Interrupted after Ctrl-C, when everything is saved. Returns whether the run has come to its end;
    // then the model has the best weights, or the last if there was no validation.
    bool train(const nn::LossOf& loss_of, nn::TrainingOptions options, Plan plan);

    // Where the loop is the program's own (see apps/reverse_task.cpp): steps from begin() to last(), as long
    // as after_step() returns true; and then end().
    int64_t begin(int64_t steps, const Plan& plan, int64_t batches_in_step = 1);
    int64_t last() const { return stop_; }
    bool after_step(nn::StepReport report);  // its seconds are measured here
    bool end();

    nn::Training training;
    std::vector<double> losses;  // of the steps of this call

private:
    bool has_ended() const;
    bool keep(const nn::StepReport& report);
    void save_last();
    void save_model();

    const RunFolder& folder_;
    const RunSettings& settings_;
    RunParts parts_;
    RunHooks hooks_;
    nn::TrainingLog log_;
    nn::Watch watch_;
    int64_t steps_ = 0, stop_ = 0, patience_ = 0;
    std::chrono::steady_clock::time_point start_;
    double loss_ = 0;         // of the last step
    std::string validation_;  // what was said of the last one
};

}  // namespace plaingrad::kit
