// Boxes and arrows as SVG, for the chapters: graphs, rows of matrices, the flow through a model.
#pragma once

#include <string>
#include <vector>

namespace plaingrad::chapters {

// Columns and rows count cells from the diagram's top left corner, and need not be whole: boxes that touch
// are parts of one.
struct Box {
    std::string text;  // lines; the first of several is bold
    double column = 0, row = 0, width = 1, height = 1;
    int colour = 0;  // 0 is grey; 1 to 7 are those of the series of a chart; -1: text alone
};

// From box to box, by number (from 0): straight up or down between boxes that share a column, else out of one
// side and into the other. Two arrows between the same boxes in opposite directions run side by side.
struct Arrow {
    std::size_t from = 0, to = 0;
    std::string label = {};
    int colour = 0;
};

struct Diagram {
    std::vector<Box> boxes;
    std::vector<Arrow> arrows = {};
    double cell_width = 120, cell_height = 56;  // pixels
};

// The figure as an SVG file: its title, and in a sentence what it shows, for those who cannot see it. Throws
// Error for an arrow to or from a box that is not there, and for text that is too large for its box.
std::string svg(const std::string& title, const std::string& description, const Diagram& diagram);

}  // namespace plaingrad::chapters
