// Unicode: the characters of a text, their properties, their case, and the normalization forms. In the
// versions of Hugging Face's `tokenizers` 0.23, so that ids agree for every code point: classes of Unicode
// 16.0, lower case of 17.0, what BERT asks for of 8.0, normalization of 9.0. Newer characters have no class
// and no lower case.
#pragma once

#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "nn/checkpoint/utf8.h"

namespace plaingrad::models::text {

// A byte that is not UTF-8 counts as U+FFFD.
struct Character {
    char32_t code;
    std::string_view bytes;
};
// All characters of a text: for (const Character& c : Characters(text)).
class Characters {
public:
    explicit Characters(std::string_view text) : rest_(text) { decode(); }
    Characters begin() const { return *this; }
    static std::default_sentinel_t end() { return {}; }
    bool operator==(std::default_sentinel_t) const { return rest_.empty(); }
    const Character& operator*() const { return first_; }
    void operator++() {
        rest_.remove_prefix(first_.bytes.size());
        decode();
    }

private:
    void decode() {
        if (rest_.empty())
            return;
        const auto [code, length] = nn::checkpoint::first_code_point(rest_);
        first_ = {code, rest_.substr(0, length)};
    }

    std::string_view rest_;
    Character first_ = {};
};

Character last_character(std::string_view text);  // which must not be empty

// The runs of characters that are no spaces, as views into the text.
template <class IsSpace>
std::vector<std::string_view> split(std::string_view text, const IsSpace& is_a_space) {
    std::vector<std::string_view> words;
    const char* begin = nullptr;  // of a word
    for (const auto& [code, bytes] : Characters(text)) {
        const bool space = is_a_space(code);
        if (space && begin != nullptr)
            words.emplace_back(begin, bytes.data());
        begin = space ? nullptr : begin == nullptr ? bytes.data() : begin;
    }
    if (begin != nullptr)
        words.emplace_back(begin, text.data() + text.size());
    return words;
}

bool is_letter(char32_t c);  // general category L: letters, in all writing systems
bool is_mark(char32_t c);    // M: combines with the letter before it, as an accent does
bool is_number(char32_t c);  // N: digits, and others such as U+00BD
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_space(char32_t c);  // the property White_Space

// What BERT's tokenizer asks for, see models/text/tokenizer/normalizer.cpp.
bool is_bert_punctuation(char32_t c);  // P, and all signs of ASCII
bool is_bert_accent(char32_t c);       // Mn: combines, and takes no space
bool is_bert_control(char32_t c);      // Cc, Cf, Co: control characters, invisible and private ones

// What other splitters ask for.
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

// Canonical normalization: the same text in the same code points. Unicode Standard Annex #15, "Unicode
// Normalization Forms". Bytes that are not UTF-8 stay as they are.
std::string nfc(std::string_view text);  // composed: few code points, as U+00E9. Most texts are in this form.
std::string nfd(std::string_view text);  // decomposed: a letter, then its marks, as U+0065 U+0301

}  // namespace plaingrad::models::text
