// What happens to a text before it is cut: a tokenizer's `normalizer`.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "nn/checkpoint/json.h"

namespace plaingrad::models::text::tokenizer {

using nn::checkpoint::Json;

// BERT's, in the order of its members. Devlin et al. 2019, tokenization.py of its authors.
struct BertNormalizer {
    bool clean_text = true;            // removes control characters and U+FFFD, makes white space a space
    bool handle_chinese_chars = true;  // puts spaces around each
    bool strip_accents = true;         // decomposes (NFD), and removes marks
    bool lowercase = true;             // each character by itself
};
struct Nfc {};        // see models/text/normalization.h
struct Lowercase {};  // each character by itself
// A type of ours: typographic quotes, dashes and full-width forms as a keyboard types them; and each
// character of a writing system without spaces between words as a word.
struct PlainSigns {};
struct Prepend {  // puts this before a text that is not empty
    std::string prefix;
};
struct Replace {  // replaces each `from` by `to`
    std::string from, to;
};

class Normalizer {
public:
    using Step = std::variant<BertNormalizer, Nfc, Lowercase, PlainSigns, Prepend, Replace>;

    // From the "normalizer" of a tokenizer.json; null: no step. Throws FileError for any other step, by name.
    static Normalizer from(const Json& part);

    // A byte that is not UTF-8 is kept. BERT's normalizer removes it, as it removes the U+FFFD that Python
    // makes of it.
    std::string operator()(std::string_view text) const;

    std::vector<Step> steps;
};

// Replaces each `from`, which must not be empty, by `to`.
std::string replace_all(std::string_view text, std::string_view from, std::string_view to);
// The steps of a normalizer, a pre_tokenizer and so on: of a "Sequence" those in its `list`, which may be
// such themselves; of a null none; or the one that it is.
std::vector<Json> steps_of(const Json& part, const char* list);
// The `from` and `to` of a normalizer or decoder "Replace".
Replace replace_from(const Json& part);

}  // namespace plaingrad::models::text::tokenizer
