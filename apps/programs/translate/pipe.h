// Translating line by line, from a file or a pipe to standard output.
#pragma once

#include <iosfwd>
#include <string>

#include "models/translator.h"

namespace plaingrad::translate {

struct PipeOptions {
    models::TranslationOptions translation = {};
    bool list = false;    // `line ||| translation ||| score`, lines counted from 0 as the field does
    bool scores = false;  // the score and a tab before each translation
};

// Lines are translated together as they come: at a terminal, or from a program that waits for the answer,
// none has to wait for the next. `name` is what messages call the input. Throws Error for input that cannot
// be read, and if the model has never seen any of its characters.
void translate_lines(const models::Translator& translator, const PipeOptions& options, std::istream& in,
                     const std::string& name);

}  // namespace plaingrad::translate
