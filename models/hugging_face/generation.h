// generation_config.json: how the authors of a model want its texts to be drawn.
//
// Every key that changes a text is honoured, as in config.json (config.h). One that cannot be honoured is
// refused by name, unless its value changes nothing. All other keys are ignored. generation.cpp has the table
// of all keys.
#pragma once

#include <string>

#include "models/writer.h"

namespace plaingrad::models::hugging_face {

// Reads the folder's generation_config.json, if there is one, into the usual options of its Writer, the ids
// that end a text, and the notes. For values that the file does not set, its do_sample decides, as in
// transformers: false means greedy decoding; true means temperature 1, top_k 50 and top_p 1. A file without
// do_sample leaves the usual options, as the most probable tokens of a small model soon repeat themselves; a
// note says so, for transformers would decode greedily. Also looks for a chat template, which is not applied.
// Throws FileError, in one line that names the file and the key.
void read_generation(const std::string& folder, Writer& writer);

}  // namespace plaingrad::models::hugging_face
