// From a text with gaps to words for them: a MaskedLanguageModel with its tokenizer.
//
//     const auto fill = models::Filler::load("bert");  // a folder from Hugging Face: BertForMaskedLM
//     std::cout << fill("The [MASK] sat on the mat.")[0][0].word;
#pragma once

#include <string>
#include <vector>

#include "models/families/one_stack.h"
#include "models/text/tokenizer.h"

namespace plaingrad::models {

struct Filling {
    std::string word;  // or a part of one, which then begins with ##
    double probability = 0;
};

struct Filler {
    // Throws FileError naming the file for a folder that cannot be read, whose model is another one, or whose
    // tokenizer has no mask.
    static Filler load(const std::string& path, const OpenOptions& options = {});

    // What the model reads; `cut` if that is not the whole text. Throws Error, beginning with `where`, if
    // there is no mask in it.
    text::Encoding encode(const std::string& text, const std::string& where = "[Filler]") const;

    // For each mask that the model reads the `top` most probable tokens, the most probable first. A mask is
    // filled as if the others stayed. Throws Error as `encode` does, and for a top below 1.
    std::vector<std::vector<Filling>> operator()(const std::string& text, int64_t top = 5) const;

    // The text with these words in the place of its first masks; a part of a word joins what is before it.
    std::string filled(const std::string& text, const std::vector<std::string>& words) const;

    MaskedLanguageModel model;
    text::Tokenizer tokenizer;
    int32_t mask_id = 0;
    std::string mask = {};                // as texts have it: [MASK]
    std::vector<std::string> notes = {};  // a line each: what was ignored in the folder, and why
};

}  // namespace plaingrad::models
