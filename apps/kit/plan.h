// The plan printed before the first step of a training run: memory, disk space, and when it will end.
#pragma once

#include <functional>

#include "apps/kit/check.h"
#include "apps/kit/recorder.h"
#include "models/config.h"
#include "nn/training.h"

namespace plaingrad::kit {

struct Plan {
    double activations = 0;  // bytes, of the largest batch
    double decoding = 0;     // bytes; never needed at the same time as the activations
    double frozen = 0;       // how many weights do not learn: they have no gradients, and no optimizer
    int64_t files = 3;       // how many models the folder will hold
    const char* advice = "a smaller --batch needs less";
    std::string continues = "";  // how to continue a run that has ended; empty: only a new one can be longer
    bool validates = false;      // which takes time that the plan cannot know
    Subject subject = {};        // what a page about the run shows (report.h)
    Trial trial = {};            // what --check examines (check.h)
    bool pretrained = false;     // whether the model has learned before: then its first loss may be small
    double learning_rate = 0;    // the highest one
    int64_t plain_lines_every = 100;  // steps between progress lines outside a terminal

    // The loss of a step's batch, without the step.
    autograd::Tensor try_batch(int64_t step) const {
        return trial.loss(trial.examples(step), nn::Mode::train(autograd::Rng(0)));
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
                const Plan& plan, bool folder, int64_t done, int64_t steps, int64_t batches);

}  // namespace plaingrad::kit
