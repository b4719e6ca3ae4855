// The settings of `char_lm train`: a row for each, from which options, help, presets and checkpoints follow.
#pragma once

#include <string>
#include <vector>

#include "apps/kit/text_training.h"
#include "models/config.h"
#include "models/run_folder.h"

namespace plaingrad::char_lm {

struct Settings : kit::TextTraining {
    std::string preset, config = "gpt2+gelu+no-bias";  // nanoGPT's
    models::RunSettings run;
    std::vector<std::string> files;
    bool lines = false, bytes = false;
    int64_t layers = 4, heads = 4, d_model = 128, context = 64, seed = 1;
    double dropout = 0;
};

// The values of a preset: tiny, small or names; or those of the demo.
Settings recipe(const std::string& preset);

// The rows. Parsing them sets `s`.
void add_train_options(kit::Options& options, Settings& s);

// Throws UsageError for a `config` that is unknown, or does not fit the heads.
models::Config model_config(const Settings& s, int64_t vocabulary, int64_t context);
models::RunOptions run_options(const Settings& s);

}  // namespace plaingrad::char_lm
