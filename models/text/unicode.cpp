#include "models/text/unicode.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <sstream>
#include <vector>

#include "models/text/unicode_table.h"
#include "nn/utf8.h"

namespace plaingrad::models::text {
namespace {

struct Class {
    char32_t end;  // of a run that begins at the end of the one before
    char letter;
};
struct Cased {
    char32_t first, end, step;
    int delta;
};

// The first run that ends after c; null after the last run.
template <class Run>
const Run* find(const std::vector<Run>& runs, char32_t c) {
    const auto run =
        std::upper_bound(runs.begin(), runs.end(), c, [](char32_t at, const Run& r) { return at < r.end; });
    return run == runs.end() ? nullptr : &*run;
}

std::vector<Class> read_classes(const char* table) {
    std::vector<Class> runs;
    std::istringstream text(table);
    char letter = 0;
    for (uint32_t length = 0, end = 0; text >> letter >> length;)
        runs.push_back({end += length, letter});
    return runs;
}

std::vector<Cased> read_lower() {
    std::vector<Cased> runs;
    std::istringstream text(kLower);
    int delta = 0;
    for (uint32_t skip = 0, count = 0, step = 0, end = 0; text >> skip >> count >> step >> delta;) {
        const uint32_t first = end + skip;
        end = first + (count - 1) * step + 1;
        runs.push_back({first, end, step, delta});
    }
    return runs;
}

char class_of(char32_t c, const std::vector<Class>& runs) {
    const Class* run = find(runs, c);
    return run == nullptr ? 'o' : run->letter;
}
bool is(char letter, char32_t c) {
    static const std::vector<Class> runs = read_classes(kClasses);
    return class_of(c, runs) == letter;
}

// C: cased; I: ignored when looking for a cased letter; o: neither.
char casing(char32_t c) {
    static const std::vector<Class> runs = read_classes(kCasing);
    return class_of(c, runs);
}

// Whether the first character that is not ignored is cased.
bool begins_cased(std::string_view text) {
    while (!text.empty()) {
        const auto [code, length] = nn::first_code_point(text);
        if (casing(code) != 'I')
            return casing(code) == 'C';
        text.remove_prefix(length);
    }
    return false;
}

}  // namespace

bool is_letter(char32_t c) { return is('L', c); }
bool is_mark(char32_t c) { return is('M', c); }
bool is_number(char32_t c) { return is('N', c); }

bool is_space(char32_t c) {
    constexpr char32_t others[] = {0x20, 0x85, 0xa0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000};
    return (c >= 9 && c <= 13) || (c >= 0x2000 && c <= 0x200a) ||
           std::find(std::begin(others), std::end(others), c) != std::end(others);
}

char32_t to_lower(char32_t c) {
    static const std::vector<Cased> runs = read_lower();
    const Cased* run = find(runs, c);
    const bool cased = run != nullptr && c >= run->first && (c - run->first) % run->step == 0;
    return cased ? c + static_cast<char32_t>(run->delta) : c;
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
        if (casing(code) != 'I')
            behind_cased = casing(code) == 'C';
    }
    return lower;
}

}  // namespace plaingrad::models::text
