#include "tests/figures/scale.h"

#include <algorithm>

#include "apps/kit/text.h"
#include "autograd/base/check.h"
#include "autograd/base/portable_math.h"

namespace plaingrad::figures {

using namespace kit;  // NOLINT
namespace {

using autograd::check;

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

}  // namespace

bool is_level(const Series& series) { return series.y.size() == 1 && series.x.empty(); }

double round_step(double least) {
    least = std::max(least, 1e-300);  // the difference of two values may be 0 to the processor
    const double power = times_ten_to(1, decade_of(least)), digit = least / power - kNearly;
    return power * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10);
}

Scale::Scale(const std::vector<LineChart>& charts, bool is_x, double most) {
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

double Scale::operator()(double value) const {
    if (!std::isfinite(value) || (log_ && value <= 0))
        return NAN;
    const auto log = autograd::portable::log;
    const double part = log_ ? log(value / low_) / log(high_ / low_) : (value - low_) / (high_ - low_);
    return std::clamp(part, 0.0, 1.0);
}

// A level goes from side to side.
static Curve curve_of(const Series& series, const Scale& x, const Scale& y, double width, double height) {
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

std::vector<Curve> curves_of(const LineChart& chart, const Scale& x, const Scale& y, double width,
                             double height, double gap) {
    std::vector<Curve> curves;
    for (const Series& series : chart.series)
        curves.push_back(curve_of(series, x, y, width, height));
    place_names(curves, gap, height);
    return curves;
}

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

}  // namespace plaingrad::figures
