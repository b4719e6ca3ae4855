#include "models/text/normalization.h"

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "autograd/base/text_stream.h"
#include "models/text/unicode_table.h"
#include "nn/utf8.h"

namespace plaingrad::models::text {
namespace {

using Codes = std::vector<char32_t>;

// A byte that is not UTF-8 is held as a number behind the last code point.
constexpr char32_t kByte = 0x110000;

// Hangul syllables are composed by arithmetic: a leading consonant, a vowel, and perhaps a trailing one. The
// Unicode Standard, §3.12.
constexpr char32_t kSyllable = 0xac00, kLeading = 0x1100, kVowel = 0x1161, kTrailing = 0x11a7;
constexpr char32_t kLeadings = 19, kVowels = 21, kTrailings = 28;
constexpr char32_t kSyllables = kLeadings * kVowels * kTrailings;

uint64_t key(char32_t a, char32_t b) { return uint64_t{a} << 32 | b; }

struct Tables {
    std::unordered_map<char32_t, Codes> parts;
    std::unordered_map<uint64_t, char32_t> composed;
    std::unordered_map<char32_t, int> combining;
    std::vector<bool> changes_nfc = std::vector<bool>(kByte),
                      changes_nfd = changes_nfc;  // alone, or in a text

    Tables() {
        read_parts(kComposed, 2, [&](char32_t c, const Codes& two) {
            composed[key(two[0], two[1])] = c;
            changes_nfc[two[1]] = changes_nfd[c] = true;
        });
        const auto never_composed = [&](char32_t c, const Codes&) { changes_nfc[c] = changes_nfd[c] = true; };
        read_parts(kPairs, 2, never_composed);
        read_parts(kSingles, 1, never_composed);
        autograd::TextReader text(kCombining);
        char32_t at = 0;
        for (uint32_t length = 0, mark = 0; text >> mark >> length; at += length)
            for (char32_t c = at; mark != 0 && c < at + length; ++c) {
                combining[c] = static_cast<int>(mark);
                changes_nfc[c] = changes_nfd[c] = true;
            }
        for (char32_t c = kVowel; c < kTrailing + kTrailings; ++c)
            changes_nfc[c] = true;
        for (char32_t c = kSyllable; c < kSyllable + kSyllables; ++c)
            changes_nfd[c] = true;
    }

    template <class Also>
    void read_parts(const char* table, std::size_t count, const Also& also) {
        autograd::TextReader text(table);
        char32_t c = 0;
        for (uint32_t skip = 0, code = 0; text >> skip; ++c) {
            c += skip;
            Codes& all = parts[c];
            while (all.size() < count && text >> code)
                all.push_back(code);
            also(c, all);
        }
    }
};

const Tables& tables() {
    static const Tables all;
    return all;
}

int combining(char32_t c) {
    if (c < 0x300)
        return 0;
    const auto entry = tables().combining.find(c);
    return entry == tables().combining.end() ? 0 : entry->second;
}

void decompose(char32_t c, Codes& out) {
    if (c >= kSyllable && c < kSyllable + kSyllables) {
        const char32_t i = c - kSyllable, trailing = i % kTrailings;
        out.push_back(kLeading + i / (kVowels * kTrailings));
        out.push_back(kVowel + i / kTrailings % kVowels);
        if (trailing != 0)
            out.push_back(kTrailing + trailing);
        return;
    }
    const auto entry = c < 0xc0 ? tables().parts.end() : tables().parts.find(c);
    if (entry == tables().parts.end())
        out.push_back(c);
    else
        for (const char32_t part : entry->second)
            decompose(part, out);
}

// The character that two are composed to; 0 if none.
char32_t compose(char32_t a, char32_t b) {
    if (a >= kLeading && a < kLeading + kLeadings && b >= kVowel && b < kVowel + kVowels)
        return kSyllable + ((a - kLeading) * kVowels + (b - kVowel)) * kTrailings;
    if (a >= kSyllable && a < kSyllable + kSyllables && (a - kSyllable) % kTrailings == 0 && b > kTrailing &&
        b < kTrailing + kTrailings)
        return a + (b - kTrailing);
    const auto entry = tables().composed.find(key(a, b));
    return entry == tables().composed.end() ? 0 : entry->second;
}

// Marks in the order of their classes: those of one class keep theirs, since they are drawn one outside the
// other. Then whatever composes with the last character that is no mark, unless a mark of the same class, or
// another such character, stands between.
void order(Codes& codes) {
    for (auto at = codes.begin(); at != codes.end();) {
        const auto first = std::find_if(at, codes.end(), [](char32_t c) { return combining(c) != 0; });
        at = std::find_if(first, codes.end(), [](char32_t c) { return combining(c) == 0; });
        std::stable_sort(first, at, [](char32_t a, char32_t b) { return combining(a) < combining(b); });
    }
}

void compose(Codes& codes) {
    std::size_t size = 0, starter = codes.size();  // no starter yet
    int last = 0;                                  // the class of the mark before
    for (const char32_t c : codes) {
        const int mark = combining(c);
        const bool reaches = starter < size && (last < mark || starter + 1 == size);
        if (const char32_t both = reaches ? compose(codes[starter], c) : 0; both != 0) {
            codes[starter] = both;
            continue;
        }
        last = mark;
        if (mark == 0)
            starter = size;
        codes[size++] = c;
    }
    codes.resize(size);
}

std::string normalized(std::string_view text, const std::vector<bool>& changes, bool composes) {
    Codes codes;
    bool changed = false;
    for (std::size_t at = 0; at < text.size();) {
        const auto [code, length] = nn::first_code_point(text.substr(at));
        const bool valid = length > 1 || static_cast<unsigned char>(text[at]) < 0x80;
        changed = changed || (code >= 0xc0 && changes[code]);
        codes.push_back(valid ? code : kByte + static_cast<unsigned char>(text[at]));
        at += length;
    }
    if (!changed)
        return std::string(text);
    Codes parts;
    for (const char32_t c : codes)
        decompose(c, parts);
    order(parts);
    if (composes)
        compose(parts);
    std::string out;
    for (const char32_t c : parts)
        if (c >= kByte)
            out.push_back(static_cast<char>(c - kByte));
        else
            nn::append_utf8(out, c);
    return out;
}

}  // namespace

std::string nfc(std::string_view text) { return normalized(text, tables().changes_nfc, true); }
std::string nfd(std::string_view text) { return normalized(text, tables().changes_nfd, false); }

}  // namespace plaingrad::models::text
