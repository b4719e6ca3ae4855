// A training run on the terminal: its progress line, a line for each validation, and Ctrl-C.
#pragma once

#include <functional>
#include <string>

#include "nn/training.h"

namespace plaingrad::kit {

struct WatchOptions {
    int64_t done = 0;                 // steps that an earlier call has taken
    int64_t plain_lines_every = 100;  // when standard error is not a terminal
    // What is said of a validation; without it, the step and the loss.
    std::function<std::string(int64_t step, double loss)> describe_validation = {};
};

// For a run up to step `end`. After Ctrl-C training ends with its step (see kit::interrupted). The progress
// line ends when the Watch and its copies are gone: pass it as a temporary.
nn::Watch watch(int64_t end, const WatchOptions& options = {});

}  // namespace plaingrad::kit
