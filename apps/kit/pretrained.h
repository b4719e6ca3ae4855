// What programs say about a model that they have opened: a folder from Hugging Face.
#pragma once

#include <string>
#include <vector>

#include "apps/kit/recorder.h"
#include "models/config.h"
#include "models/text/pretrained_tokenizer.h"

namespace plaingrad::kit {

// On standard error: what it runs on (see announce), and a line for each note.
void say_opened(const std::string& path, int64_t parameters, models::Precision precision,
                const std::vector<std::string>& notes);

// For `info`, on standard output: "bert-base: bert", and the sizes of its layers.
void print_sizes(const std::string& path, const std::string& kind, const models::StackConfig& config);

// A token as a label: spaces and line breaks are visible.
std::string visible(const std::string& token);
// Of a model that may have more ids than its tokenizer.
Labels token_names(const models::text::PretrainedTokenizer& tokenizer, int64_t vocabulary);

}  // namespace plaingrad::kit
