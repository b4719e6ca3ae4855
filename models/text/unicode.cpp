#include "models/text/unicode.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include "autograd/base/text_stream.h"
#include "models/text/unicode_table.h"
#include "nn/utf8.h"

namespace plaingrad::models::text {
namespace {

struct Cased {
    char32_t first, end, step;
    int delta;
};

enum Property : uint16_t {
    kLetter = 1,
    kMark = 2,
    kNumber = 4,
    kPunctuation = 8,
    kAccent = 16,
    kControl = 32,
    kWord = 64,
    kNumeric = 128,
    kCased = 256,
    kIgnored = 512  // when looking for a cased letter
};

// The properties of all code points, side by side: looking one up must not cost a search.
class Properties {
public:
    Properties() {
        read(kClasses, {{'L', kLetter}, {'M', kMark}, {'N', kNumber}});
        read(kBertClasses, {{'P', kPunctuation}, {'A', kAccent}, {'C', kControl}});
        read(kWordClasses, {{'w', kWord}});
        read(kNumericClasses, {{'n', kNumeric}});
        read(kCasing, {{'C', kCased}, {'I', kIgnored}});
    }
    uint16_t of(char32_t c) const { return c < all_.size() ? all_[c] : 0; }

private:
    void read(const char* table, std::initializer_list<std::pair<char, Property>> letters) {
        autograd::TextReader text(table);
        char letter = 0;
        for (std::size_t at = 0, length = 0; text >> letter >> length; at += length)
            for (const auto& [name, property] : letters)
                for (std::size_t c = at; name == letter && c < at + length; ++c)
                    all_[c] = static_cast<uint16_t>(all_[c] | property);
    }

    std::vector<uint16_t> all_ = std::vector<uint16_t>(0x110000);
};

bool is(char32_t c, Property property) {
    static const Properties all;
    return (all.of(c) & property) != 0;
}

std::vector<Cased> read_lower() {
    std::vector<Cased> runs;
    autograd::TextReader text(kLower);
    int delta = 0;
    for (uint32_t skip = 0, count = 0, step = 0, end = 0; text >> skip >> count >> step >> delta;) {
        const uint32_t first = end + skip;
        end = first + (count - 1) * step + 1;
        runs.push_back({first, end, step, delta});
    }
    return runs;
}

// Whether the first character that is not ignored is cased.
bool begins_cased(std::string_view text) {
    while (!text.empty()) {
        const auto [code, length] = nn::first_code_point(text);
        if (!is(code, kIgnored))
            return is(code, kCased);
        text.remove_prefix(length);
    }
    return false;
}

}  // namespace

bool is_letter(char32_t c) { return is(c, kLetter); }
bool is_mark(char32_t c) { return is(c, kMark); }
bool is_number(char32_t c) { return is(c, kNumber); }
bool is_bert_punctuation(char32_t c) { return is(c, kPunctuation); }
bool is_bert_accent(char32_t c) { return is(c, kAccent); }
bool is_bert_control(char32_t c) { return is(c, kControl); }
bool is_word_character(char32_t c) { return is(c, kWord); }
bool is_numeric(char32_t c) { return is(c, kNumeric); }

bool is_space(char32_t c) {
    constexpr char32_t others[] = {0x20, 0x85, 0xa0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000};
    return (c >= 9 && c <= 13) || (c >= 0x2000 && c <= 0x200a) ||
           std::find(std::begin(others), std::end(others), c) != std::end(others);
}

char32_t to_lower(char32_t c) {
    static const std::vector<Cased> runs = read_lower();
    const auto run =
        std::upper_bound(runs.begin(), runs.end(), c, [](char32_t at, const Cased& r) { return at < r.end; });
    const bool cased = run != runs.end() && c >= run->first && (c - run->first) % run->step == 0;
    return cased ? c + static_cast<char32_t>(run->delta) : c;
}

std::string lower_characters(std::string_view text) {
    std::string lower;
    lower.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const auto [code, length] = nn::first_code_point(text.substr(at));
        if (const char32_t small = to_lower(code); small != code)
            nn::append_utf8(lower, small);
        else
            lower.append(text.substr(at, length));
        if (code == U'\x130')
            nn::append_utf8(lower, U'\x307');
        at += length;
    }
    return lower;
}

std::string lower_case(std::string_view text) {
    std::string lower;
    bool behind_cased = false;  // whether the last character that is not ignored is cased
    for (std::size_t at = 0; at < text.size();) {
        const auto [code, length] = nn::first_code_point(text.substr(at));
        const std::string_view character = text.substr(at, length);
        at += length;
        const char32_t small = to_lower(code);
        if (code == U'\x3a3')
            nn::append_utf8(lower, behind_cased && !begins_cased(text.substr(at)) ? U'\x3c2' : small);
        else if (small != code)
            nn::append_utf8(lower, small);
        else
            lower.append(character);
        if (code == U'\x130')
            nn::append_utf8(lower, U'\x307');
        if (!is(code, kIgnored))
            behind_cased = is(code, kCased);
    }
    return lower;
}

}  // namespace plaingrad::models::text
