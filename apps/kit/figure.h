// Heat maps and line charts as SVG files. Any browser shows them, light or dark as its reader likes it; they
// hold no script and no font, and the same numbers give the same bytes on every machine.
//
//     const kit::HeatMap map = {.rows = {"5", "3"}, .columns = {"5", "3"}, .values = {0.9, 0.1, 0.4, 0.6}};
//     std::ofstream("weights.svg") << kit::svg("Attention", "Each digit attends to itself.", {map});
//     const kit::Axis step = {.name = "step"}, loss = {.name = "loss", .log = true};
//     const kit::LineChart chart = {.x = step, .y = loss, .series = {{"Adam", adam}, {"ln V", {3.04}}}};
//     std::ofstream("loss.svg") << kit::svg("Loss", "Adam soon beats guessing.", {chart});
//
// picture.h draws the same charts on a terminal.
#pragma once

#include <cmath>
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

struct Axis {
    std::string name = {};
    bool log = false;
    double low = NAN, high = NAN;    // NAN: those of the data, or a round number close by
    std::vector<double> ticks = {};  // none: round numbers
};

// A line through the points (x, y); without x, these are 1, 2, 3, ..., as training steps are counted. One y
// without x is a level, a dotted line across the chart, such as the loss of guessing, ln V. What an axis
// cannot show (NaN, infinity, the logarithm of 0) leaves a gap; what is beyond its ends is drawn at the end.
struct Series {
    std::string name;
    std::vector<double> y, x = {};
};

struct LineChart {
    std::string title = {};  // above this chart, on as many lines as it needs
    Axis x = {}, y = {};
    std::vector<Series> series;  // seven have colours and dashes of their own
};

// The figure as an SVG file, 760 pixels wide or less: its title, and in a sentence what it shows, for those
// who cannot see it. Several panels are small multiples, `across` of them side by side. Charts then share the
// axes of the first panel, over the values of all, and a key to the series of the first; heat maps share the
// first one's scale of colours. Throws Error if there is no panel, if a series has no point, if x and y, or
// labels and values, do not match in number, if an axis has no value that it can show, and if a heat map's
// low is not below its high.
std::string svg(const std::string& title, const std::string& description, const std::vector<HeatMap>& panels,
                int across = 1);
std::string svg(const std::string& title, const std::string& description,
                const std::vector<LineChart>& panels, int across = 1);

}  // namespace plaingrad::kit
