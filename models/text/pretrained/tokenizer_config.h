// tokenizer_config.json: what transformers knows about a tokenizer beside its tables.
#pragma once

#include <optional>

#include "models/text/pretrained/part.h"

namespace plaingrad::models::text::pretrained {

class TokenizerConfig {
public:
    // From the folder's tokenizer_config.json, and special_tokens_map.json for tokens that this does not
    // name. Both may be missing. Throws FileError.
    static TokenizerConfig open(const std::string& folder);

    // A member of tokenizer_config.json; a null if it has none.
    const Part& operator[](std::string_view name) const { return config_[name]; }
    // The content of "bos_token" and so on; nothing if it is not named.
    std::optional<std::string> token(std::string_view name) const;
    static constexpr const char* kTokens[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                              "pad_token", "cls_token", "mask_token"};

private:
    Part config_, map_;
};

}  // namespace plaingrad::models::text::pretrained
