// Numbers and texts as people read them, on a terminal and in figures. Nothing here depends on the locale.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace plaingrad::kit {

// 1234567 -> "1,234,567"
std::string grouped(int64_t n);
std::string counted(int64_t n, const std::string& noun);  // "1 pair", "29,000 pairs"
std::string duration(double seconds);                     // "42 s", "12:30 min", "2:46 h"

// x 10ⁿ. The same on every machine, which std::pow is not.
double times_ten_to(double x, int n);

// Rounded: 12.34 -> "12.3", -0.01 -> "0.0".
std::string number(double value, int decimals = 1);

// Columns on a terminal; an escape sequence takes none.
std::size_t columns(std::string text);
// The most columns that one of the texts takes, or one of the texts that `text_of` finds in what is given.
template <class Things, class TextOf = std::identity>
std::size_t widest(const Things& things, TextOf text_of = {}) {
    std::size_t width = 0;
    for (const auto& thing : things)
        width = std::max(width, columns(std::invoke(text_of, thing)));
    return width;
}
// Filled with spaces up to this width: at the left, or at the right.
std::string right(const std::string& text, std::size_t width);
std::string left(const std::string& text, std::size_t width);

// The text in lines of at most `width` columns; a longer word gets a line of its own. Keeps the text's own
// line breaks, and the indentation and the spaces of lines that fit. In a line that is too long, what follows
// the first gap of several spaces is a column, if it begins in the left half: it goes on below itself.
std::vector<std::string> wrapped(const std::string& text, std::size_t width);

// A text for the terminal, as one line: what would be a command to it, such as a line break, becomes '?'.
std::string as_line(std::string text);

}  // namespace plaingrad::kit
