// generation_config.json: how the authors of a model want its texts to be drawn.
//
// As with config.json (config.h), every key that changes a text is honoured, or refused by name unless its
// value changes nothing; the rest is ignored (the table of all keys is in generation.cpp).
#pragma once

#include <string>
#include <vector>

#include "models/sampling.h"

namespace plaingrad::models::hugging_face {

struct Generation {
    // Without do_sample: the usual options with what the file sets. With it, as transformers has them: false
    // is greedy decoding, true draws with temperature 1, top_k 50 and top_p 1, unless the file sets others.
    SamplingOptions sampling = {};
    int64_t max_tokens = 0;               // 0: not given
    std::vector<int32_t> ends = {};       // ids that end a text, instead of those of config.json
    std::vector<std::string> stop = {};   // strings that end it
    std::vector<std::string> notes = {};  // a line each: what was ignored, and why
};

// Reads the folder's generation_config.json, if there is one, and looks for a chat template, which is not
// applied. Throws FileError, in one line that names the file and the key.
Generation read_generation(const std::string& folder, int64_t vocabulary, const SamplingOptions& usual);

}  // namespace plaingrad::models::hugging_face
