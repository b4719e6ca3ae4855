// Translating line by line, from a file or a pipe to standard output.
#pragma once

#include <iosfwd>
#include <string>

#include "models/translator.h"

namespace plaingrad::translate {

struct PipeOptions {
    models::TranslationOptions translation = {};
    bool list = false;    // `line ||| translation ||| score`; lines are numbered from 0, as in Moses
    bool scores = false;  // the score and a tab before each translation
    bool talks = false;   // unknown words are told elsewhere
};

// Translates together all lines that have arrived. So no line waits for the next one: a user at a terminal,
// or a program that sends a line and waits for its translation, gets it at once. `name` is what messages call
// the input. Throws Error for input that cannot be read, and if the model has seen none of its characters.
void translate_lines(const models::Translator& translator, const PipeOptions& options, std::istream& in,
                     const std::string& name);

// Translates what is typed (kit::converse).
void talk(const models::Translator& translator, PipeOptions options);

}  // namespace plaingrad::translate
