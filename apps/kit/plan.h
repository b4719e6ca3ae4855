// The plan printed before the first step of a training run: memory, disk space, and when it will end.
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

// Before a model is built: throws Error if there is not enough memory to train so many parameters, which
// models::least_parameters knows.
void check_memory(double parameters);

// Prints to standard error what a run needs: memory, and disk space if there is a folder. It also estimates
// the time of this many steps and their batches, from forward and backward of some batches, which take at
// most a second and do not change the model. Throws Error if there is not enough memory.
void print_plan(const std::vector<nn::NamedParameter>& parameters, const Plan& plan, bool folder,
                int64_t steps, int64_t batches);

}  // namespace plaingrad::kit
