// Raw text to words and symbols, and back to exactly the same text.
//
//     He said, "It's 3.14"  ->  He said ￭, "￭ It ￭'￭ s 3 ￭.￭ 14 ￭"
//
// A space between two tokens is a space in the text. Where the text has none, one of the two tokens gets a
// joiner, U+FFED: the lesser one, where a symbol is less than a number, and a number less than a word. So a
// word is the same token everywhere, and a model needs to learn it only once. (The joiner is OpenNMT's.
// SentencePiece marks the spaces instead; there a word after a bracket is another token.)
#pragma once

#include <string>
#include <string_view>

namespace plaingrad::models::text::tokenizer {

// Tokens are runs of letters with their combining marks, runs of digits, and all other characters one by one.
// They contain no white space: except for one space between two tokens, it is written as U+FF05 and its code
// in hexadecimal (％9, ％a0), and so are U+FFED and U+FF05. The line must not contain a
// line feed.
std::string tokenize(std::string_view line);

// Restores the line. In tokens that a model has written, joiners may be anywhere: they join, and are removed.
// What looks like a code but is none stays as it is.
std::string detokenize(std::string_view tokens);

}  // namespace plaingrad::models::text::tokenizer
