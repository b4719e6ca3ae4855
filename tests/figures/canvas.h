// An SVG file being drawn: shapes and texts have classes and no colours. The file's style gives each class a
// colour for light pages and one for dark pages, so that one file serves both. Units are pixels from the top
// left corner.
//
//   texts   soft, bold; end, mid (the text ends at its place, or is around it; else it begins there)
//   shapes  page (filled); grid, axis, line, lead (strokes)
//   s0-s7   with line or lead: grey, then seven colours that colour-blind readers can tell apart (after Okabe
//           and Ito); a line also has dashes of its own
//
// The style has more classes, for the drawings that no program makes (tests/README.md).
#pragma once

#include <string>

namespace plaingrad::figures {

constexpr double kLine = 17;  // from one line of text to the next
// Wider than the text in most fonts, narrower in none.
double text_width(std::size_t columns);
double text_width(const std::string& text);

// In shapes: "12.0 7.5".
std::string place(double x, double y);

// Of a page, and what its title takes; between panels.
constexpr double kWidth = 760, kMargin = 16, kTop = 40, kBetween = 24;

// The rectangle of a chart or a grid on the page.
struct Frame {
    double left, top, width, height;
    double right() const { return left + width; }
    double bottom() const { return top + height; }
};

class Canvas {
public:
    // A line of text, as it is: <, & and what no XML file may hold are replaced. (x, y) is on the baseline.
    void text(double x, double y, const std::string& text, const std::string& style = "");
    // `shape` is a path of SVG, "M 10 20 h 5 v 5 z".
    void path(const std::string& shape, const std::string& style);

    // The whole file, with the title in its top left corner. Title and description are for those who cannot
    // see the figure.
    std::string page(const std::string& title, const std::string& description, double width,
                     double height) const;

private:
    std::string body_;
};

}  // namespace plaingrad::figures
