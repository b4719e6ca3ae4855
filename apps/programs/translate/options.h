// The settings of `translate train`: a row for each, from which options, help, presets and checkpoints
// follow.
#pragma once

#include <string>
#include <vector>

#include "apps/kit/options.h"
#include "models/run_folder.h"
#include "models/text/learn_tokenizer.h"
#include "models/transformer.h"

namespace plaingrad::translate {

struct Settings {
    std::string preset = "tiny", pieces = "words", codes;
    models::RunSettings run;
    std::vector<std::string> files, validation;
    models::text::PieceOptions text = {};
    std::string too_long = "drop";
    int64_t layers = 4, heads = 4, d_model = 128, d_ff = 256;
    int64_t max_length = 128, batch_tokens = 4096, accumulate = 1, steps = 8000, warmup = 2000;
    int64_t patience = 10, average = 10, seed = 1, beam = 5;
    double lr = 5e-3, dropout = 0.3, bpe_dropout = 0, label_smoothing = 0.1, clip = 25;
    bool check_data = false;
};

// The rows. Parsing them sets `s`.
void add_train_options(kit::Options& options, Settings& s);

// Throws UsageError for settings that are incomplete or contradict each other.
void check_settings(const Settings& s);

models::Config model_config(const Settings& s, const models::text::Tokenizer& tokenizer);

}  // namespace plaingrad::translate
