// Byte-level BPE encodes a text in pieces, which its authors describe by a regular expression: no merge
// crosses from one pre-token to the next. These are the three expressions in use, written out by hand. A
// byte that is not UTF-8 counts as a sign.
#pragma once

#include <optional>
#include <string_view>

namespace plaingrad::models::text::tokenizer {

enum class PreTokens {
    gpt2,    // a word with the space before it; signs; digits as long as they come
    llama3,  // as GPT-4: a word with any one sign before it; up to three digits; line breaks end a token
    qwen2    // the same, each digit alone
};

// The expression, exactly as it stands in the `tokenizer.json` of the model.
std::string_view expression(PreTokens kind);
std::optional<PreTokens> pre_tokens_of(std::string_view expression);

// The first pre-token of a text, which must not be empty.
std::string_view first_pre_token(std::string_view text, PreTokens kind = PreTokens::gpt2);

}  // namespace plaingrad::models::text::tokenizer
