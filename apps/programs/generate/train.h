// Fine-tuning: more training of a model from Hugging Face, on texts.
#pragma once

#include <string>
#include <vector>

#include "apps/kit/text_training.h"
#include "models/run_folder.h"

namespace plaingrad::generate {

struct TrainSettings : kit::TextTraining {
    TrainSettings()
        : TextTraining{.batch = 4, .steps = 200, .validate_every = 50, .patience = 0, .lr = 5e-5} {}

    models::RunSettings run = {};
    std::vector<std::string> words = {};  // the model, and the files
    bool bytes = false;
    int64_t layers = 0, context = 0, seed = 1;
};

// The rows. Parsing them sets `s`.
void add_train_options(kit::Options& options, TrainSettings& s);

// Trains, and writes the result into the run's folder, as one from Hugging Face.
void train(const TrainSettings& s, const models::RunFolder& folder);

}  // namespace plaingrad::generate
