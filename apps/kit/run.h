// A training run on the terminal, the same for every program: its plan, a progress line, a line for
// each validation, Ctrl-C, and how to resume it.
//
//     Settings s;                                          // with a models::RunSettings
//     kit::Options options = train_options(s);             // with kit::add_run_options
//     options.parse(argc, argv);
//     const models::RunFolder folder("classify", s.run, options);  // with --resume, `s` is as the run began
//     const Classifier model(...);
//     models::Run run(folder, models::parts_of(model));            // and `model` what the checkpoint holds
//     if (kit::train(run, loss_of, training_options, plan))        // false if --stop-after ended it
//         test(model);
#pragma once

#include "apps/kit/options.h"
#include "apps/kit/plan.h"
#include "models/run.h"

namespace plaingrad::kit {

// --save, --resume, --save-every, --stop-after.
void add_run_options(Options& options, models::RunSettings& run);

// Trains, and saves what was learned. Returns whether the run has come to its end. Throws Interrupted after
// Ctrl-C, when everything is saved.
bool train(models::Run& run, const nn::LossOf& loss_of, const nn::TrainingOptions& options, Plan plan);

// The same around a loop of the program's own (see apps/reverse_task.cpp): it begins with the step that
// `begin` returns, and `end` comes after it.
int64_t begin(models::Run& run, int64_t steps, const Plan& plan);
bool end(models::Run& run);

// What `info` says of a run: how far it is, its best validation, and its settings, which the rows of `train`
// explain. `path`: a run's folder, or a file. False, and nothing is said, if it is no such checkpoint.
bool print_run(const std::string& program, const std::string& path, Options& train);
// The command itself, of programs that say no more: info FOLDER, of a run or of several.
int info(const std::string& program, int argc, char** argv, Options train);
template <class Settings>
Command info_command(const std::string& program, Options (*train_options)(Settings&)) {
    return {"info", "says how far a run is, and its settings", [=](int argc, char** argv) {
                Settings settings;
                return info(program, argc, argv, train_options(settings));
            }};
}
// A program that does nothing else: trains with its words and options, or describes a run (`info`).
template <class Settings>
int run_trainer(const std::string& program, int argc, char** argv, Options (*train_options)(Settings&),
                int (*train)(Settings&, Options&)) {
    const auto otherwise = [&](int count, char** words, const std::vector<Command>& commands) {
        Settings settings;
        Options options = train_options(settings);
        options.commands(commands);
        options.parse(count, words);
        return train(settings, options);
    };
    return run_command(argc, argv, otherwise, {info_command(program, train_options)}, true);
}

}  // namespace plaingrad::kit
