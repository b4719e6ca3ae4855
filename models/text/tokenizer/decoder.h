// From the pieces of some ids back to their text: a tokenizer's `decoder`.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "models/text/lines.h"
#include "models/text/tokenizer/normalizer.h"

namespace plaingrad::models::text::tokenizer {

struct BytesOfCharacters {
};                       // "ByteLevel": pieces are bytes, written as in models/text/tokenizer/byte_alphabet.h
struct ByteFallback {};  // pieces <0x00> to <0xFF> are bytes
struct Fuse {};          // all pieces become one
struct Strip {           // removes up to `start` times `content` at the beginning of each
    std::string content;
    int64_t start = 0;
};
struct WordPieces {  // a space before each piece that does not continue a word
    std::string prefix = "##";
    bool cleanup = true;  // see clean_up
};
struct Spaces {  // "Metaspace": `replacement` is a space, but none at the beginning if `trims`
    std::string replacement;
    bool trims = true;
};

struct EndOfWord {  // "BPEDecoder": a space in place of `suffix`, but none at the end
    std::string suffix;
};
struct JoinersUndone {};  // a type of ours, "Joiners": see joiners.h

class Decoder {
public:
    using Step = std::variant<BytesOfCharacters, ByteFallback, Fuse, Strip, WordPieces, Spaces, Replace,
                              EndOfWord, JoinersUndone>;

    // From the "decoder" of a tokenizer.json; null: pieces with spaces between. Throws FileError for any
    // other step, by name.
    static Decoder from(const Json& part);

    // invalid: what becomes of bytes that are not UTF-8. They are replaced as `tokenizers` does it. In
    // byte-level pieces, each beginning of a character that is cut off becomes a U+FFFD, and so does each
    // other bad byte. Of pieces from <0x00> to <0xFF>, each does if a run of them is not UTF-8 as a whole.
    std::string operator()(std::vector<std::string> pieces, InvalidUtf8 invalid) const;

    std::vector<Step> steps;
};

// "do n't ." becomes "don't.". transformers' clean_up_tokenization_spaces; the decoder of WordPiece also
// turns " do not" into " don't".
std::string clean_up(std::string text);

// How many bytes at the end of a text are the beginning of a character.
std::size_t unfinished(std::string_view text);
// Each run of bytes that is not UTF-8, but may begin a character, as U+FFFD.
std::string replace_invalid_runs(std::string_view text);

}  // namespace plaingrad::models::text::tokenizer
