// GPT-2's way to write bytes as characters that can be seen, so that a vocabulary is a text file: a printable
// byte of Latin-1 is that character, the others are the characters from U+0100 on. A space is U+0120.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace plaingrad::models::text::tokenizer {

struct ByteAlphabet {
    ByteAlphabet();

    std::array<std::string, 256> character;  // of each byte, in UTF-8
    std::string order;                       // all bytes, the printable ones first: the order of GPT-2's ids

    std::string write(std::string_view bytes) const;
    // The bytes; nothing if the text has a character of no byte.
    std::optional<std::string> read(std::string_view text) const;
};

const ByteAlphabet& byte_alphabet();

}  // namespace plaingrad::models::text::tokenizer
