// The axes of line charts, and the lines between them: where a value lies, and which numbers stand beside the
// axis. The same for a figure and for a terminal.
#pragma once

#include "tests/figures/figure.h"

namespace plaingrad::figures {

bool is_level(const Series& series);

// The smallest of ..., 0.5, 1, 2, 5, 10, ... that is not below `least`, which is positive.
double round_step(double least);

// An axis that some charts share.
class Scale {
public:
    // The x (or y) axis of the first chart. The ends that it leaves open are those of the values of all of
    // them, or a round number close by. `most` is how many numbers there is room for. Throws Error as svg
    // does, and if the axis has no value that it can show.
    Scale(const std::vector<LineChart>& charts, bool is_x, double most);

    // 0 at the low end to 1 at the high end, also for what lies beyond; NaN for what the axis cannot show.
    double operator()(double value) const;

    struct Tick {
        double part;        // 0 to 1, as above
        std::string label;  // "0.5", "200", "1e-05"
    };
    const std::vector<Tick>& ticks() const { return ticks_; }

private:
    bool log_;
    double low_, high_;
    std::vector<Tick> ticks_;
};

// Of a chart of this size, from its top left corner.
struct Point {
    double x, y;
};
using Line = std::vector<Point>;
struct Curve {
    std::vector<Line> lines;  // a gap begins a new one
    Point end;
    double name = 0;  // the height at which its name is written
};

// Points in the same column of pixels become one, their mean: no line needs more. Names are at least `gap`
// apart.
std::vector<Curve> curves_of(const LineChart& chart, const Scale& x, const Scale& y, double width,
                             double height, double gap);

// Gives each curve a place for its name: at its end, or near it, so that they are at least `gap` apart and
// none is below `limit`.
void place_names(std::vector<Curve>& curves, double gap, double limit);

}  // namespace plaingrad::figures
