// Line charts on a terminal.
#include <algorithm>

#include "apps/kit/text.h"
#include "nn/utf8.h"
#include "tests/figures/figure.h"
#include "tests/figures/scale.h"

namespace plaingrad::figures {

using namespace kit;  // NOLINT
namespace {

using std::size_t;

size_t nearest(double value) { return static_cast<size_t>(value + 0.5); }

// The lines of a chart in braille: two by four dots a character, and which series drew there last.
struct Dots {
    size_t columns, rows;  // of characters
    std::vector<char32_t> bits = std::vector<char32_t>(columns * rows);
    std::vector<size_t> series = std::vector<size_t>(columns * rows);

    double right() const { return 2 * static_cast<double>(columns) - 1; }
    double bottom() const { return 4 * static_cast<double>(rows) - 1; }

    // From point to point; of a level, every third dot.
    void line(const Point& a, const Point& b, size_t index, bool level) {
        static constexpr char32_t bit[4][2] = {
            {0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};  // as Unicode has it
        const double steps = std::max({1.0, std::ceil(std::abs(b.x - a.x)), std::ceil(std::abs(b.y - a.y))});
        for (double i = 0; i <= steps; i += level ? 3 : 1) {
            const size_t x = nearest(std::lerp(a.x, b.x, i / steps));
            const size_t y = nearest(std::lerp(a.y, b.y, i / steps));
            bits[y / 4 * columns + x / 2] |= bit[y % 4][x % 2];
            series[y / 4 * columns + x / 2] = index;
        }
    }

    std::string character(size_t i) const {
        std::string text;
        nn::append_utf8(text, U'\u2800' + bits[i]);
        return text;
    }
};

// Blue, orange, green, pink, yellow, light blue and white, of the palette of 256 colours.
std::string painted(const std::string& text, size_t series, bool colour) {
    static const char* const colours[] = {"33", "208", "36", "175", "178", "117", "255"};
    return colour ? std::string("\033[38;5;") + colours[series % 7] + "m" + text + "\033[0m" : text;
}

// The x axis, its name at the right, and the numbers below.
std::string axis_of(const Scale& x, const std::string& name, size_t margin, size_t columns) {
    const std::string label = name.empty() ? "" : " " + name;
    std::string text = std::string(margin, ' ') + " └", numbers;
    for (size_t i = kit::columns(label); i < columns; ++i)
        text += "─";
    for (const auto& [part, number] : x.ticks()) {
        const size_t centre = nearest(part * static_cast<double>(columns - 1));
        const size_t begin = std::min(centre - std::min(centre, number.size() / 2), columns - number.size());
        if (numbers.empty() || begin > numbers.size())
            numbers += std::string(begin - numbers.size(), ' ') + number;
    }
    return text + label + '\n' + std::string(margin + 2, ' ') + numbers + '\n';
}

}  // namespace

std::string draw(const LineChart& chart, std::size_t width, std::size_t height, bool colour) {
    const size_t rows = std::max<size_t>(height, 2);
    const Scale y({chart}, false, static_cast<double>(rows) / 2.5);
    const size_t margin = widest(y.ticks(), &Scale::Tick::label), names = widest(chart.series, &Series::name);
    Dots dots = {std::max(width, margin + names + 13) - margin - names - 3, rows};
    const Scale x({chart}, true, std::max(2.0, static_cast<double>(dots.columns) / 9));
    const std::vector<Curve> curves = curves_of(chart, x, y, dots.right(), dots.bottom(), 4);
    for (size_t s = 0; s < curves.size(); ++s)
        for (const Line& line : curves[s].lines)
            for (size_t i = 0; i < line.size(); ++i)
                dots.line(line[i - std::min<size_t>(i, 1)], line[i], s, is_level(chart.series[s]));
    std::vector<std::string> numbers(rows);
    for (const auto& [part, label] : y.ticks())
        numbers[nearest((1 - part) * dots.bottom()) / 4] = label;
    std::string text;
    for (const std::string& heading : {chart.title, chart.y.name})
        text += heading + (heading.empty() ? "" : "\n");
    for (size_t row = 0; row < rows; ++row) {
        std::string line = right(numbers[row], margin) + (numbers[row].empty() ? " │" : " ┤");
        for (size_t i = row * dots.columns; i < (row + 1) * dots.columns; ++i)
            line += dots.bits[i] == 0 ? " " : painted(dots.character(i), dots.series[i], colour);
        for (size_t s = 0; s < curves.size(); ++s)
            if (std::floor((curves[s].name + 0.5) / 4) == static_cast<double>(row))
                line += " " + painted(chart.series[s].name, s, colour);
        text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
    }
    return text + axis_of(x, chart.x.name, margin, dots.columns);
}

}  // namespace plaingrad::figures
