// Pictures for the terminal, as texts of whole lines. (tests/figures/ draws more, also as SVG, for the
// chapters.)
#pragma once

#include <string>
#include <vector>

namespace plaingrad::kit {

// What pictures are drawn with: ASCII, block characters, the greys of a palette of 256 colours, or 24-bit
// colours.
enum class Ink { ascii, blocks, greys, colours };

// What standard output can show. A file or a pipe gets ASCII. A terminal gets the colours that TERM and
// COLORTERM promise, or, if there are none or NO_COLOR is set, block characters; without colours and without
// UTF-8 in the locale, ASCII.
Ink stdout_ink();

// What a cell of a heat map shows: a shade, its value, or both. Small: a shade in a single column, and no
// labels.
enum class Cells { shades, numbers, both, small };

// A grid of squares, (rows, columns). From `low` to `high` it is white to blue (on a dark page black to
// blue); if low is negative, blue over grey to yellow, which get lighter from end to end and so can be told
// apart in print. Values beyond an end look like it; NaN is left empty.
struct HeatMap {
    std::string title = {};  // above this grid; short
    // Labels; if the cells are small, only every n-th is written.
    std::vector<std::string> rows = {}, columns = {};
    std::vector<double> values;                   // row after row
    std::string row_axis = {}, column_axis = {};  // what rows and columns are: "query", "key"
    double low = 0, high = 1;
    Cells cells = Cells::shades;
};

// The grid with its labels, aligned. Shades go from black (low) to white (high), or from blue to yellow if
// there are all colours; without any, they are characters, denser for larger values. Numbers have two
// decimals if they also have a shade, else as many as they need. A number below -1e30 is -∞. The label of a
// single column is left out if it has numbers.
std::string draw(const HeatMap& map, Ink ink);

// Pictures side by side, in as many rows as it takes to keep to `width` characters.
std::string beside(const std::vector<std::string>& pictures, std::size_t width);

// The means of `count` equal parts of `size` values, as far as there are values yet.
std::vector<double> means(const std::vector<double>& values, std::size_t size, std::size_t count);

// A column of this height, from 0 to 1 of `rows` lines: its character in line `row`, from the bottom.
std::string bar(double height, int row, int rows, Ink ink);

// The losses of a run's log (nn::TrainingLog) as columns above an axis, and its validation losses as points.
// It is as wide as `width`: a column is the mean of some steps.
std::string loss_chart(const std::string& log, std::size_t width, Ink ink);

// 1.234 with 2 decimals is "1.23". A small number has one more for each 0 behind its point, a whole one none.
std::string rounded(double value, int decimals);

}  // namespace plaingrad::kit
