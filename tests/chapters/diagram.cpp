#include "tests/chapters/diagram.h"

#include <algorithm>
#include <sstream>

#include "apps/kit/text.h"
#include "autograd/base/check.h"
#include "tests/figures/canvas.h"

namespace plaingrad::chapters {
namespace {

using autograd::check;
using autograd::join;
using figures::Canvas;
using figures::Frame;

struct Span {
    double low, high;
    double length() const { return high - low; }
    double middle() const { return (low + high) / 2; }
};
Span across(const Frame& frame) { return {frame.left, frame.right()}; }
Span down(const Frame& frame) { return {frame.top, frame.bottom()}; }
Span shared(const Span& a, const Span& b) { return {std::max(a.low, b.low), std::min(a.high, b.high)}; }

Frame frame_of(const Diagram& diagram, const Box& box) {
    return {figures::kMargin + box.column * diagram.cell_width,
            figures::kTop + 10 + box.row * diagram.cell_height, box.width * diagram.cell_width,
            box.height * diagram.cell_height};
}

void draw(Canvas& canvas, const Box& box, const Frame& at) {
    std::vector<std::string> lines;
    std::istringstream text(box.text);
    for (std::string line; std::getline(text, line);)
        lines.push_back(line);
    const double height = figures::kLine * static_cast<double>(lines.size());
    const double width = figures::text_width(kit::widest(lines));
    check(box.colour < 0 || (width < at.width + 12 && height <= at.height),
          "[diagram] a text needs a box that is large enough: '", lines.empty() ? "" : lines[0], "' takes ",
          width, " x ", height, " pixels and has ", at.width, " x ", at.height);
    if (box.colour >= 0)
        canvas.path(figures::rectangle(at.left, at.top, at.width, at.height), join("box s", box.colour));
    for (std::size_t i = 0; i < lines.size(); ++i)
        canvas.text(across(at).middle(),
                    down(at).middle() - height / 2 + 13 + figures::kLine * static_cast<double>(i), lines[i],
                    i > 0              ? "soft mid"
                    : lines.size() > 1 ? "bold mid"
                                       : "mid");
}

// A curve that leaves and arrives at right angles, and its head. `aside` moves it off the middle.
void draw(Canvas& canvas, const Arrow& arrow, const Frame& from, const Frame& to, double aside) {
    const Span common_columns = shared(across(from), across(to));
    const bool vertical = common_columns.low < common_columns.high;
    const Span along[] = {vertical ? down(from) : across(from), vertical ? down(to) : across(to)};
    const Span beside[] = {vertical ? across(from) : down(from), vertical ? across(to) : down(to)};
    const Span common = shared(beside[0], beside[1]);
    const double narrower = std::min(beside[0].length(), beside[1].length());
    const bool straight = common.length() > narrower / 2, ahead = along[0].low < along[1].low;
    const double start = ahead ? along[0].high : along[0].low, tip = ahead ? along[1].low : along[1].high;
    const double neck = tip + (ahead ? -8 : 8), middle = (start + neck) / 2;
    // A curve leaves and arrives on the side where the other box is, so that two of them do not cross.
    const double turn = straight ? 0 : beside[0].middle() < beside[1].middle() ? 0.25 : -0.25;
    const double out = (straight ? common.middle() : beside[0].middle() + turn * beside[0].length()) + aside;
    const double in = (straight ? common.middle() : beside[1].middle() - turn * beside[1].length()) + aside;
    const auto at = [&](double a, double b) {
        return vertical ? figures::place(b, a) : figures::place(a, b);
    };
    canvas.path(join("M", at(start, out), "C", at(middle, out), " ", at(middle, in), " ", at(neck, in)),
                join("arrow s", arrow.colour));
    canvas.path(join("M", at(tip, in), "L", at(neck, in - 4), "L", at(neck, in + 4), "z"),
                join("head s", arrow.colour));
    const double x = vertical ? (out + in) / 2 : middle, y = vertical ? middle : (out + in) / 2;
    if (vertical)
        canvas.text(x + (aside < 0 ? -8 : 8), y + 4, arrow.label, aside < 0 ? "halo end" : "halo");
    else
        canvas.text(x, y + (aside > 0 ? 17 : -7), arrow.label, "halo mid");
}

}  // namespace

std::string svg(const std::string& title, const std::string& description, const Diagram& diagram) {
    Canvas canvas;
    std::vector<Frame> frames;
    double right = 0, bottom = 0;
    for (const Box& box : diagram.boxes) {
        frames.push_back(frame_of(diagram, box));
        draw(canvas, box, frames.back());
        right = std::max(right, frames.back().right());
        bottom = std::max(bottom, frames.back().bottom());
    }
    for (const Arrow& arrow : diagram.arrows) {
        check(std::max(arrow.from, arrow.to) < frames.size(),
              "[diagram] an arrow leads from box to box: from ", arrow.from, " to ", arrow.to, "; there are ",
              frames.size(), " boxes");
        const bool back = std::any_of(diagram.arrows.begin(), diagram.arrows.end(), [&](const Arrow& other) {
            return other.from == arrow.to && other.to == arrow.from;
        });
        draw(canvas, arrow, frames[arrow.from], frames[arrow.to], !back ? 0 : arrow.from < arrow.to ? -9 : 9);
    }
    return canvas.page(title, description, right + figures::kMargin, bottom + figures::kMargin);
}

}  // namespace plaingrad::chapters
