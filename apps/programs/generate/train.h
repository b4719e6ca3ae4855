// Fine-tuning: more training of a model from Hugging Face, on texts.
#pragma once

#include <string>
#include <vector>

#include "apps/kit/options.h"
#include "models/run_folder.h"

namespace plaingrad::generate {

struct TrainSettings {
    models::RunSettings run = {};
    std::vector<std::string> words = {};  // the model, and the files
    bool bytes = false;
    int64_t layers = 0, context = 0, batch = 4, steps = 200, validate_every = 50, patience = 0, seed = 1;
    double lr = 5e-5;
};

// The rows. Parsing them sets `s`.
void add_train_options(kit::Options& options, TrainSettings& s);

// Trains, and writes the result into the run's folder, as one from Hugging Face.
void train(const TrainSettings& s, const models::RunFolder& folder);

}  // namespace plaingrad::generate
