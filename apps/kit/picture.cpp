// Grids on a terminal, and pictures side by side.
#include "apps/kit/picture.h"

#include <algorithm>
#include <cmath>

#include "apps/kit/text.h"
#include "autograd/base/check.h"

namespace plaingrad::kit {
namespace {

bool is_infinite(double value) { return value < -1e30; }

// `least`, and one more for each 0 that the largest value has behind its point; none if all are whole.
int decimals_for(const std::vector<double>& values, int least) {
    double most = 0;
    bool whole = true;
    for (const double x : values) {
        most = std::max(most, is_infinite(x) ? 0 : std::abs(x));
        whole = whole && x == std::floor(x);
    }
    for (; most > 0 && most < 0.1 && least < 9; most *= 10)
        ++least;
    return whole ? 0 : least;
}

std::string text_of(double value, int decimals) {
    return is_infinite(value) ? "-∞" : number(value, value == 0 ? 0 : decimals);
}

// A cell without text is three columns wide, which makes it nearly square.
std::string shaded(const std::string& text, double part, bool colour) {
    static const char* const blocks[] = {"·", "░", "▒", "▓", "█"};
    part = part > 0 ? std::min(part, 1.0) : 0;  // a NaN, too, is drawn as 0
    const std::string block = blocks[std::lround(part * 4)];
    if (!colour)
        return text.empty() ? " " + block + block : text + block;
    const long grey = std::lround(part * 23);  // of 24 in the palette of 256 colours
    return autograd::join("\033[48;5;", 232 + grey, ";38;5;", grey < 12 ? 255 : 232, "m",
                          text.empty() ? "  " : text, " \033[0m");
}

}  // namespace

std::string rounded(double value, int decimals) { return text_of(value, decimals_for({value}, decimals)); }

std::string draw(const HeatMap& map, bool colour) {
    const bool shades = map.cells == Cells::shades, both = map.cells == Cells::both;
    const int decimals = both ? 2 : decimals_for(map.values, 2);
    std::vector<std::string> cells;
    for (const double value : map.values)
        cells.push_back(shades ? "" : text_of(value, decimals));
    const std::size_t margin = widest(map.rows), columns = map.columns.size();
    const std::size_t width =
        std::max<std::size_t>(std::max(widest(cells), widest(map.columns)) + 1, shades ? 3 : 6);
    const std::string gap = shades ? " " : "";  // numbers begin with one
    std::string text = map.title.empty() ? "" : std::string(margin + 1, ' ') + map.title + '\n';
    const bool labelled = shades || columns > 1;
    for (std::size_t c = 0; labelled && c < columns; ++c) {
        if (c == 0)
            text += std::string(margin, ' ') + gap;
        else if (both)
            text += ' ';  // below it, a block stands behind each number
        text += right(map.columns[c], width);
    }
    text += labelled ? "\n" : "";
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const double part = (map.values[i] - map.low) / (map.high - map.low);
        if (i % columns == 0)
            text += right(map.rows[i / columns], margin) + gap;
        if (shades)
            text += right("", width - 3) + shaded("", part, colour);
        else
            text += both ? shaded(right(cells[i], width), part, colour) : right(cells[i], width);
        if ((i + 1) % columns == 0)
            text += '\n';
    }
    return text;
}

std::string beside(const std::vector<std::string>& pictures, std::size_t width) {
    constexpr std::size_t kGap = 3;
    std::vector<std::vector<std::string>> lines;
    std::size_t column = 1, height = 0;
    for (const std::string& picture : pictures) {
        lines.push_back(wrapped(picture, std::string::npos));
        column = std::max(column, widest(lines.back()));
        height = std::max(height, lines.back().size());
    }
    const std::size_t across = std::max<std::size_t>(1, (width + kGap) / (column + kGap));
    std::string text;
    for (std::size_t first = 0; first < lines.size(); first += across)
        for (std::size_t row = 0; row < height; ++row) {
            std::string line;
            for (std::size_t i = first; i < std::min(first + across, lines.size()); ++i)
                if (row < lines[i].size())
                    line += right("", (i - first) * (column + kGap) - columns(line)) + lines[i][row];
            text += line + '\n';
        }
    return text;
}

}  // namespace plaingrad::kit
