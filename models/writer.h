// Continues a text: a LanguageModel with the characters of its text.
//
//     const auto write = models::Writer::load("run");  // of `char_lm train ... --save run`
//     std::cout << "The " << write("The ", {.sampling = {.temperature = 0.8}}, Rng(1));
//
// It computes in the precision of the saved model. To choose another, the object must not be const:
//
//     write.model.config.block.precision = models::Precision::float32;
#pragma once

#include "models/language_model.h"
#include "models/sampling.h"
#include "models/text/characters.h"
#include "nn/checkpoint/header.h"

namespace plaingrad::models {

struct Writer {
    // What `char_lm train` has saved: a run's folder (see model_file), or one of the files in it. Throws
    // FileError naming the file for any other.
    static Writer load(const std::string& path);
    // For a saved model: what its file has besides the configuration.
    nn::checkpoint::Metadata metadata() const;

    // Returns the continuation of the prompt; with `lines`, the rest of its line. on_character is called with
    // each character as it is drawn. Throws Error for a prompt with a character that the model does not know,
    // and, with `lines`, for one that is longer than a line.
    std::string operator()(const std::string& prompt, const GenerationOptions& options = {},
                           const Rng& rng = Rng(1),
                           const std::function<void(const std::string&)>& on_character = {}) const;

    LanguageModel model;
    text::Characters characters;
    bool lines = false;  // whether it learned lines, each between <sos> and <eos>, or one long text
};

}  // namespace plaingrad::models
