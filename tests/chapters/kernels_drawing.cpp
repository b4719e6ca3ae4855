// One step of the register tile: what is loaded, and what it is used for.
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

}  // namespace

Computed kernels_drawing() {
    return {.figures = {{"autograd/kernels/figures/tile.svg", Effort::quick, draw_tile}}};
}

}  // namespace plaingrad::chapters
