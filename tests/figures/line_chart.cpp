// Line charts as SVG.
#include <algorithm>

#include "apps/kit/text.h"
#include "autograd/base/check.h"
#include "autograd/base/portable_math.h"
#include "tests/figures/canvas.h"
#include "tests/figures/figure.h"

namespace plaingrad::figures {

using namespace kit;  // NOLINT
namespace {

using autograd::check;
using autograd::join;

constexpr double kNearly = 1e-9;  // what rounding can have moved a tick

std::vector<double> values_of(const std::vector<LineChart>& charts, bool is_x, bool log) {
    std::vector<double> values;
    for (const LineChart& chart : charts)
        for (const auto& [name, y, x] : chart.series) {
            check(!y.empty() && (x.empty() || x.size() == y.size()),
                  "[figure] a series needs a y for each x: '", name, "' has ", x.size(), " x and ", y.size(),
                  " y");
            values.insert(values.end(), (is_x ? x : y).begin(), (is_x ? x : y).end());
            if (is_x && x.empty() && y.size() > 1)
                values.insert(values.end(), {1.0, static_cast<double>(y.size())});
        }
    std::erase_if(values, [log](double v) { return !std::isfinite(v) || (log && v <= 0); });
    return values;
}

// The exponent of the largest power of ten that is not above a value.
int decade_of(double value) { return static_cast<int>(std::floor(std::log10(value) + kNearly)); }

// The multiples of `step`; on a logarithmic axis, every n-th power of ten, with 2 and 5 times these if there
// is room.
std::vector<double> multiples(double step, double low, double high) {
    std::vector<double> ticks;
    for (double n = std::ceil(low / step - kNearly); n * step <= high + kNearly * step; ++n)
        ticks.push_back(n * step + 0.0);  // -0 becomes 0
    return ticks;
}
std::vector<double> powers(double low, double high, double most) {
    const double decades = std::log10(high / low);
    const int every = std::max(1, static_cast<int>(std::ceil(decades / most - kNearly)));
    std::vector<double> ticks;
    for (int n = decade_of(low); n <= decade_of(high); n += every)
        for (const int digit : {1, 2, 5}) {
            const double tick = times_ten_to(digit, n);
            const bool inside = tick >= low * (1 - kNearly) && tick <= high * (1 + kNearly);
            if (inside && (digit == 1 || 3 * decades <= most))
                ticks.push_back(tick);
        }
    return ticks;
}

// One y without x: a line across the chart.
bool is_level(const Series& series) { return series.y.size() == 1 && series.x.empty(); }

// The smallest of ..., 0.5, 1, 2, 5, 10, ... that is not below `least`, which is positive.
double round_step(double least) {
    least = std::max(least, 1e-300);  // the difference of two values may be 0 to the processor
    const double power = times_ten_to(1, decade_of(least)), digit = least / power - kNearly;
    return power * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10);
}

// An axis that some charts share: the x (or y) axis of the first one. The ends that it leaves open are those
// of the values of all of them, or a round number close by. `most` is how many numbers there is room for.
class Scale {
public:
    Scale(const std::vector<LineChart>& charts, bool is_x, double most) {
        check(!charts.empty(), "[figure] a figure needs a panel: there is none");
        const Axis& axis = is_x ? charts[0].x : charts[0].y;
        const std::vector<double> values = values_of(charts, is_x, axis.log);
        check(!values.empty() || !std::isnan(axis.low + axis.high),
              "[figure] an axis needs values that it can show: '", axis.name,
              "' has none; give it a low and a high end");
        check(!axis.log || !(axis.low <= 0), "[figure] a logarithmic axis begins above 0: '", axis.name,
              "' begins at ", axis.low);
        log_ = axis.log;
        low_ = std::isnan(axis.low) ? *std::min_element(values.begin(), values.end()) : axis.low;
        high_ = std::isnan(axis.high) ? *std::max_element(values.begin(), values.end()) : axis.high;
        if (low_ >= high_)
            high_ = low_ + std::max(1.0, std::abs(low_));
        const double step = round_step((high_ - low_) / most);
        const double below = std::floor(low_ / step) * step, above = std::ceil(high_ / step) * step;
        if (!log_ && std::isnan(axis.low) && low_ - below < step / 4)
            low_ = below;
        if (!log_ && std::isnan(axis.high) && above - high_ < step / 4)
            high_ = above;
        std::vector<double> ticks = axis.ticks;
        if (ticks.empty() && log_)
            ticks = powers(low_, high_, most);
        if (axis.ticks.empty() && ticks.size() < 2)  // also of a logarithmic axis of less than a power of ten
            ticks = multiples(step, low_, high_);
        for (const double tick : ticks)
            if (const double part = (*this)(tick); !std::isnan(part))
                ticks_.push_back({part, autograd::join(tick)});
    }

    // 0 at the low end to 1 at the high end, also for what lies beyond; NaN for what the axis cannot show.
    double operator()(double value) const {
        if (!std::isfinite(value) || (log_ && value <= 0))
            return NAN;
        const auto log = autograd::portable::log;
        const double part = log_ ? log(value / low_) / log(high_ / low_) : (value - low_) / (high_ - low_);
        return std::clamp(part, 0.0, 1.0);
    }

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

// Points in the same column of pixels become one, their mean. A level goes from side to side.
Curve curve_of(const Series& series, const Scale& x, const Scale& y, double width, double height) {
    std::vector<Line> lines(1);
    Point end = {width, height};
    double merged = 1;  // how many points the last one is the mean of
    const bool level = is_level(series);
    for (std::size_t i = 0; i < (level ? 2 : series.y.size()); ++i) {
        const auto count = static_cast<double>(i);
        const double part = level ? count : x(series.x.empty() ? count + 1 : series.x[i]);
        const Point here = {part * width, (1 - y(series.y[level ? 0 : i])) * height};
        Line& line = lines.back();
        if (std::isnan(here.x + here.y)) {
            lines.emplace_back();
            continue;
        }
        if (line.empty() || std::round(here.x) != std::round(line.back().x)) {
            line.push_back(here);
            merged = 1;
        } else {
            line.back().y += (here.y - line.back().y) / ++merged;
        }
        end = line.back();
    }
    return {lines, end};
}

// Gives each curve a place for its name: at its end, or near it, so that they are at least `gap` apart and
// none is below `limit`.
void place_names(std::vector<Curve>& curves, double gap, double limit) {
    std::vector<Curve*> order;  // from top to bottom
    for (Curve& curve : curves)
        order.push_back(&curve);
    std::stable_sort(order.begin(), order.end(),
                     [](const Curve* a, const Curve* b) { return a->end.y < b->end.y; });
    for (std::size_t i = 0; i < order.size(); ++i)
        order[i]->name = i == 0 ? order[i]->end.y : std::max(order[i]->end.y, order[i - 1]->name + gap);
    for (std::size_t i = order.size(); i-- > 0; limit = order[i]->name - gap)
        order[i]->name = std::min(order[i]->name, limit);
}

std::vector<Curve> curves_of(const LineChart& chart, const Scale& x, const Scale& y, double width,
                             double height, double gap) {
    std::vector<Curve> curves;
    for (const Series& series : chart.series)
        curves.push_back(curve_of(series, x, y, width, height));
    place_names(curves, gap, height);
    return curves;
}

// Colour and dashes.
std::string style_of(const LineChart& chart, std::size_t index) {
    return join("s", is_level(chart.series[index]) ? 0 : index % 7 + 1);
}

// The grid, and the numbers beside it where asked for.
void draw_axes(Canvas& canvas, const Scale& x, const Scale& y, const Frame& at, bool numbers_left,
               bool numbers_below) {
    for (const auto& [part, label] : y.ticks()) {
        const double level = at.bottom() - part * at.height;
        canvas.path(join("M", place(at.left, level), "h", number(at.width)), "grid");
        if (numbers_left)
            canvas.text(at.left - 8, level + 4, label, "soft end");
    }
    for (const auto& [part, label] : x.ticks()) {
        canvas.path(join("M", place(at.left + part * at.width, at.bottom()), "v4"), "axis");
        if (numbers_below)
            canvas.text(at.left + part * at.width, at.bottom() + 18, label, "soft mid");
    }
    canvas.path(join("M", place(at.left, at.bottom()), "h", number(at.width)), "axis");
}

// A line, with a dot at each point if there is room for dots and they are few.
void draw_curve(Canvas& canvas, const Curve& curve, const std::string& style, const Frame& at, bool dotted) {
    std::string shape, dots;
    int points = 0;
    for (const Line& line : curve.lines)
        for (const Point& point : line) {
            const std::string here = place(at.left + point.x, at.top + point.y);
            shape += &point == &line[0] ? join("M", here, "h0") : "L" + here;
            dots += join("M", here, "h0");
            ++points;
        }
    canvas.path(shape, "line " + style);
    if (dotted && points <= 20)
        canvas.path(dots, "line dot " + style);
}

// The series of small multiples, in one line from `left` on.
void draw_key(Canvas& canvas, const LineChart& chart, double left, double y) {
    for (std::size_t i = 0; i < chart.series.size(); ++i) {
        canvas.path(join("M", place(left, y - 4), "h26"), join("line ", style_of(chart, i)));
        canvas.text(left + 34, y, chart.series[i].name);
        left += 54 + text_width(chart.series[i].name);
    }
}

// All lines, and if they are large, their names beside the ends.
void draw(Canvas& canvas, const LineChart& chart, const Scale& x, const Scale& y, const Frame& at,
          bool large) {
    const std::vector<Curve> curves = curves_of(chart, x, y, at.width, at.height, kLine);
    for (std::size_t i = 0; i < curves.size(); ++i)
        draw_curve(canvas, curves[i], style_of(chart, i) + (large ? "" : " thin"), at,
                   large && !is_level(chart.series[i]));
    for (std::size_t i = 0; large && i < curves.size(); ++i) {
        const auto& [lines, end, name] = curves[i];
        canvas.path(
            join("M", place(at.left + end.x + 5, at.top + end.y), "L", place(at.right() + 15, at.top + name)),
            "lead " + style_of(chart, i));
        canvas.text(at.right() + 19, at.top + name + 4, chart.series[i].name);
    }
}

}  // namespace

std::string svg(const std::string& title, const std::string& description,
                const std::vector<LineChart>& panels, int across) {
    const bool alone = panels.size() == 1;
    const auto columns = static_cast<std::size_t>(std::max(across, 1));
    const Scale y(panels, false, alone ? 7 : 4);
    const double left = kMargin + text_width(widest(y.ticks(), &Scale::Tick::label));
    const double right = kMargin + (alone ? text_width(widest(panels[0].series, &Series::name)) + 20 : 4);
    const double width = (kWidth - left - right + kBetween) / static_cast<double>(columns) - kBetween;
    const double height = alone ? 300 : 0.6 * width;
    const Scale x(panels, true, std::clamp(width / 39, 2.0, 8.0));
    std::vector<std::vector<std::string>> titles;
    std::size_t lines = 0;  // of the longest title
    for (const LineChart& panel : panels) {
        titles.push_back(wrapped(panel.title, static_cast<std::size_t>(width / text_width("n"))));
        lines = std::max(lines, titles.back().size());
    }
    Canvas canvas;
    canvas.text(kMargin, kTop + 12, panels[0].y.name, "soft");
    if (!alone)
        draw_key(canvas, panels[0], kMargin + text_width(panels[0].y.name) + 20, kTop + 12);
    Frame at = {left, kTop + 12 - height, width, height};
    for (std::size_t i = 0; i < panels.size(); ++i) {
        at.left = left + static_cast<double>(i % columns) * (width + kBetween);
        if (i % columns == 0)
            at.top += height + kBetween + kLine * static_cast<double>(lines);
        double above = at.top - 9 - kLine * static_cast<double>(titles[i].size());
        for (const std::string& line : titles[i])
            canvas.text(at.left, above += kLine, line, "bold");
        draw_axes(canvas, x, y, at, i % columns == 0, i + columns >= panels.size());
        draw(canvas, panels[i], x, y, at, alone);
    }
    canvas.text((left + kWidth - right) / 2, at.bottom() + 36, panels[0].x.name, "soft mid");
    return canvas.page(title, description, kWidth, at.bottom() + 36 + kMargin);
}

}  // namespace plaingrad::figures
