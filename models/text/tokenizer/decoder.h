// From the pieces of some ids back to their text: a tokenizer's `decoder`.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "models/text/lines.h"
#include "nn/checkpoint/json.h"

namespace plaingrad::models::text::tokenizer {

class Decoder {
public:
    // From the "decoder" of a tokenizer.json; null: pieces with spaces between. Throws FileError for any
    // other step, by name.
    static Decoder from(const nn::checkpoint::Json& part);

    // invalid: what becomes of bytes that are not UTF-8. They are replaced as `tokenizers` does it. In
    // byte-level pieces, each beginning of a character that is cut off becomes a U+FFFD, and so does each
    // other bad byte. Of pieces from <0x00> to <0xFF>, each does if a run of them is not UTF-8 as a whole.
    std::string operator()(std::vector<std::string> pieces, InvalidUtf8 invalid) const;

private:
    std::vector<std::function<void(std::vector<std::string>& pieces, InvalidUtf8 invalid)>> steps_;
};

// "do n't ." becomes "don't.". transformers' clean_up_tokenization_spaces; the decoder of WordPiece also
// turns " do not" into " don't".
std::string clean_up(std::string text);

// How many bytes at the end of a text are the beginning of a character.
std::size_t unfinished(std::string_view text);
// Each run of bytes that is not UTF-8, but may begin a character, as U+FFFD.
std::string replace_invalid_runs(std::string_view text);

}  // namespace plaingrad::models::text::tokenizer
