// UTF-8 by RFC 3629: no overlong forms, no surrogates, nothing beyond U+10FFFF.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace plaingrad::nn::checkpoint {

// How many bytes the character at the start of a text has, 1 to 4; 0 if it is not UTF-8.
std::size_t utf8_length(std::string_view text);

// The position of the first byte that is not UTF-8, or npos.
std::size_t find_invalid_utf8(std::string_view text);

// How many characters a text has that is UTF-8.
std::size_t columns_of(std::string_view text);

// The first character of a non-empty text; U+FFFD, with a length of one byte, if it is not UTF-8.
struct CodePoint {
    char32_t code;
    std::size_t length;  // in bytes
};
CodePoint first_code_point(std::string_view text);

// Appends a code point up to U+10FFFF. It must not be a surrogate.
void append_utf8(std::string& text, char32_t code);

}  // namespace plaingrad::nn::checkpoint
