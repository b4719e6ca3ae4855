// What happens to a text before it is cut: a tokenizer's `normalizer`.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "nn/checkpoint/json.h"

namespace plaingrad::models::text::tokenizer {

using nn::checkpoint::Json;

class Normalizer {
public:
    using Step = std::function<std::string(std::string text)>;

    // From the "normalizer" of a tokenizer.json; null: no step. Throws FileError for any other step, by name.
    static Normalizer from(const Json& part);

    // A byte that is not UTF-8 is kept. BERT's normalizer removes it, as it removes the U+FFFD that Python
    // makes of it.
    std::string operator()(std::string_view text) const;

    std::vector<Step> steps;
    bool lower_case = false;  // whether "Lowercase" is a step
};

// The steps of a normalizer, a pre_tokenizer and so on: of a "Sequence" those in its `list`, which may be
// such themselves; of a null none; or the one that it is.
std::vector<Json> steps_of(const Json& part, const char* list);
// "Replace", a normalizer and a decoder.
Normalizer::Step replace_from(const Json& part);

}  // namespace plaingrad::models::text::tokenizer
