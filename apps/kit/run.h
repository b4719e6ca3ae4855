// A training run on the terminal, the same for every program: its plan, a progress line, a line for
// each validation, Ctrl-C, and how to resume it.
//
//     Settings s;                                          // with a models::RunSettings
//     add_train_options(options, s);                       // with kit::add_run_options
//     options.parse();
//     const models::RunFolder folder("classify", s.run, options);  // with --resume, restores `s`
//     const Classifier model(...);
//     kit::Run run(folder, models::run_model(model), run_options, plan);  // and the weights of `model`
//     while (run.next())
//         run.learn(batch(run.step()), loss);
//     if (run.finish())  // false if --stop-after ended it
//         test(model);
#pragma once

#include <optional>

#include "apps/kit/options.h"
#include "apps/kit/plan.h"
#include "apps/kit/program.h"
#include "apps/kit/report.h"
#include "models/runs/run.h"

namespace plaingrad::kit {

// --check, --plot, --report: of all programs that train.
void add_report_options(Options& options, models::RunSettings& run);
// The same, and --save, --resume, --save-every, --stop-after, --parts, --precision.
void add_run_options(Options& options, models::RunSettings& run);

// The name of a file, which a run keeps as an absolute one, and which may be given again, as the file may
// have moved. Or a text that is no name: is_no_file says which.
Option& add_file(
    Options& options, const std::string& name, const std::string& argument, const std::string& help,
    std::string& file,
    bool (*is_no_file)(const std::string& text) = [](const std::string&) { return false; });

// A plan for an encoder-decoder that learns from batch(step), of at most so many tokens on a side.
template <class BatchOf>
RunPlan run_plan_of(const models::Transformer& model, int64_t tokens, const BatchOf& batch,
                    ReportModel report_model) {
    return {.activations = activation_bytes(model.config, tokens),
            .report_model = std::move(report_model),
            .objective = objective_of(model, [=](int64_t step) { return examples_of(batch(step)); })};
}

class Run : public models::Run {
public:
    Run(const models::RunFolder& folder, models::RunModel model, models::RunOptions options, RunPlan plan);

    // After the loop: saves what was learned, and says so. Returns whether the run has come to its end. After
    // Ctrl-C, throws Interrupted.
    bool finish();
    // The same for a program that saves by itself what was learned.
    bool ends();

    RunPlan plan;

private:
    void begins() override;
    void stepped(const nn::StepReport& report) override;
    void has_validated(bool better) override;
    void will_save(const nn::StepReport& report) override;
    bool should_stop() override { return interrupted(); }

    std::optional<Report> report_;  // of process 0, as the line
    std::optional<Progress> progress_;
};

// Prints what `info` says about a run: its progress, its best validation, and its settings, which are rows of
// `train`. path: a run's folder, or a file. Prints nothing and returns false if that is no checkpoint of such
// a run.
bool print_run(const std::string& program, const std::string& path, Options& train);
// The whole command `info FOLDER`, of one run or several. add_rows: of the settings that the program trains
// with. print_folder: what it prints about a model, if the program opens any.
using PrintFolder = void (*)(const std::string& path);
void info(const std::string& program, Options& options, Options& train, PrintFolder print_folder);
template <class Settings>
Command info_command(const std::string& program, void (*add_rows)(Options&, Settings&),
                     PrintFolder print_folder = nullptr) {
    return {"info", "shows the progress and the settings of a run", [=](Options& options) {
                Settings settings;
                Options train({program});
                add_rows(train, settings);
                info(program, options, train, print_folder);
            }};
}

}  // namespace plaingrad::kit
