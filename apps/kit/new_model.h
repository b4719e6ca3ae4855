// A new model, to be trained from nothing: an encoder-decoder as the command line describes it; or a folder
// as from Hugging Face, with random weights, and a tokenizer that is learned from texts.
#pragma once

#include "apps/kit/options.h"
#include "models/families/transformer.h"

namespace plaingrad::kit {

// Whose model it is, and what is different; 0 and "": nothing.
struct PresetModel {
    std::string preset, positions = {};
    int64_t d_model = 0, n_heads = 0, d_ff = 0, n_layers = 0;
};
void add_preset(Options& options, std::string& preset);  // the row of --preset
void add_model_options(Options& options, PresetModel& m);
models::Config config_of(const PresetModel& m);

// A model of these sizes, if there is memory to train it; says what it runs on.
models::Transformer new_transformer(const models::Config& config, const autograd::Rng& rng);

// The whole command `new FOLDER FILE...`: makes a folder as from Hugging Face, with a tokenizer that it
// learns from the files, and a model with random weights. families: those that --family chooses from; the
// first is the default.
Command new_command(const std::vector<std::string>& families);

}  // namespace plaingrad::kit
