// Tokens beside a model's vocabulary, such as "<|endoftext|>" and "[MASK]": they are found in a text before
// anything else happens to it, and their ids are never split.
#pragma once

#include <array>
#include <functional>

#include "models/text/pretrained/normalizer.h"
#include "models/text/pretrained/pieces.h"

namespace plaingrad::models::text::pretrained {

struct AddedToken {
    std::string content;
    int32_t id = 0;
    bool single_word = false;  // only where no character of a word is beside it
    bool lstrip = false;       // takes the white space before it, too
    bool rstrip = false;       // and after it
    bool normalized = false;   // is looked for in the normalized text, and normalized itself
    bool special = false;      // is left out when a text is decoded without special tokens
    std::string pattern = "";  // what is looked for: the content, normalized if it has to be
};

class AddedTokens {
public:
    // One of "added_tokens" in a tokenizer.json, with its "id", or of "added_tokens_decoder" in a
    // tokenizer_config.json, where its name is the id.
    static AddedToken from(const Part& part);

    void add(AddedToken token, const Normalizer& normalizer);
    const std::vector<AddedToken>& all() const { return tokens_; }
    const AddedToken* find(std::string_view content) const;  // null if there is none

    // Cuts a text at the tokens. Of those that begin at one place the longest counts. Calls text() for what
    // lies between, none of it empty, and token() for each token's id. normalized: only tokens that are; or
    // only those that are not.
    void cut(std::string_view text, bool normalized, const std::function<void(std::string_view)>& between,
             const std::function<void(int32_t)>& token) const;

private:
    const AddedToken* at_start(std::string_view text, bool normalized) const;

    std::vector<AddedToken> tokens_;
    std::array<std::vector<std::size_t>, 256> by_first_byte_;  // the longest pattern first
};

}  // namespace plaingrad::models::text::pretrained
