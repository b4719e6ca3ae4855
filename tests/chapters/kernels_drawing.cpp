// One step of the register tile: what is loaded, and what it is used for; and the parts of a large product.
#include "autograd/base/check.h"
#include "tests/chapters/core.h"
#include "tests/chapters/diagram.h"

namespace plaingrad::chapters {

using autograd::join;

namespace {

constexpr int kRows = 6, kVecs = 4, kDepth = 5, kStep = 2;  // of k, the third of five is drawn
constexpr double kVec = 4.5;                                // a vector's width, in boxes of one number

std::string draw_tile() {
    const double left = 8, below = kDepth + 3;  // of c
    Diagram diagram = {.boxes = {{join("b: a row of ", kVecs, " vectors"), left, 0, kVecs * kVec, 1, -1},
                                 {"k", left - 1, 1 + kStep, 1, 1, -1},
                                 {join("a: ", kRows, " numbers"), 0, below - 2, kDepth, 1, -1},
                                 {"k", kStep, below - 1, 1, 1, -1},
                                 {join("c: ", kRows * kVecs, " vectors stay in registers"), left, below - 1,
                                  kVecs * kVec, 1, -1}},
                       .cell_width = 24,
                       .cell_height = 24};
    for (int i = 0; i < kDepth; ++i)
        for (int j = 0; j < kVecs; ++j)
            diagram.boxes.push_back({"", left + j * kVec, i + 1.0, kVec, 1, i == kStep ? 2 : 0});
    for (int i = 0; i < kRows; ++i) {
        for (int j = 0; j < kDepth; ++j)
            diagram.boxes.push_back({"", 1.0 * j, below + i, 1, 1, j == kStep ? 2 : 0});
        for (int j = 0; j < kVecs; ++j)
            diagram.boxes.push_back({"fma", left + j * kVec, below + i, kVec, 1, 1});
    }
    return svg("One step of the register tile",
               "A row of b and a column of a are loaded; the tile of c that they update stays in registers.",
               diagram);
}

// Four stages from left to right; in each, the coloured part is what the next one shows.
std::string draw_parts() {
    Diagram diagram = {.boxes = {}, .arrows = {}, .cell_width = 24, .cell_height = 24};
    const auto stage = [&](double left, const std::string& title, int columns, int rows, int chosen,
                           const std::string& name) {
        const double width = 6.0 / columns, height = 6.0 / rows;
        diagram.boxes.push_back({title, left, 0, 6, 1, -1});
        for (int i = 0; i < rows * columns; ++i)
            diagram.boxes.push_back({i == chosen ? name : "", left + i % columns * width,
                                     1 + static_cast<double>(i / columns) * height, width, height,
                                     i == chosen});
        if (left > 0)
            diagram.boxes.push_back({"→", left - 2, 3.5, 2, 1, -1});
    };
    stage(0, "c", 2, 2, 0, "task");
    stage(8, "a task", 2, 1, 0, "group");
    stage(16, "a group", 3, 3, 4, "");
    stage(24, "band × panel", 1, 6, 0, "tile");
    diagram.boxes.push_back({"rows are bands,", 15.5, 7, 7, 1, -1});
    diagram.boxes.push_back({"columns panels", 15.5, 7.7, 7, 1, -1});
    return svg("The parts of a product",
               "c has four tasks, a task two groups of columns, a group three bands times three panels, and "
               "what a band and a panel share has six tiles.",
               diagram);
}

}  // namespace

Computed kernels_drawing() {
    return {.figures = {{"autograd/kernels/figures/tile.svg", Effort::quick, draw_tile},
                        {"autograd/kernels/figures/parts.svg", Effort::quick, draw_parts}}};
}

}  // namespace plaingrad::chapters
