// tokenizer_config.json, and two older files beside it: what transformers knows about a tokenizer beside its
// tables.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/text/tokenizer/added_tokens.h"

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
    // The folder's added_tokens.json, which only folders without a tokenizer.json need: an object of ids by
    // the tokens' contents, empty if there is no such file. Throws FileError.
    static Json added_tokens(const std::string& folder);

private:
    Json member(std::string_view name) const;

    Json config_, map_;
};

}  // namespace plaingrad::models::text::tokenizer
