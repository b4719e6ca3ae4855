// Pictures for the terminal.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace plaingrad::kit {

// Draws a matrix of numbers between 0 and 1, (rows, columns), with a label for each row and each column: in
// greys from black (0) to white (1) if `colour`, else in block characters, denser for larger numbers.
void draw_heat_map(std::ostream& out, const std::vector<std::string>& row_labels,
                   const std::vector<std::string>& column_labels, const std::vector<double>& values,
                   bool colour);

}  // namespace plaingrad::kit
