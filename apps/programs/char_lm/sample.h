// Writing with a trained model, to standard output.
#pragma once

#include <string>

#include "apps/programs/char_lm/data.h"
#include "models/writer.h"

namespace plaingrad::char_lm {

struct SampleSettings {
    std::string prompt = {}, precision = {};
    int64_t tokens = 400, count = 10, seed = 1;
    models::SamplingOptions sampling = {.temperature = 0.8};
};

// Continues the prompt; or writes lines that begin with it, and says how many are not among the known ones.
void write(const models::Writer& w, const SampleSettings& s, const std::vector<Sequence>& known);

// Continues what is typed (kit::converse), each line with a seed of its own.
void talk(const models::Writer& w, SampleSettings s);

}  // namespace plaingrad::char_lm
