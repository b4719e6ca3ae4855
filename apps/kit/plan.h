// A training run on the terminal: the plan before its first step (memory, disk space, and when it will end),
// and then its progress: one updated line with the curve of the loss, or occasional plain lines.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "apps/kit/check.h"
#include "apps/kit/report.h"
#include "models/config.h"
#include "nn/training.h"

namespace plaingrad::kit {

struct RunPlan {
    double activations = 0;  // bytes, of the largest batch
    double decoding = 0;     // bytes; never needed at the same time as the activations
    double frozen = 0;       // how many weights do not learn: they have no gradients, and no optimizer
    int64_t files = 3;       // how many models the folder will hold
    const char* advice = "a smaller --batch needs less";
    std::string continues = "";  // how to continue a run that has ended; empty: only a new one can be longer
    bool validates = false;      // which takes time that the plan cannot know
    ReportModel report_model = {};  // what a page about the run shows (report.h)
    Objective objective = {};       // what is learned (check.h)
    bool pretrained = false;        // whether the model has learned before: then its first loss may be small
    double learning_rate = 0;       // the highest one
    int64_t plain_lines_every = 100;  // steps between progress lines outside a terminal

    // The loss of a step's batch, without the step.
    autograd::Tensor try_batch(int64_t step) const {
        return objective.loss(objective.examples(step), nn::Mode::train(autograd::Rng(0)));
    }
};

// Estimates how many bytes the forward pass over `tokens` keeps for backward: per token and layer, seven
// vectors of d_model and one of d_ff, or two of a gated feed-forward; and the logits of 512 positions. The
// seven and the 512 are measured.
double activation_bytes(const models::Config& config, int64_t tokens);

// Before a model is built: throws UsageError unless the width is a multiple of the heads, and Error if there
// is not enough memory to train so many parameters, which models::least_parameters knows.
void check_heads(int64_t d_model, int64_t heads);
void check_memory(double parameters);
void check_memory_to_open(double bytes);  // the same for weights that are only used

// Prints to standard error what a run needs: memory, disk space if there is a folder, and time. The time is
// estimated from forward and backward passes over the batches of the next steps, for about a second; they do
// not change the model. Throws Error if there is not enough memory.
void print_plan(const nn::DataParallel& parallel, const std::vector<nn::NamedParameter>& parameters,
                const RunPlan& plan, bool folder, int64_t done, int64_t steps, int64_t batches);

class Progress {
public:
    // For steps done + 1 to total. Outside a terminal, prints a line for the first step, every `every` steps,
    // and for the last.
    Progress(int64_t total, int64_t every, int64_t done = 0);
    ~Progress();
    Progress(Progress&&) = delete;  // nor copied

    // To be called after step `step` (from 1), with its loss and its number of target tokens.
    void update(int64_t step, double loss, int64_t tokens);

    // Prints a line that stays above the progress line.
    void note(const std::string& text);

private:
    std::string line(int64_t step, double loss) const;
    std::string curve(int width) const;

    int64_t total_, every_, done_, tokens_ = 0;
    std::vector<double> losses_;
    bool terminal_, open_ = false;  // open_: the terminal's line is not ended yet
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now(), drawn_ = start_;
};

// Shows on a terminal how much of a large model was read, "gpt2: 62 of 124 million numbers", on a line that
// goes away at the end.
std::function<void(int64_t done, int64_t all)> loading(const std::string& path);

}  // namespace plaingrad::kit
