// Line charts as SVG files, for the chapters and the museum. Any browser shows them, light or dark as its
// reader likes it; they hold no script and no font, and the same numbers give the same bytes on every
// machine. (Of the programs, those that draw have apps/kit/picture.h; and the page about a run draws itself.)
//
//     const figures::Axis step = {.name = "step"}, loss = {.name = "loss", .log = true};
//     const figures::LineChart chart = {.x = step, .y = loss, .series = {{"Adam", adam}, {"ln V", {3.04}}}};
//     std::ofstream("loss.svg") << figures::svg("Loss", "Adam soon beats guessing.", {chart});
#pragma once

#include <cmath>
#include <string>
#include <vector>

namespace plaingrad::figures {

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

// The figure as an SVG file, 760 pixels wide: its title, and in a sentence what it shows, for those who
// cannot see it. Several panels are small multiples, `across` of them side by side: they share the axes of
// the first panel, over the values of all, and a key to the series of the first. Throws Error if there is no
// panel, if a series has no point, if x and y do not match in number, and if an axis has no value that it can
// show.
std::string svg(const std::string& title, const std::string& description,
                const std::vector<LineChart>& panels, int across = 1);

}  // namespace plaingrad::figures
