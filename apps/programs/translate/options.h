// The settings of `translate train`: a row for each, from which options, help, presets and checkpoints
// follow.
#pragma once

#include <string>
#include <vector>

#include "apps/kit/options.h"
#include "models/families/transformer.h"
#include "models/runs/run_folder.h"
#include "models/text/learn_tokenizer.h"

namespace plaingrad::translate {

struct Settings {
    std::string preset = "tiny", codes;
    models::RunSettings run;
    std::vector<std::string> files, validation;
    models::text::PieceOptions text = {};
    int64_t layers = 4, heads = 4, d_model = 128, d_ff = 256;
    int64_t context = 128, batch_tokens = 4096, accumulate = 1, steps = 8000, warmup = 2000;
    int64_t patience = 10, seed = 1;
    double lr = 5e-3, dropout = 0.3, bpe_dropout = 0, label_smoothing = 0.1;
    // Only a preset changes these: how many epochs are averaged, and the norm that gradients are clipped to.
    int64_t average = 10;
    double clip = 25;
};

// The rows. Parsing them sets `s`. Of the data alone: the files, --validation and --bytes.
void add_data_options(kit::Options& options, Settings& s);
void add_train_options(kit::Options& options, Settings& s);

// Throws UsageError for settings that are incomplete or contradict each other.
void check_files(const Settings& s);
void check_settings(const Settings& s);

models::Config model_config(const Settings& s, const models::text::Tokenizer& tokenizer);

}  // namespace plaingrad::translate
