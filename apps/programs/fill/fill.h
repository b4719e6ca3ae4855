// Trains a masked language model on texts, further or from nothing.
#pragma once

#include <string>
#include <vector>

#include "apps/kit/text_training.h"
#include "models/runs/run_folder.h"

namespace plaingrad::fill {

struct TrainSettings : kit::TextTraining {
    TrainSettings()
        : TextTraining{.batch = 16, .steps = 200, .validate_every = 50, .patience = 0, .lr = 5e-5} {}

    models::RunSettings run = {};
    std::vector<std::string> words = {};  // the model, and the files
    int64_t context = 0, seed = 1;
};

// The rows. Parsing them sets `s`.
void add_train_options(kit::Options& options, TrainSettings& s);

// `fill train`: writes the result into the run's folder, as one from Hugging Face.
void train_command(kit::Options& options);

}  // namespace plaingrad::fill
