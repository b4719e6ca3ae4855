// The files from before tokenizer.json: a vocabulary, and for byte-pair encoding the merges. What they do not
// say, the models' own code knew.
#pragma once

#include "models/text/tokenizer.h"

namespace plaingrad::models::text::tokenizer {

// Of a folder without a tokenizer.json: GPT-2's or Qwen2's vocab.json and merges.txt, or BERT's vocab.txt,
// with what tokenizer_config.json says, if there is one. Throws FileError naming the file and the field.
Tokenizer from_older_files(const std::string& folder);

}  // namespace plaingrad::models::text::tokenizer
