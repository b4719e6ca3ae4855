// Line charts as SVG.
#include <algorithm>

#include "apps/kit/text.h"
#include "autograd/base/check.h"
#include "tests/figures/canvas.h"
#include "tests/figures/figure.h"
#include "tests/figures/scale.h"

namespace plaingrad::figures {

using namespace kit;  // NOLINT
namespace {

using autograd::join;

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
