// What Unicode 14.0 says of a character. One that is newer has no class and no lower case.
#pragma once

#include <string>
#include <string_view>

namespace plaingrad::models::text {

bool is_letter(char32_t c);  // general category L: letters, in all writing systems
bool is_mark(char32_t c);    // M: what combines with the letter before it, as an accent
bool is_number(char32_t c);  // N: digits, and others such as U+00BD
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_space(char32_t c);  // the property White_Space

// The simple mapping: of one character, whatever its neighbours are.
char32_t to_lower(char32_t c);

// Of a text, with Unicode's special casings, as Python's str.lower has them: a capital sigma that ends a word
// becomes U+03C2, any other U+03C3 (The Unicode Standard, §3.13, Final_Sigma), and U+0130, an I with a dot,
// becomes two characters, i and U+0307. (Other special casings belong to single languages, or make capitals.)
// Bytes that are not UTF-8 stay as they are.
std::string lower_case(std::string_view text);

}  // namespace plaingrad::models::text
