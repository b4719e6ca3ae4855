// A training run on the terminal, the same for every program: the memory that it needs, --check, a progress
// line with the curve of the loss and the time that is left, a line for each validation, Ctrl-C, and how to
// resume it.
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

#include <algorithm>
#include <chrono>
#include <optional>
#include <type_traits>

#include "apps/kit/options.h"
#include "apps/kit/report.h"
#include "models/config.h"
#include "models/families/transformer.h"
#include "models/runs/run.h"

namespace plaingrad::kit {

// --check, --plot, --report: of all programs that train.
void add_report_options(Options& options, models::RunSettings& run);
// The same, and --save, --resume, --save-every, --stop-after, --parts, --precision.
void add_run_options(Options& options, models::RunSettings& run);

// The absolute name of a file: what a row keeps of one (Option::reads), as a run may be resumed elsewhere.
std::string whole_name(const std::string& file);

// ------------------------------------------------------------------------------------- what is learned

// Texts as a model reads them, and what it should answer.
struct Examples {
    std::vector<Tokens> inputs;  // of an encoder-decoder: what each half reads; else one
    Tokens targets;              // (B, T), one for each position; or (B, 1)
};
// Only the first of the inputs decides about the rows.
Examples part_of(const Examples& batch, const nn::StepPart& at);
inline int64_t row_count(const Examples& batch) { return batch.targets.batch(); }
Examples examples_of(const models::Batch& batch);  // with teacher forcing
Examples examples_of(const Tokens& texts);         // each position predicts the next one

inline int64_t without_padding(const Tokens& tokens) {
    return std::ssize(tokens.ids()) - std::count(tokens.ids().begin(), tokens.ids().end(), tokens.pad());
}

// What a model learns, as functions: its answers, its loss, and the batches of a run. --check examines it.
struct Objective {
    using Inputs = std::vector<Tokens>;

    std::function<Tensor(const Inputs&, const nn::Mode&)> logits = {};  // (B, T, V); or (B, V)
    std::function<Tensor(const Examples&, const nn::Mode&)> loss = {};  // that training computes
    std::function<Examples(int64_t step)> examples = {};                // the run's batch of that step
    bool causal = true;  // position t of the last input, and what precedes it, predicts target t

    // The loss of a part of a step; nothing for one without a target.
    nn::StepLoss operator()(const Examples& part, const nn::Mode& mode) const {
        const int64_t terms = without_padding(part.targets);
        return terms == 0
                   ? nn::StepLoss()
                   : nn::StepLoss{loss(part, mode), causal ? terms : without_padding(part.inputs[0]), terms};
    }
};
// label_smoothing: of an encoder-decoder or a classifier, where it learns; what is measured is the loss
// itself.
template <class Model, class ExamplesOf = Examples (*)(int64_t)>
Objective objective_of(const Model& model, const ExamplesOf& examples = {}, bool causal = true,
                       double label_smoothing = 0) {
    const auto logits = [&model](const Objective::Inputs& in, const nn::Mode& mode) {
        if constexpr (std::is_same_v<Model, models::Transformer>)
            return model(in[0], in[1], mode);
        else if constexpr (requires { model.logits(in, mode); })
            return model.logits(in, mode);
        else
            return model(in[0], mode);
    };
    const Model* const of = &model;  // by this name, as a lambda must use all that it names
    const auto loss = [=](const Examples& e, const nn::Mode& mode) {
        const autograd::CrossEntropyOptions options = {
            .label_smoothing = mode.training ? static_cast<Real>(label_smoothing) : 0};
        if constexpr (std::is_same_v<Model, models::Transformer>)
            return of->loss(e.inputs[0], e.inputs[1], e.targets, mode, options);
        else if constexpr (requires { of->loss(e.inputs[0], e.targets, mode); })
            return of->loss(e.inputs[0], e.targets, mode);
        else
            return cross_entropy(logits(e.inputs, mode), e.targets, options);
    };
    return {logits, loss, examples, causal};
}

// ------------------------------------------------------------------------------------------- the plan

struct RunPlan {
    double activations = 0;  // bytes, of the largest batch
    // How to continue a run that has ended.
    std::string continues = "its steps or its --patience ended it, so a longer run must be a new one";
    ReportModel report_model = {};  // what a page about the run shows (report.h)
    Objective objective = {};

    // The loss of a step's batch, without the step.
    Tensor try_batch(int64_t step) const {
        return objective.loss(objective.examples(step), nn::Mode::train(autograd::Rng(0)));
    }
};

// Estimates how many bytes the forward pass over `tokens` keeps for backward: per token and layer, seven
// vectors of d_model and one of d_ff, or two of a gated feed-forward; and the logits of 512 positions. The
// seven and the 512 are measured.
double activation_bytes(const models::Config& config, int64_t tokens);

// Before a model is built: throws UsageError unless the width is a multiple of the heads, and Error if there
// is not enough memory for so many parameters, which models::least_parameters knows. bytes_each: in training,
// a gradient and the two numbers of Adam are beside a weight.
void check_heads(int64_t d_model, int64_t heads);
void check_memory(double parameters, double bytes_each = 4 * sizeof(Real));

// Prints to standard error how much memory a run needs. Throws Error if there is not enough. parameters:
// those that learn; the others have no gradients, and no optimizer.
void print_memory(const models::RunFolder& run, const std::vector<nn::NamedParameter>& parameters,
                  const RunPlan& plan);

// ------------------------------------------------------------------------------------------- the run

class Progress {
public:
    // For steps done + 1 to total. Outside a terminal, prints a line for the first step, for the first one
    // that tells how much time is left, for each hundredth, and for the last.
    explicit Progress(int64_t total, int64_t done = 0);
    ~Progress();
    Progress(Progress&&) = delete;  // nor copied

    // To be called after step `step` (from 1), with its loss and its number of target tokens.
    void update(int64_t step, double loss, int64_t tokens);

    // Prints a line that stays above the progress line.
    void note(const std::string& text);

private:
    std::string line(int64_t step, double loss) const;
    std::string curve(int width) const;

    int64_t total_, done_, tokens_ = 0;
    std::vector<double> losses_;
    bool terminal_, open_ = false;  // open_: the terminal's line is not ended yet
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now(), drawn_ = start_;
};

class Run : public models::Run {
public:
    Run(const models::RunFolder& of_run, models::RunModel of_model, models::RunOptions of_steps, RunPlan of)
        : models::Run(of_run, std::move(of_model), std::move(of_steps)), plan(std::move(of)) {}

    // A whole step of the plan's objective.
    void learn() { models::Run::learn(plan.objective.examples(step()), plan.objective); }
    using models::Run::learn;

    // After the loop: saves what was learned, and says so. Returns whether the run has come to its end. After
    // Ctrl-C, throws Ended.
    bool finish();
    // The same for a program that saves by itself what was learned.
    bool ends();

    RunPlan plan;
    Scores scores;  // of the last validation, for the page: BLEU, ...

private:
    void begins() override;
    bool stepped(const nn::StepReport& report) override;
    void will_save(const nn::StepReport& report) override;

    std::optional<Recorder> recorder_;  // of process 0, as the line
    std::optional<Progress> progress_;
};

// --check: is this model ready for a long run, on this data and with these settings? A few seconds of
// questions with known answers find what a loss curve hides for hours: targets that the model can see, inputs
// that it cannot, a learning rate that is far off. (Most are from A. Karpathy's "A Recipe for Training Neural
// Networks", 2019.) Prints a line for each answer to standard output, with what an unexpected one usually
// means (help_texts.txt). Returns whether all are as expected. The model's weights are the same afterwards.
bool check(const Run& run);

// The whole command `info FOLDER`: the progress of a run, its best validation, and its settings, which are
// rows of `train`. add_rows: of these. print_folder: what it prints about a model, if the program opens any.
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
