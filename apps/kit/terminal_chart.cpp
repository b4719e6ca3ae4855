// Line charts on a terminal, and pictures side by side.
#include <algorithm>
#include <ostream>
#include <sstream>

#include "apps/kit/picture.h"
#include "apps/kit/scale.h"
#include "nn/utf8.h"

namespace plaingrad::kit {
namespace {

using std::size_t;

size_t rounded(double value) { return static_cast<size_t>(value + 0.5); }

// The lines of a chart in braille: two by four dots a character, and which series drew there last.
struct Dots {
    size_t columns, rows;  // of characters
    std::vector<int> bits = std::vector<int>(columns * rows);
    std::vector<size_t> series = std::vector<size_t>(columns * rows);

    double right() const { return 2 * static_cast<double>(columns) - 1; }
    double bottom() const { return 4 * static_cast<double>(rows) - 1; }

    // From point to point; of a level, every third dot.
    void line(const Point& a, const Point& b, size_t index, bool level) {
        static constexpr int bit[4][2] = {
            {0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};  // as Unicode has it
        const double steps = std::max({1.0, std::ceil(std::abs(b.x - a.x)), std::ceil(std::abs(b.y - a.y))});
        for (double i = 0; i <= steps; i += level ? 3 : 1) {
            const size_t x = rounded(std::lerp(a.x, b.x, i / steps)),
                         y = rounded(std::lerp(a.y, b.y, i / steps));
            bits[y / 4 * columns + x / 2] |= bit[y % 4][x % 2];
            series[y / 4 * columns + x / 2] = index;
        }
    }

    // U+2800 plus the bits, in UTF-8.
    std::string character(size_t i) const {
        const int code = bits[i];
        return {'\xe2', static_cast<char>(0xa0 | code >> 6), static_cast<char>(0x80 | (code & 63))};
    }
};

// Returns the row of characters in which each series ends.
std::vector<double> draw_lines(Dots& dots, const LineChart& chart, const Scale& x, const Scale& y) {
    std::vector<double> ends;
    for (size_t s = 0; s < chart.series.size(); ++s) {
        Point last = {NAN, NAN};
        ends.push_back(dots.bottom());
        for (const Point& point : points_of(chart.series[s], x, y, dots.right(), dots.bottom())) {
            if (!std::isnan(point.x + point.y)) {
                dots.line(std::isnan(last.x + last.y) ? point : last, point, s, is_level(chart.series[s]));
                ends[s] = point.y;
            }
            last = point;
        }
        ends[s] = static_cast<double>(rounded(ends[s]) / 4);
    }
    return moved_apart(ends, 1, static_cast<double>(dots.rows) - 1);
}

// Blue, orange, green, pink, yellow, light blue and white, of the palette of 256 colours.
std::string painted(const std::string& text, size_t series, bool colour) {
    static const char* const colours[] = {"33", "208", "36", "175", "178", "117", "255"};
    return colour ? std::string("\033[38;5;") + colours[series % 7] + "m" + text + "\033[0m" : text;
}

// The x axis, its name at the right, and the numbers below.
void draw_axis(std::ostream& out, const Scale& x, const std::string& name, size_t margin, size_t columns) {
    const size_t end = columns - std::min(columns, nn::columns_of(name) + 1);
    out << std::string(margin, ' ') << " └";
    for (size_t i = 0; i < (name.empty() ? columns : end); ++i)
        out << "─";
    out << (name.empty() ? "" : " ") << name << '\n';
    std::string line;
    for (const double tick : x.ticks()) {
        const std::string number = tick_label(tick);
        const size_t centre = rounded(x(tick) * static_cast<double>(columns - 1));
        const size_t begin = std::min(centre - std::min(centre, number.size() / 2), columns - number.size());
        if (line.empty() || begin > line.size())
            line += std::string(begin - line.size(), ' ') + number;
    }
    out << std::string(margin + 2, ' ') << line << '\n';
}

// Columns on the terminal: an escape sequence, from ESC to m, takes none.
size_t shown(const std::string& line) {
    std::string text;
    bool escape = false;
    for (const char c : line) {
        escape = escape || c == '\033';
        text.append(escape ? 0 : 1, c);
        escape = escape && c != 'm';
    }
    return nn::columns_of(text);
}

}  // namespace

void draw_chart(std::ostream& out, const LineChart& chart, int width, int height, bool colour) {
    const auto rows = static_cast<size_t>(std::max(height, 2));
    const Scale y({chart}, false, static_cast<double>(rows) / 2.5);
    size_t margin = 0, names = 0;
    for (const double tick : y.ticks())
        margin = std::max(margin, nn::columns_of(tick_label(tick)));
    for (const Series& series : chart.series)
        names = std::max(names, nn::columns_of(series.name));
    Dots dots = {std::max(static_cast<size_t>(width), margin + names + 13) - margin - names - 3, rows};
    const Scale x({chart}, true, std::max(2.0, static_cast<double>(dots.columns) / 9));
    const std::vector<double> ends = draw_lines(dots, chart, x, y);
    std::vector<std::string> numbers(rows);
    for (const double tick : y.ticks())
        numbers[rounded((1 - y(tick)) * dots.bottom()) / 4] = tick_label(tick);
    for (const std::string& heading : {chart.title, chart.y.name})
        out << heading << (heading.empty() ? "" : "\n");
    for (size_t row = 0; row < rows; ++row) {
        const std::string& number = numbers[row];
        std::string line =
            std::string(margin - nn::columns_of(number), ' ') + number + (number.empty() ? " │" : " ┤");
        for (size_t i = row * dots.columns; i < (row + 1) * dots.columns; ++i)
            line += dots.bits[i] == 0 ? " " : painted(dots.character(i), dots.series[i], colour);
        for (size_t s = 0; s < ends.size(); ++s)
            if (ends[s] == static_cast<double>(row))
                line += " " + painted(chart.series[s].name, s, colour);
        out << line.substr(0, line.find_last_not_of(' ') + 1) << '\n';
    }
    draw_axis(out, x, chart.x.name, margin, dots.columns);
}

void draw_beside(std::ostream& out, const std::vector<std::string>& pictures, int width) {
    constexpr size_t kGap = 3;
    std::vector<std::vector<std::string>> lines;
    size_t widest = 1, highest = 0;
    for (const std::string& picture : pictures) {
        lines.emplace_back();
        std::istringstream text(picture);
        for (std::string line; std::getline(text, line); widest = std::max(widest, shown(line)))
            lines.back().push_back(line);
        highest = std::max(highest, lines.back().size());
    }
    const size_t across = std::max<size_t>(1, (static_cast<size_t>(width) + kGap) / (widest + kGap));
    for (size_t first = 0; first < lines.size(); first += across)
        for (size_t row = 0; row < highest; ++row) {
            std::string line;
            for (size_t i = first; i < std::min(first + across, lines.size()); ++i)
                if (row < lines[i].size())
                    line += std::string((i - first) * (widest + kGap) - shown(line), ' ') + lines[i][row];
            out << line << '\n';
        }
}

}  // namespace plaingrad::kit
