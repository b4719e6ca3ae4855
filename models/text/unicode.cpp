#include "models/text/unicode.h"

#include <algorithm>
#include <cstdint>
#include <unordered_map>

#include "autograd/base/text_stream.h"
#include "models/text/unicode_table.h"

namespace plaingrad::models::text {
namespace {

struct Cased {
    char32_t first, end, step;
    int delta;
};

// All letters of a table of runs, side by side: looking one up must not cost a search.
std::string letters_of(const char* table) {
    std::string all;
    autograd::TextInput text(table);
    char letter = 0;
    for (std::size_t length = 0; text >> letter >> length;)
        all.append(length, letter);
    return all;
}
// The letter that a table has for a code point.
template <const char* kTable>
char letter(char32_t c) {
    static const std::string all = letters_of(kTable);
    return c < all.size() ? all[c] : 'o';
}

std::vector<Cased> read_lower() {
    std::vector<Cased> runs;
    autograd::TextInput text(kLower);
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
    for (const Character& c : Characters(text))
        if (letter<kCasing>(c.code) != 'I')
            return letter<kCasing>(c.code) == 'C';
    return false;
}

std::string lowered(std::string_view text, bool final_sigma) {
    std::string lower;
    lower.reserve(text.size());
    bool behind_cased = false;  // whether the last character that is not ignored is cased
    for (const auto& [code, bytes] : Characters(text)) {
        text.remove_prefix(bytes.size());
        const bool ends = code == U'\x3a3' && final_sigma && behind_cased && !begins_cased(text);
        if (const char32_t small = ends ? U'\x3c2' : to_lower(code); small != code)
            nn::checkpoint::append_utf8(lower, small);
        else
            lower.append(bytes);
        if (code == U'\x130')
            nn::checkpoint::append_utf8(lower, U'\x307');
        if (final_sigma && letter<kCasing>(code) != 'I')
            behind_cased = letter<kCasing>(code) == 'C';
    }
    return lower;
}

}  // namespace

Character last_character(std::string_view text) {
    std::size_t length = 1;
    while (length < std::min<std::size_t>(text.size(), 4) && (text[text.size() - length] & 0xc0) == 0x80)
        ++length;
    const Character last = *Characters(text.substr(text.size() - length));
    return last.bytes.size() == length ? last : Character{U'\xfffd', text.substr(text.size() - 1)};
}

bool is_letter(char32_t c) { return letter<kClasses>(c) == 'L'; }
bool is_mark(char32_t c) { return letter<kClasses>(c) == 'M'; }
bool is_number(char32_t c) { return letter<kClasses>(c) == 'N'; }
bool is_bert_punctuation(char32_t c) { return letter<kBertClasses>(c) == 'P'; }
bool is_bert_accent(char32_t c) { return letter<kBertClasses>(c) == 'A'; }
bool is_bert_control(char32_t c) { return letter<kBertClasses>(c) == 'C'; }
bool is_word_character(char32_t c) { return letter<kWordClasses>(c) == 'w'; }
bool is_numeric(char32_t c) { return letter<kNumericClasses>(c) == 'n'; }

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

std::string lower_characters(std::string_view text) { return lowered(text, false); }
std::string lower_case(std::string_view text) { return lowered(text, true); }

// ---- normalization

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
        autograd::TextInput text(kCombining);
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
        autograd::TextInput text(table);
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

// The class of a mark; 0 for all else.
int combining(char32_t c) {
    const auto entry = c < 0x300 ? tables().combining.end() : tables().combining.find(c);
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

// Canonical ordering: marks in the order of their classes, those of one class as they come.
void order(Codes& codes) {
    for (auto at = codes.begin(); at != codes.end();) {
        const auto first = std::find_if(at, codes.end(), [](char32_t c) { return combining(c) != 0; });
        at = std::find_if(first, codes.end(), [](char32_t c) { return combining(c) == 0; });
        std::stable_sort(first, at, [](char32_t a, char32_t b) { return combining(a) < combining(b); });
    }
}

// Composes a character with the last one that is no mark, unless a mark of the same or a higher class stands
// between, or another such character.
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
    bool changed = false;
    for (const Character& c : Characters(text))
        changed = changed || (c.code >= 0xc0 && changes[c.code]);
    if (!changed)
        return std::string(text);
    Codes parts;
    for (const auto& [code, bytes] : Characters(text)) {
        const auto byte = static_cast<unsigned char>(bytes[0]);
        decompose(bytes.size() > 1 || byte < 0x80 ? code : kByte + byte, parts);
    }
    order(parts);
    if (composes)
        compose(parts);
    std::string out;
    for (const char32_t c : parts)
        if (c >= kByte)
            out.push_back(static_cast<char>(c - kByte));
        else
            nn::checkpoint::append_utf8(out, c);
    return out;
}

}  // namespace

std::string nfc(std::string_view text) { return normalized(text, tables().changes_nfc, true); }
std::string nfd(std::string_view text) { return normalized(text, tables().changes_nfd, false); }

}  // namespace plaingrad::models::text
