// What is said before the first step of a training run: what it takes in memory and files, and when it will
// end.
#pragma once

#include <functional>

#include "models/config.h"
#include "nn/training.h"

namespace plaingrad::kit {

struct Plan {
    double activations = 0;  // bytes, of the largest batch
    double decoding = 0;     // bytes; not at the same time
    int64_t files = 3;       // how many models the folder will hold
    const char* advice = "a smaller --batch takes less";
    std::function<nn::StepLoss(int64_t i)> batch = {};  // of batches like the run's, to measure their time
    int64_t plain_lines_every = 100;                    // of the progress, where it does not go to a terminal
};

// Bytes that backward needs of so many tokens: for each token and layer seven vectors and one of the
// feed-forward (measured, as are the 512 positions whose logits are in memory together).
double activation_bytes(const models::StackConfig& config, int64_t tokens);
double activation_bytes(const models::TransformerConfig& config, int64_t tokens);

// What a run takes, on standard error: memory, and files if there is a folder; and, from forward and backward
// of some batches, a second's at most, from which nothing is learned, the time of so many steps and their
// batches. Throws Error if there is less memory than that.
void print_plan(const std::vector<nn::NamedParameter>& parameters, const Plan& plan, bool folder,
                int64_t steps, int64_t batches);

}  // namespace plaingrad::kit
