// Pictures for the terminal.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "apps/kit/figure.h"

namespace plaingrad::kit {

// Draws a matrix of numbers between 0 and 1, (rows, columns), with a label for each row and each column: in
// greys from black (0) to white (1) if `colour`, else in block characters, denser for larger numbers.
void draw_heat_map(std::ostream& out, const std::vector<std::string>& row_labels,
                   const std::vector<std::string>& column_labels, const std::vector<double>& values,
                   bool colour);

// A line chart of this many characters: braille dots, eight a character, the name of each series at its end,
// and if `colour`, each in its own. Throws Error for what figure.h's charts do not allow.
void draw_chart(std::ostream& out, const LineChart& chart, int width, int height, bool colour);

// Pictures of several lines side by side, in as many rows as it takes to keep to `width` characters.
void draw_beside(std::ostream& out, const std::vector<std::string>& pictures, int width);

// Numbers with a label for each row and column (a single column has none), aligned. `weights` are between 0
// and 1, and shaded: the larger, the lighter the grey behind the number if `colour`, else the denser the
// block character beside it. A number below -1e30 is -∞.
struct Matrix {
    std::string title;
    std::vector<std::string> rows, columns;
    std::vector<double> numbers;
    bool weights = false;
};
std::string draw_matrix(const Matrix& matrix, bool colour);

// 1.234 with 2 decimals is "1.23". A small number has one more for each 0 behind its point, a whole one none.
std::string rounded(double number, int decimals);

}  // namespace plaingrad::kit
