// The settings of `classify train`: a row for each, from which options, help and checkpoints follow.
#pragma once

#include <string>
#include <vector>

#include "apps/kit/options.h"
#include "models/families/one_stack.h"
#include "models/runs/run_folder.h"
#include "models/text/learn_tokenizer.h"

namespace plaingrad::classify {

struct Settings {
    models::RunSettings run = {.save_every = 100};
    std::vector<std::string> files;
    std::string validation, from;
    int64_t epochs = 0, batch = 64, layers = 1, heads = 4, d_model = 128, patience = 0, seed = 1;
    double lr = 1e-3, dropout = 0.3, label_smoothing = 0.1;
    models::text::FeatureLearning features;
};

// Whether --validation is a number of lines to hold out, and not a file.
bool is_number(const std::string& text);

// The rows. Parsing them sets `s`.
void add_train_options(kit::Options& options, Settings& s);

// With --from: checks that nothing was given which the folder decides. For a new run. Throws UsageError.
void check_from(const kit::Options& options, const Settings& s);

// The model that the settings describe. Throws UsageError if they contradict each other.
models::Config configure(const Settings& s, int64_t vocabulary, int64_t classes);

}  // namespace plaingrad::classify
