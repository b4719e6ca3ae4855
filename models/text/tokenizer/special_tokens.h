// Tokens that are no pieces of words: those added to a vocabulary, and those that stand around a text.
#pragma once

#include <array>
#include <functional>
#include <map>

#include "models/text/tokenizer.h"
#include "models/text/tokenizer/normalizer.h"
#include "models/text/tokenizer/vocabulary.h"

namespace plaingrad::models::text::tokenizer {

// A token that was added to a model's vocabulary, such as "<|endoftext|>" and "[MASK]". The tokenizer looks
// for it before it does anything else with a text, and never splits it.
struct AddedToken {
    std::string content;
    int32_t id = 0;
    bool single_word = false;  // the token is found only where no character of a word is beside it
    bool lstrip = false;       // the token includes the white space before it,
    bool rstrip = false;       // and after it
    bool normalized = false;   // the token is normalized, and looked for in the normalized text
    bool special = false;      // decoding without special tokens leaves it out
    std::string pattern = "";  // the text to look for: the content, normalized if `normalized`
};

const AddedToken* found(const std::vector<AddedToken>& tokens, std::string_view content);  // null: none

class AddedTokens {
public:
    // Reads one member of "added_tokens" in tokenizer.json, which has an "id", or of "added_tokens_decoder"
    // in tokenizer_config.json, whose key is the id.
    static AddedToken from(const Json& part);

    void add(AddedToken token, const Normalizer& normalizer);
    const std::vector<AddedToken>& all() const { return tokens_; }

    // Cuts a text at the tokens. If several begin at the same place, the longest counts. Calls between() for
    // each text between two tokens that is not empty, and token() with each token's id. normalized: whether
    // to look only for tokens that are normalized, or only for those that are not.
    void cut(std::string_view text, bool normalized, const std::function<void(std::string_view)>& between,
             const std::function<void(int32_t)>& token) const;

private:
    const AddedToken* at_start(std::string_view text, bool normalized) const;

    std::vector<AddedToken> tokens_;
    // By the length of the pattern, the longest first.
    std::array<std::multimap<std::size_t, std::size_t, std::greater<>>, 256> by_first_byte_;
};

// What stands around the ids of one text or two: "[CLS] A [SEP] B [SEP]". A tokenizer's `post_processor`.
class Template {
public:
    struct Item {
        bool is_text;
        int32_t id;  // of a special token; of a text 0 or 1
        int32_t type_id = 0;
    };

    // From the "post_processor" of a tokenizer.json; null: the texts alone. Throws FileError for any other,
    // by name.
    static Template from(const Json& part);
    // texts: the ids of one or two. special: with the special tokens. max_length: see EncodeOptions.
    Encoding operator()(std::vector<Ids> texts, bool special, int64_t max_length = 0) const;

    std::vector<Item> single = {{true, 0, 0}}, pair = {{true, 0, 0}, {true, 1, 1}};
};

}  // namespace plaingrad::models::text::tokenizer
