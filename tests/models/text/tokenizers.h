// What tests of tokenizers share.
#pragma once

#include <string>
#include <vector>

#include "models/text/tokenizer.h"

namespace plaingrad::tests {

// The text that a Stream writes, special tokens included.
inline std::string streamed(const models::text::Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
    models::text::Tokenizer::Stream stream(tokenizer, false);
    std::string text;
    for (const int32_t id : ids)
        text += stream.add(id);
    return text + stream.finish();
}

}  // namespace plaingrad::tests
