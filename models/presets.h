// The ways in which well-known tutorials build the Transformer, each as one configuration.
//
// Where they differ: positions, scaling, which matrices are shared, where dropout is applied, which layers
// have a bias, and where the norm is placed. Vocabularies have the tutorial's size, or 0, to be set from the
// data. Beside `paper` ("Attention Is All You Need") and `prenorm` (the same with the norm first) they
// are
//
//     article             "Transformer. Implementing a Transformer Architecture from scratch in PyTorch"
//     notebook            "Transformer from Scratch. Based on 'Attention Is All You Need'"
//     blog, blog-scratch  "Transformers", Prashanthi's Blog
//     summary             on "Build your own Transformer from scratch using PyTorch", Towards Data Science
//     chapter             a chapter on the Transformer that translates English to Spanish; it has no title
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/config.h"

namespace plaingrad::models {

struct Preset {
    std::string name;
    Config config;
};

const std::vector<Preset>& presets();

// The families with one stack, in the sizes that made them known, or a small one of these. Set the fields
// that differ in your model.
Config gpt2();   // for LanguageModel: GPT-2 small, Radford et al. 2019
Config llama();  // for LanguageModel: Llama 3.2 1B, Grattafiori et al. 2024
Config bert();   // for MaskedLanguageModel, and Classifier's stack: BERT base, Devlin et al. 2019

// Throws Error listing the names if there is none of this name.
const Config& preset(std::string_view name);

}  // namespace plaingrad::models
