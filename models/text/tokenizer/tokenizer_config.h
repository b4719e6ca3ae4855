// tokenizer_config.json: what transformers knows about a tokenizer beside its tables. And folders without a
// tokenizer.json, where it says most.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/text/tokenizer/special_tokens.h"

namespace plaingrad::models::text::tokenizer {

class TokenizerConfig {
public:
    // From the folder's tokenizer_config.json, and special_tokens_map.json for tokens that this does not
    // name. Both may be missing. Throws FileError.
    static TokenizerConfig open(const std::string& folder);

    // A member of tokenizer_config.json; a null if it has none.
    Json operator[](std::string_view name) const { return config_[name]; }
    // The content of "bos_token" and so on; nothing if it is not named.
    std::optional<std::string> token(std::string_view name) const;
    static constexpr const char* kTokens[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                              "pad_token", "cls_token", "mask_token"};
    // The tokens that have names, in the order of kTokens, and those of "additional_special_tokens". All are
    // special.
    std::vector<AddedToken> special_tokens() const;

private:
    Json member(std::string_view name) const;

    Json config_, map_;
};

// Of a folder without a tokenizer.json: GPT-2's or Qwen2's vocab.json and merges.txt, or BERT's vocab.txt,
// with what tokenizer_config.json says, if there is one. What these files do not say, the models' own code
// knew. Throws FileError naming the file and the field.
Tokenizer from_older_files(const std::string& folder);

}  // namespace plaingrad::models::text::tokenizer
