// What Unicode 14.0 says of a character. One that is newer has no class and no lower case.
#pragma once

#include <string>
#include <string_view>

namespace plaingrad::models::text {

bool is_letter(char32_t c);  // general category L: letters, in all writing systems
bool is_mark(char32_t c);    // M: what combines with the letter before it, as an accent
bool is_number(char32_t c);  // N: digits, and others such as U+00BD
bool is_space(char32_t c);   // the property White_Space

// The simple mapping, one character to one, whatever its neighbours are: a final sigma is not known.
char32_t to_lower(char32_t c);

// All of a text. Bytes that are not UTF-8 stay as they are.
std::string lower_case(std::string_view text);

}  // namespace plaingrad::models::text
