// Grids on a terminal, and pictures side by side.
#include "apps/kit/picture.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "apps/kit/program.h"
#include "autograd/base/text_stream.h"

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

// From 0 (low) to 1 (high).
double part_of(const HeatMap& map, std::size_t i) {
    const double part = (map.values[i] - map.low) / (map.high - map.low);
    return part > 0 ? std::min(part, 1.0) : 0;  // a NaN, too, is drawn as 0
}

// Behind "\033[48;"; it gets lighter from 0 to 1: one of 24 greys of a palette, or red;green;blue.
std::string colour(double part, Ink ink) {
    const long n = std::lround(part * (ink == Ink::greys ? 23 : 255));
    return ink == Ink::greys ? join("5;", 232 + n) : join("2;", n, ';', 30 + 4 * n / 5, ';', 80 - n / 10);
}

// A text and as many columns of a shade; colours are behind the text, too.
std::string shaded(std::string text, std::size_t size, double part, Ink ink) {
    static const char* const shades[][5] = {{".", ":", "+", "*", "#"}, {"·", "░", "▒", "▓", "█"}};
    if (ink >= Ink::greys)
        return join("\033[48;", colour(part, ink), ";38;5;", part < 0.5 ? 255 : 232, 'm', text,
                    std::string(size, ' '), "\033[0m");
    for (; size > 0; --size)
        text += shades[ink == Ink::blocks][std::lround(part * 4)];
    return text;
}

}  // namespace

std::string rounded(double value, int decimals) { return text_of(value, decimals_for({value}, decimals)); }

Ink stdout_ink() {
    const auto variable = [](const char* name) {
        const char* const value = std::getenv(name);
        return std::string(value == nullptr ? "" : value);
    };
    const std::string term = variable("TERM"), colours = variable("COLORTERM");
    const bool all = colours == "truecolor" || colours == "24bit";
    if (!is_terminal(STDOUT_FILENO))
        return Ink::ascii;
    if (term != "dumb" && (all || term.find("256color") != term.npos))
        return !variable("NO_COLOR").empty() ? Ink::blocks : all ? Ink::colours : Ink::greys;
    std::string locale;  // the first of these that is set
    for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"})
        locale = locale.empty() ? variable(name) : locale;
    return locale.find("UTF") != locale.find("utf") ? Ink::blocks : Ink::ascii;
}

std::string draw(const HeatMap& map, Ink ink) {
    const bool shades = map.cells == Cells::shades, both = map.cells == Cells::both,
               small = map.cells == Cells::small;
    const int decimals = both ? 2 : decimals_for(map.values, 2);
    std::vector<std::string> cells;
    for (const double value : map.values)
        cells.push_back(shades ? "" : text_of(value, decimals));
    const std::size_t margin = widest(map.rows), columns = map.columns.size();
    const std::size_t width =
        std::max<std::size_t>(std::max(widest(cells), widest(map.columns)) + 1, shades ? 3 : 6);
    const std::string gap = shades ? " " : "";  // numbers begin with one
    std::string text = map.title.empty() ? "" : std::string(small ? 0 : margin + 1, ' ') + map.title + '\n';
    const bool labelled = shades || (columns > 1 && !small);
    if (labelled)
        text += std::string(margin, ' ') + gap;
    for (std::size_t c = 0; labelled && c < columns; ++c)  // below it, a block stands behind each number
        text += right(map.columns[c], width + (both && c > 0 ? 1 : 0));
    text += labelled ? "\n" : "";
    for (std::size_t i = 0; i < cells.size(); ++i) {
        if (i % columns == 0 && !small)
            text += right(map.rows[i / columns], margin) + gap;
        if (shades)
            text += right("", width - 3) + shaded(" ", 2, part_of(map, i), ink);
        else if (both || small)
            text += shaded(small ? "" : right(cells[i], width), 1, part_of(map, i), ink);
        else
            text += right(cells[i], width);
        if ((i + 1) % columns == 0)
            text += '\n';
    }
    return text;
}

std::vector<double> means(const std::vector<double>& values, std::size_t size, std::size_t count) {
    std::vector<double> all;
    for (std::size_t i = 0, begin = 0; begin < values.size() && i < count; begin = ++i * size / count) {
        const std::size_t end = std::clamp((i + 1) * size / count, begin + 1, values.size());
        all.push_back(std::accumulate(&values[begin], values.data() + end, 0.0) /
                      static_cast<double>(end - begin));
    }
    return all;
}

std::string bar(double height, int row, int rows, Ink ink) {
    static const char* const eighths[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    const long here = std::clamp(std::lround(std::min(1.0, height) * (8 * rows - 1)) + 1 - 8L * row, 0L, 8L);
    return ink == Ink::ascii ? std::string(1, " ...:::##"[here]) : eighths[here];
}

std::string loss_chart(const std::string& log, std::size_t width, Ink ink) {
    constexpr std::size_t kMargin = 9;
    constexpr int kRows = 12;
    const std::size_t columns = std::max<std::size_t>(width, 30) - kMargin;
    const auto lines = static_cast<std::size_t>(std::count(log.begin(), log.end(), '\n'));  // with the head
    std::vector<double> losses, points(columns + 1);
    autograd::TextInput rows(log);
    for (std::string row; std::getline(rows, row);) {
        double loss = 0, validation = 0;
        if (std::sscanf(row.c_str(), "%*d,%lf,%lf", &loss, &validation) > 0) {
            losses.push_back(loss);
            double& point = points[losses.size() * columns / lines];
            point = std::max(point, validation);
        }
    }
    const std::vector<double> bars = means(losses, losses.size(), columns);
    double high = *std::max_element(points.begin(), points.end());
    std::string text =
        "loss: " + bar(1, 0, 1, ink) + (high > 0 ? " training, o validation\n" : " training\n");
    for (const double loss : bars)
        high = std::max(high, loss);
    for (int row = kRows; row-- > 0;) {
        text += right(row % 3 == 2 ? rounded(high * (row + 1) / kRows, 2) : "", kMargin - 2) + " |";
        for (std::size_t i = 0; i < bars.size(); ++i)
            text += points[i] > 0 && std::floor(points[i] / high * (kRows - 0.01)) == row
                        ? "o"
                        : bar(bars[i] / high, row, kRows, ink);
        text.erase(text.find_last_not_of(' ') + 1);
        text += '\n';
    }
    return text + right("+", kMargin) + std::string(columns, '-') + '\n' + right("1", kMargin + 1) +
           right("step", columns / 2) + right(std::to_string(losses.size()), columns - columns / 2 - 1) +
           '\n';
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
                line += left(row < lines[i].size() ? lines[i][row] : "", column + kGap);
            text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
        }
    return text;
}

}  // namespace plaingrad::kit
