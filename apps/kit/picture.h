// Pictures for the terminal, as texts of whole lines. (tests/figures/ draws more, also as SVG, for the
// chapters.)
#pragma once

#include <string>
#include <vector>

namespace plaingrad::kit {

// What a cell of a heat map shows: a shade, its value, or both.
enum class Cells { shades, numbers, both };

// A grid of squares, (rows, columns). From `low` to `high` it is white to blue (on a dark page black to
// blue); if low is negative, blue over grey to yellow, which get lighter from end to end and so can be told
// apart in print. Values beyond an end look like it; NaN is left empty.
struct HeatMap {
    std::string title = {};                  // above this grid; short
    std::vector<std::string> rows, columns;  // labels; if the cells are small, only every n-th is written
    std::vector<double> values;              // row after row
    std::string row_axis = {}, column_axis = {};  // what rows and columns are: "query", "key"
    double low = 0, high = 1;
    Cells cells = Cells::shades;
};

// The grid with its labels, aligned. Shades are greys from black (low) to white (high) if `colour`, else
// block characters, denser for larger values. Numbers have two decimals if they also have a shade, else as
// many as they need. A number below -1e30 is -∞. The label of a single column is left out if it has numbers.
std::string draw(const HeatMap& map, bool colour);

// Pictures side by side, in as many rows as it takes to keep to `width` characters.
std::string beside(const std::vector<std::string>& pictures, std::size_t width);

// 1.234 with 2 decimals is "1.23". A small number has one more for each 0 behind its point, a whole one none.
std::string rounded(double value, int decimals);

}  // namespace plaingrad::kit
