#include "apps/kit/picture.h"

#include <algorithm>
#include <ostream>

#include "nn/utf8.h"

namespace plaingrad::kit {
namespace {

constexpr std::size_t kCell = 3;  // columns of a cell, which makes it nearly square

std::string padded(const std::string& text, std::size_t width) {
    const std::size_t used = nn::columns_of(text);
    return (used < width ? std::string(width - used, ' ') : "") + text;
}

std::string cell(double value, bool colour) {
    const double v = std::clamp(value, 0.0, 1.0);
    if (colour) {  // 24 greys of the 256-colour palette, black to white
        const int grey = 232 + static_cast<int>(v * 23 + 0.5);
        return "\033[48;5;" + std::to_string(grey) + "m" + std::string(kCell, ' ') + "\033[0m";
    }
    static const char* const shades[] = {"·", "░", "▒", "▓", "█"};
    const char* shade = shades[static_cast<std::size_t>(v * 4 + 0.5)];
    return std::string(" ") + shade + shade;
}

}  // namespace

void draw_heat_map(std::ostream& out, const std::vector<std::string>& row_labels,
                   const std::vector<std::string>& column_labels, const std::vector<double>& values,
                   bool colour) {
    std::size_t margin = 0, cell_width = kCell;
    for (const std::string& label : row_labels)
        margin = std::max(margin, nn::columns_of(label));
    for (const std::string& label : column_labels)
        cell_width = std::max(cell_width, nn::columns_of(label) + 1);
    out << std::string(margin, ' ') << ' ';
    for (const std::string& label : column_labels)
        out << padded(label, cell_width);
    out << '\n';
    for (std::size_t r = 0; r < row_labels.size(); ++r) {
        out << padded(row_labels[r], margin) << ' ';
        for (std::size_t c = 0; c < column_labels.size(); ++c)
            out << std::string(cell_width - kCell, ' ') << cell(values[r * column_labels.size() + c], colour);
        out << '\n';
    }
}

}  // namespace plaingrad::kit
