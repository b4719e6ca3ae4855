// Where the heads' columns are (nn/README.md), and where the norms are (nn/training.md).
#include "tests/chapters/diagram.h"
#include "tests/chapters/nn.h"

namespace plaingrad::chapters {

namespace {

// One token's way through an attention with two heads, top to bottom.
std::string draw_columns() {
    Diagram diagram = {.boxes = {{"x, one token\nd_model numbers", 2, 0, 2, 0.8}, {"", 0, 1.5, 6, 0.8}},
                       .arrows = {{0, 1, "W_Q | W_K | W_V"}},
                       .cell_width = 108,
                       .cell_height = 58};
    const char* const parts[] = {"q", "k", "v"};
    for (int part = 0; part < 3; ++part)
        for (int head = 1; head <= 2; ++head)
            diagram.boxes.push_back(
                {std::string(parts[part]) + " of head " + std::to_string(head) + "\nD numbers",
                 2.0 * part + head - 1, 1.5, 1, 0.8, head});
    diagram.boxes.insert(diagram.boxes.end(),
                         {{"attention of head 1\nq of this token, k and v of all", 0.3, 2.7, 2.5, 0.8, 1},
                          {"attention of head 2\nq of this token, k and v of all", 3.2, 2.7, 2.5, 0.8, 2},
                          {"head 1\nD numbers", 2, 4.1, 1, 0.8, 1},
                          {"head 2\nD numbers", 3, 4.1, 1, 0.8, 2},
                          {"output\nd_model numbers", 2, 5.5, 2, 0.8},
                          {"", 2, 4.1, 2, 0.8, -1}});
    diagram.arrows.insert(diagram.arrows.end(), {{8, 10, "", 1}, {9, 11, "", 2}, {13, 12, "W_O"}});
    return svg("The columns of two heads",
               "One product makes a row of queries, keys and values in which each head has columns of its "
               "own; the heads' "
               "results stand side by side again, and W_O mixes them.",
               diagram);
}

// A sub-layer with the norm after the sum, and with the norm before f, bottom to top.
std::string draw_norms() {
    constexpr double kHigh = 0.62, kLeft = 3.1;
    const Diagram diagram = {
        .boxes = {{"post-norm: norm(x + f(x))", 0, 0, 2, 0.5, -1},
                  {"x", 0, 5, 2, kHigh},
                  {"f", 0, 4, 0.85, kHigh, 1},
                  {"+", 0, 2, 2, kHigh},
                  {"norm", 0, 1, 2, kHigh, 2},
                  {"pre-norm: x + f(norm(x))", kLeft, 0, 2, 0.5, -1},
                  {"x", kLeft, 5, 2, kHigh},
                  {"norm", kLeft, 4, 0.85, kHigh, 2},
                  {"f", kLeft, 3, 0.85, kHigh, 1},
                  {"+", kLeft, 2, 2, kHigh}},
        .arrows = {{1, 2}, {2, 3}, {1, 3, "residual"}, {3, 4}, {6, 7}, {7, 8}, {8, 9}, {6, 9, "residual"}},
        .cell_width = 120,
        .cell_height = 52};
    return svg("The norm after the sum, or before f",
               "With post-norm every way from bottom to top leads through a norm; with pre-norm the residual "
               "connection "
               "leads past both.",
               diagram);
}

}  // namespace

Computed nn_diagrams() {
    return {.figures = {{"nn/figures/columns.svg", Effort::quick, draw_columns},
                        {"nn/figures/norms.svg", Effort::quick, draw_norms}}};
}

}  // namespace plaingrad::chapters
