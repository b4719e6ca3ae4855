// Heat maps as SVG.
#include <algorithm>
#include <map>

#include "apps/kit/text.h"
#include "autograd/base/check.h"
#include "tests/figures/canvas.h"
#include "tests/figures/figure.h"
#include "tests/figures/scale.h"

namespace plaingrad::figures {

using namespace kit;  // NOLINT
namespace {

using autograd::check;
using autograd::join;

constexpr double kKey = 60;  // the key to the colours is so wide
constexpr int kShades = 40;

int shade_of(const HeatMap& map, double value) {
    return static_cast<int>(std::clamp((value - map.low) / (map.high - map.low), 0.0, 1.0) * kShades + 0.5);
}

// Fills a shape. Where values have a sign, the colours are the ends and the middle of the scale cividis.
void fill(Canvas& canvas, const std::string& shape, int shade, bool with_sign) {
    static constexpr double stops[][3] = {{0, 34, 78}, {124, 123, 120}, {254, 232, 56}};
    const double part = static_cast<double>(shade) / kShades;
    if (!with_sign)
        return canvas.path(shape, "cell heat", join("fill-opacity='", number(part, 2), "' "));
    const int half = shade < kShades / 2 ? 0 : 1;
    const auto channel = [&](int i) {
        return number(std::lerp(stops[half][i], stops[half + 1][i], 2 * part - half), 0);
    };
    canvas.path(shape, "cell", join("fill='rgb(", channel(0), ",", channel(1), ",", channel(2), ")' "));
}

// The style of a number that can be read on this shade.
const char* ink(const HeatMap& map, int shade) {
    if (map.cells == Cells::both && map.low < 0)
        return shade < 22 ? "mid light" : "mid dark";
    return map.cells == Cells::both && shade >= 20 ? "mid over" : "mid";
}

// All cells of a shade are one path, which makes the file a third as large.
void draw_cells(Canvas& canvas, const HeatMap& map, const Frame& grid, double cell) {
    std::map<int, std::string> shapes;
    Canvas numbers;  // over all shapes
    const double side = cell < 12 ? cell : cell - 1;
    for (std::size_t i = 0; i < map.values.size(); ++i) {
        const double x = grid.left + cell * static_cast<double>(i % map.columns.size());
        const double y = grid.top + cell * static_cast<double>(i / map.columns.size());
        if (std::isnan(map.values[i]))
            continue;
        const int shade = shade_of(map, map.values[i]);
        if (map.cells != Cells::numbers)
            shapes[shade] += rectangle(x, y, side, side);
        if (map.cells != Cells::shades)
            numbers.text(x + side / 2, y + side / 2 + 4, number(map.values[i], 2), ink(map, shade));
    }
    for (const auto& [shade, shape] : shapes)
        fill(canvas, shape, shade, map.low < 0);
    canvas.add(numbers);
}

void draw_labels(Canvas& canvas, const HeatMap& map, const Frame& grid, double cell, std::size_t every,
                 bool turned) {
    for (std::size_t c = 0; c < map.columns.size(); c += every)
        canvas.text(grid.left + cell * (static_cast<double>(c) + 0.5) + (turned ? 4 : 0), grid.top - 6,
                    map.columns[c], turned ? "" : "mid", turned ? -45 : 0);
    for (std::size_t r = 0; r < map.rows.size(); r += every)
        canvas.text(grid.left - 8, grid.top + cell * (static_cast<double>(r) + 0.5) + 4, map.rows[r], "end");
}

// A panel, at most `width` wide. Returns the place of its grid, with what stands over.
Frame draw(Canvas& canvas, const HeatMap& map, double left, double top, double width) {
    check(!map.values.empty() && map.values.size() == map.rows.size() * map.columns.size(),
          "[figure] a heat map needs a value for each row and column: '", map.title, "' has ",
          map.rows.size(), " rows, ", map.columns.size(), " columns and ", map.values.size(), " values");
    check(map.low < map.high, "[figure] a heat map's low lies below its high: they are ", map.low, " and ",
          map.high);
    const auto rows = static_cast<double>(map.rows.size()), columns = static_cast<double>(map.columns.size());
    const double before = text_width(widest(map.rows)) + 8 + (map.row_axis.empty() ? 0 : 20),
                 label = text_width(widest(map.columns)) + 6;
    // Labels that are wider than their cells are turned, and stand over to the right; where a line of text is
    // higher than a cell, only every n-th one is written.
    const double over = 0.7 * label, room = width - before;
    const bool turned = label > std::min(room / columns, 40.0) && (room - over) / columns >= 14;
    const double cell = std::clamp(std::floor((room - (turned ? over : 0)) / columns), 2.0, 40.0);
    const std::size_t every =
        cell < 14 ? static_cast<std::size_t>(round_step(std::max(label, kLine) / cell)) : 1;
    const double above = (turned ? over : kLine) + (map.column_axis.empty() ? 0 : kLine + 2);
    const Frame grid = {left + before, top + above, cell * columns, cell * rows};
    canvas.text(grid.left + grid.width / 2, top + 8, map.column_axis, "soft mid");
    canvas.text(left + 12, grid.top + grid.height / 2, map.row_axis, "soft mid", -90);
    draw_labels(canvas, map, grid, cell, every, turned);
    canvas.path(rectangle(grid.left, grid.top, grid.width - 1, grid.height - 1), "empty");
    draw_cells(canvas, map, grid, cell);
    return {grid.left, grid.top, grid.width + (turned ? std::max(0.0, over - cell / 2) : 0), grid.height};
}

// The scale of the colours.
void draw_key(Canvas& canvas, const HeatMap& map, double left, double top) {
    for (int shade = 0; shade <= kShades; ++shade)
        fill(canvas, rectangle(left, top + 2.0 * (kShades - shade), 12, 2), shade, map.low < 0);
    for (const double value : {map.low, (map.low + map.high) / 2, map.high})
        canvas.text(left + 18, top + 2.0 * (kShades - shade_of(map, value)) + 5, join(value), "soft");
}

}  // namespace

std::string svg(const std::string& title, const std::string& description, const std::vector<HeatMap>& panels,
                int across) {
    check(!panels.empty(), "[figure] a figure needs a panel: there is none");
    const auto columns = static_cast<std::size_t>(std::max(across, 1));
    const double width = (kWidth - 2 * kMargin - kKey) / static_cast<double>(columns) - kBetween;
    const double titles = panels.size() > 1 ? 24 : 0;
    Canvas canvas;
    std::vector<Frame> grids;
    double left = kMargin, top = kTop, right = 0, bottom = 0;
    for (std::size_t i = 0; i < panels.size(); ++i) {
        if (i > 0 && i % columns == 0) {
            left = kMargin;
            top = bottom + kBetween;
        }
        grids.push_back(draw(canvas, panels[i], left, top + titles, width));
        canvas.text(grids[i].left, top + 13, panels[i].title, "bold");
        left = grids[i].right() + kBetween;
        right = std::max(right, left);
        bottom = std::max(bottom, grids[i].bottom());
    }
    draw_key(canvas, panels[0], right, grids[0].top);
    return canvas.page(title, description, right + kKey, std::max(bottom, grids[0].top + 90) + kMargin);
}

}  // namespace plaingrad::figures
