// UTF-8 by RFC 3629: no overlong forms, no surrogates, nothing beyond U+10FFFF.
#pragma once

#include <cstddef>
#include <string_view>

namespace autograd {

// How many bytes the character at the start of a text has, 1 to 4; 0 if what stands there is not UTF-8.
std::size_t utf8_length(std::string_view text);

// Where the first byte stands that cannot be UTF-8, or npos.
std::size_t find_invalid_utf8(std::string_view text);

}  // namespace autograd
