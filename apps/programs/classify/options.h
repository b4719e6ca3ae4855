// The settings of `classify train`: a row for each, from which options, help and checkpoints follow.
#pragma once

#include <string>
#include <vector>

#include "apps/kit/options.h"
#include "models/classifier.h"
#include "models/run_folder.h"
#include "models/text/reader.h"

namespace plaingrad::classify {

struct Settings {
    models::RunSettings run = {.save_every = 100};
    std::vector<std::string> files;
    std::string validation, pooling = "mean";
    int64_t epochs = 0, batch = 64, layers = 1, heads = 4, d_model = 128, patience = 0, seed = 1;
    double lr = 1e-3, dropout = 0.3, word_dropout = 0.1, label_smoothing = 0.1, weight_decay = 0.01;
    models::text::ReaderOptions reader;
};

// The rows, which set `s`.
bool is_number(const std::string& text);  // lines to hold out, and no file
kit::Options train_options(Settings& s);

// The model that they describe. Throws UsageError if there is none.
models::ClassifierConfig configure(const Settings& s, int64_t vocabulary, int64_t classes);

}  // namespace plaingrad::classify
