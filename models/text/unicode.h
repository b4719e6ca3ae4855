// Properties of characters, in the Unicode versions of Hugging Face's `tokenizers` 0.23, so that ids agree
// for every code point: classes of Unicode 16.0, lower case of 17.0, what BERT asks for of 8.0. Newer
// characters have no class and no lower case.
#pragma once

#include <string>
#include <string_view>

namespace plaingrad::models::text {

bool is_letter(char32_t c);  // general category L: letters, in all writing systems
bool is_mark(char32_t c);    // M: combines with the letter before it, as an accent does
bool is_number(char32_t c);  // N: digits, and others such as U+00BD
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_space(char32_t c);  // the property White_Space

// What BERT's tokenizer asks for, see models/text/tokenizer/normalizer.h.
bool is_bert_punctuation(char32_t c);  // P, and all signs of ASCII
bool is_bert_accent(char32_t c);       // Mn: combines, and takes no space
bool is_bert_control(char32_t c);      // Cc, Cf, Co: control characters, invisible and private ones

// What other pre-tokenizers ask for.
bool is_word_character(char32_t c);  // letters, marks, decimal digits and connectors, as U+005F
bool is_numeric(char32_t c);         // N again, of Unicode 17.0

// The simple mapping, of a single character whatever its context.
char32_t to_lower(char32_t c);

// Each character of a text by itself; of U+0130 i and U+0307. As BERT and Hugging Face's "Lowercase" do it.
std::string lower_characters(std::string_view text);

// A text in lower case, as by Python's str.lower, with Unicode's special cases: a capital sigma at the end of
// a word becomes U+03C2, any other U+03C3 (The Unicode Standard, §3.13, Final_Sigma); U+0130, an I with a
// dot, becomes two characters, i and U+0307. (The other special cases are for single languages or for upper
// case.) Bytes that are not UTF-8 stay as they are.
std::string lower_case(std::string_view text);

}  // namespace plaingrad::models::text
