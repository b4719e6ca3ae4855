// A new model, to be trained from nothing: a folder as from Hugging Face, with random weights, and a
// tokenizer that is learned from texts.
#pragma once

#include "apps/kit/options.h"

namespace plaingrad::generate {

struct NewSettings {
    std::vector<std::string> words;  // the folder, then files
    std::string family = "gpt2";
    bool bytes = false;
    int64_t vocabulary = 1024, layers = 4, heads = 4, d_model = 128, context = 128, seed = 1;
};

void add_new_options(kit::Options& options, NewSettings& s);
void make_new(const NewSettings& s);

}  // namespace plaingrad::generate
