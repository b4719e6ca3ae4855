// Line charts as SVG.
#include <algorithm>

#include "apps/kit/canvas.h"
#include "apps/kit/figure.h"
#include "apps/kit/program.h"
#include "apps/kit/scale.h"
#include "autograd/base/check.h"

namespace plaingrad::kit {
namespace {

using autograd::join;

// Colour and dashes.
std::string style_of(const LineChart& chart, std::size_t index) {
    return join("s", is_level(chart.series[index]) ? 0 : index % 7 + 1);
}

// The grid, and the numbers beside it where asked for.
void draw_axes(Canvas& canvas, const Scale& x, const Scale& y, const Frame& at, bool numbers_left,
               bool numbers_below) {
    const auto line = [&](double level, const char* style) {
        canvas.path(join("M", place(at.left, at.bottom() - level * at.height), "h", number(at.width)), style);
    };
    for (const double tick : y.ticks()) {
        line(y(tick), "grid");
        if (numbers_left)
            canvas.text(at.left - 8, at.bottom() - y(tick) * at.height + 4, tick_label(tick), "soft end");
    }
    for (const double tick : x.ticks()) {
        canvas.path(join("M", place(at.left + x(tick) * at.width, at.bottom()), "v4"), "axis");
        if (numbers_below)
            canvas.text(at.left + x(tick) * at.width, at.bottom() + 18, tick_label(tick), "soft mid");
    }
    line(0, "axis");
}

// Draws a line, with a dot at each point if it is large and they are few. Returns its last point.
Point draw_series(Canvas& canvas, const LineChart& chart, std::size_t index, const std::vector<Point>& points,
                  const Frame& at, bool large) {
    std::string line, dots;
    Point end = {at.width, at.height};
    for (std::size_t i = 0; i < points.size(); ++i) {
        if (std::isnan(points[i].x + points[i].y))
            continue;
        end = points[i];
        const std::string here = place(at.left + end.x, at.top + end.y);
        const bool begins = i == 0 || std::isnan(points[i - 1].x + points[i - 1].y);
        line += join(begins ? "M" : "L", here, begins ? "h0" : "");
        dots += join("M", here, "h0");
    }
    const std::string style = style_of(chart, index);
    canvas.path(line, join("line ", style, large ? "" : " thin"));
    if (large && points.size() <= 20 && !is_level(chart.series[index]))
        canvas.path(dots, join("line dot ", style));
    return end;
}

// The series of small multiples, in one line from `left` on.
void draw_key(Canvas& canvas, const LineChart& chart, double left, double y) {
    for (std::size_t i = 0; i < chart.series.size(); ++i) {
        canvas.path(join("M", place(left, y - 4), "h26"), join("line ", style_of(chart, i)));
        canvas.text(left + 34, y, chart.series[i].name);
        left += 54 + text_width(chart.series[i].name);
    }
}

// Lines of text above a chart.
void draw_title(Canvas& canvas, const std::vector<std::string>& lines, const Frame& at) {
    double y = at.top - 9 - kLine * static_cast<double>(lines.size());
    for (const std::string& line : lines)
        canvas.text(at.left, y += kLine, line, "bold");
}

// All lines, and if they are large, their names beside the ends.
void draw(Canvas& canvas, const LineChart& chart, const Scale& x, const Scale& y, const Frame& at,
          bool large) {
    std::vector<Point> ends;
    std::vector<double> names;
    for (std::size_t i = 0; i < chart.series.size(); ++i) {
        const std::vector<Point> points = points_of(chart.series[i], x, y, at.width, at.height);
        ends.push_back(draw_series(canvas, chart, i, points, at, large));
        names.push_back(ends[i].y);
    }
    names = moved_apart(names, kLine, at.height);
    for (std::size_t i = 0; large && i < names.size(); ++i) {
        const std::string begin = place(at.left + ends[i].x + 5, at.top + ends[i].y);
        const std::string end = place(at.right() + 15, at.top + names[i]);
        canvas.path(join("M", begin, "L", end), join("lead ", style_of(chart, i)));
        canvas.text(at.right() + 19, at.top + names[i] + 4, chart.series[i].name);
    }
}

}  // namespace

std::string svg(const std::string& title, const std::string& description,
                const std::vector<LineChart>& panels, int across) {
    const bool alone = panels.size() == 1;
    const auto columns = static_cast<std::size_t>(std::max(across, 1));
    const Scale y(panels, false, alone ? 7 : 4);
    std::vector<std::string> names, numbers;
    for (const Series& series : panels[0].series)
        names.push_back(series.name);
    for (const double tick : y.ticks())
        numbers.push_back(tick_label(tick));
    const double left = kMargin + widest(numbers), right = kMargin + (alone ? widest(names) + 20 : 4);
    const double width = (kWidth - left - right + kBetween) / static_cast<double>(columns) - kBetween;
    const double height = alone ? 300 : 0.6 * width;
    const Scale x(panels, true, std::clamp(width / 39, 2.0, 8.0));
    const auto title_of = [&](const LineChart& c) {
        return wrapped(c.title, static_cast<std::size_t>(width / text_width("n")));
    };
    std::size_t lines = 0;  // of the titles
    for (const LineChart& panel : panels)
        lines = std::max(lines, title_of(panel).size());
    Canvas canvas;
    canvas.text(kMargin, kTop + 12, panels[0].y.name, "soft");
    if (!alone)
        draw_key(canvas, panels[0], kMargin + text_width(panels[0].y.name) + 20, kTop + 12);
    Frame at = {left, kTop + 12 - height, width, height};
    for (std::size_t i = 0; i < panels.size(); ++i) {
        at.left = left + static_cast<double>(i % columns) * (width + kBetween);
        if (i % columns == 0)
            at.top += height + kBetween + kLine * static_cast<double>(lines);
        draw_title(canvas, title_of(panels[i]), at);
        draw_axes(canvas, x, y, at, i % columns == 0, i + columns >= panels.size());
        draw(canvas, panels[i], x, y, at, alone);
    }
    canvas.text((left + kWidth - right) / 2, at.bottom() + 36, panels[0].x.name, "soft mid");
    return canvas.page(title, description, kWidth, at.bottom() + 36 + kMargin);
}

}  // namespace plaingrad::kit
