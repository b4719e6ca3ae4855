#include "apps/kit/scale.h"

#include <algorithm>
#include <charconv>
#include <numeric>

#include "autograd/base/check.h"

namespace plaingrad::kit {
namespace {

using autograd::check;

constexpr double kNearly = 1e-9;  // relative: what rounding can have moved a tick

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
    std::vector<double> ticks;
    for (double n = std::floor(std::log10(low)); n <= std::log10(high); n += std::ceil(decades / most))
        for (const double digit : {1, 2, 5})
            if (const double tick = digit * std::pow(10, n);
                (digit == 1 || 3 * decades <= most) &&
                std::clamp(tick, low * (1 - kNearly), high * (1 + kNearly)) == tick)
                ticks.push_back(tick);
    return ticks;
}

}  // namespace

bool is_level(const Series& series) { return series.y.size() == 1 && series.x.empty(); }

double round_step(double least) {
    const double power = std::pow(10, std::floor(std::log10(least))), digit = least / power - kNearly;
    return power * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10);
}

std::string tick_label(double value) {
    char text[32];
    return {text, std::to_chars(text, text + sizeof text, value, std::chars_format::general, 6).ptr};
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
    ticks_ = !axis.ticks.empty() ? axis.ticks
             : log_              ? powers(low_, high_, most)
                                 : multiples(step, low_, high_);
    if (axis.ticks.empty() && ticks_.size() < 2)  // less than a power of ten
        ticks_ = multiples(step, low_, high_);
}

double Scale::operator()(double value) const {
    if (!std::isfinite(value) || (log_ && value <= 0))
        return NAN;
    const double part =
        log_ ? std::log(value / low_) / std::log(high_ / low_) : (value - low_) / (high_ - low_);
    return std::clamp(part, 0.0, 1.0);
}

std::vector<Point> points_of(const Series& series, const Scale& x, const Scale& y, double width,
                             double height) {
    if (is_level(series))
        return {{0, (1 - y(series.y[0])) * height}, {width, (1 - y(series.y[0])) * height}};
    std::vector<Point> points;
    double merged = 1;
    for (std::size_t i = 0; i < series.y.size(); ++i) {
        const double at = x(series.x.empty() ? static_cast<double>(i + 1) : series.x[i]) * width;
        const double level = (1 - y(series.y[i])) * height;
        if (points.empty() || std::round(at) != std::round(points.back().x) ||
            std::isnan(level + points.back().y)) {
            points.push_back({at, level});
            merged = 1;
        } else {
            points.back().y += (level - points.back().y) / ++merged;
        }
    }
    return points;
}

std::vector<double> moved_apart(const std::vector<double>& y, double gap, double limit) {
    std::vector<std::size_t> order(y.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&y](std::size_t a, std::size_t b) { return y[a] < y[b]; });
    std::vector<double> moved = y;
    for (std::size_t i = 1; i < order.size(); ++i)
        moved[order[i]] = std::max(y[order[i]], moved[order[i - 1]] + gap);
    for (std::size_t i = order.size(); i-- > 0; limit = moved[order[i]] - gap)
        moved[order[i]] = std::min(moved[order[i]], limit);
    return moved;
}

}  // namespace plaingrad::kit
