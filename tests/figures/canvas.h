// An SVG file being drawn: shapes and texts have classes and no colours. The file's style gives each class a
// colour for light pages and one for dark pages, so that one file serves both. Units are pixels from the top
// left corner.
//
//   texts   soft, bold; end, mid (the text ends at its place, or is around it; else it begins there);
//           light, dark (on a dark or a light cell, whatever the page is); over (on a cell of class heat);
//           halo (on a line)
//   shapes  page, empty, heat (filled); grid, axis, line, lead, arrow (strokes); head, box
//   s0-s7   with line, lead, arrow, head or box: grey, then seven colours that colour-blind readers can tell
//           apart (after Okabe and Ito); a line also has dashes of its own
#pragma once

#include <string>

namespace plaingrad::figures {

constexpr double kLine = 17;  // from one line of text to the next
// Wider than the text in most fonts, narrower in none.
double text_width(std::size_t columns);
double text_width(const std::string& text);

// Of shapes: "12.0 7.5", and a path of SVG.
std::string place(double x, double y);
std::string rectangle(double x, double y, double width, double height);

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
    // `angle` turns it around (x, y), in degrees.
    void text(double x, double y, const std::string& text, const std::string& style = "", double angle = 0);
    // `shape` is a path of SVG, "M 10 20 h 5 v 5 z".
    void path(const std::string& shape, const std::string& style, const std::string& attributes = "");
    // Everything that is drawn on `over`, over what is drawn here.
    void add(const Canvas& over) { body_ += over.body_; }

    // The whole file, with the title in its top left corner. Title and description are for those who cannot
    // see the figure.
    std::string page(const std::string& title, const std::string& description, double width,
                     double height) const;

private:
    std::string body_;
};

}  // namespace plaingrad::figures
