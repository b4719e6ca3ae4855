// The axes of line charts: where a value lies, and which numbers stand beside the axis.
#pragma once

#include "apps/kit/figure.h"

namespace plaingrad::kit {

bool is_level(const Series& series);

// The smallest of ..., 0.5, 1, 2, 5, 10, ... that is not below `least`, which is positive.
double round_step(double least);

// How a number is written beside an axis: "0.5", "200", "1e-05".
std::string tick_label(double value);

// An axis that some charts share.
class Scale {
public:
    // The x (or y) axis of the first chart. The ends that it leaves open are those of the values of all of
    // them, or a round number close by. `most` is how many numbers there is room for. Throws Error as svg
    // does, and if the axis has no value that it can show.
    Scale(const std::vector<LineChart>& charts, bool is_x, double most);

    // 0 at the low end to 1 at the high end, also for what lies beyond; NaN for what the axis cannot show.
    double operator()(double value) const;
    const std::vector<double>& ticks() const { return ticks_; }

private:
    bool log_;
    double low_, high_;
    std::vector<double> ticks_;
};

// Points from the top left corner of a chart of this size; NaN leaves a gap. Those in the same column of
// pixels become one, their mean: no line needs more.
struct Point {
    double x, y;
};
std::vector<Point> points_of(const Series& series, const Scale& x, const Scale& y, double width,
                             double height);

// Where to write the names of lines that end at `y`, in the same order: at least `gap` apart, none below
// `limit`.
std::vector<double> moved_apart(const std::vector<double>& y, double gap, double limit);

}  // namespace plaingrad::kit
