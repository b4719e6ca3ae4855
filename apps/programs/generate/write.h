// Writing with a model, to standard output.
#pragma once

#include <set>
#include <string>

#include "models/writer.h"

namespace plaingrad::generate {

// Loads a model for a command, and says on standard error what it is, and what was ignored in its folder.
// precision: as of the option; "": the model's own. packed: for a command that only computes with it.
models::Writer open_model(const std::string& path, const std::string& precision = "", bool packed = false);

struct WriteSettings {
    std::string prompt = {};
    models::WritingOptions writing = {};
    int64_t n = 1, seed = 1;
};

// Continues the prompt n times, each with numbers of its own, as it is drawn; between texts, which may have
// several lines, is a line "---". If there are known lines, says how many of the n are not among them. At the
// end, the speed to standard error.
void write(const models::Writer& w, const WriteSettings& s, const std::set<std::string>& known = {});

// Continues what is typed (kit::converse), each text with a seed of its own.
void talk(const models::Writer& w, WriteSettings s);

// "temperature 0.8, top-p 0.95", or "the most probable token".
std::string described(const models::SamplingOptions& o);

}  // namespace plaingrad::generate
