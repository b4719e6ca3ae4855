// Raw text to words and symbols, and back to exactly the same text.
//
//     He said, "It's 3.14"  ->  He said ￭, "￭ It ￭'￭ s 3 ￭.￭ 14 ￭"
//
// A space between two tokens is a space of the text. Where there was none a joiner, U+FFED, stands at one of
// the two: at a symbol rather than a number, at a number rather than a word. So a word is the same token
// wherever it stands, and what a model learns of it, it learns once. (The joiner is OpenNMT's. SentencePiece
// marks the spaces instead; there a word behind a bracket is another token.)
#pragma once

#include <string>
#include <string_view>

namespace plaingrad::models::text {

// Tokens are runs of letters, with the marks that combine with them, runs of digits, and all other characters
// one by one. They contain no white space: that becomes its code, U+FF05 and the number in hexadecimal (％9,
// ％a0), unless it is one space between two tokens. So do U+FFED and U+FF05 in the text. No token ends in
// "@@". The line contains no line feed. For lower case: tokenize(lower_case(line)).
std::string tokenize(std::string_view line);

// The line again. In what tokenize did not write (a model did), joiners join and are gone, wherever they
// stand, and what is no code stays as it is.
std::string detokenize(std::string_view tokens);

}  // namespace plaingrad::models::text
