// A new model, to be trained from nothing: an encoder-decoder as the command line describes it; or a folder
// as from Hugging Face, with random weights, and a tokenizer that is learned from texts.
#pragma once

#include <iostream>

#include "apps/kit/options.h"
#include "apps/kit/text.h"
#include "models/saved.h"
#include "models/transformer.h"

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

struct NewModel {
    std::vector<std::string> words;  // the folder, then files
    bool bytes = false;
    int64_t vocabulary = 1024, layers = 4, heads = 4, d_model = 128, context = 128, seed = 1;
};

// The rows. tokens: what the vocabulary consists of, at least `least` of them. heads: which ones, if there
// are several kinds.
void add_new_options(Options& options, NewModel& s, const std::string& tokens, int64_t least,
                     const std::string& heads = "");

// The sizes that were given, in a configuration of their family; with a feed-forward of four times the width,
// and special ids that are to be replaced by those of a tokenizer.
void set_sizes(models::Config& config, const NewModel& s);

// Checks that the model fits into memory, and the folder has none; returns the text of all files, and makes
// the folder.
std::string begin_new(const NewModel& s, const models::Config& config);

// Writes the model, behind its tokenizer: a folder with a model has all that belongs to it.
template <class Model>
void write_new(const NewModel& s, const models::Config& config, models::hugging_face::Family family) {
    const Model model(config, autograd::Rng(static_cast<uint64_t>(s.seed)));
    models::save(s.words[0], model, models::hugging_face::config_of(config, family));
    std::cout << s.words[0] << ": " << grouped(nn::parameter_count(model)) << " random parameters, "
              << grouped(config.vocabulary) << " tokens\n";
}

}  // namespace plaingrad::kit
