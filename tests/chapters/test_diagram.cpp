// Diagrams: boxes and arrows as SVG.
#include "tests/catch.h"
#include "tests/chapters/diagram.h"

using namespace plaingrad;  // NOLINT
using chapters::Diagram;
using chapters::svg;
using tests::contains;

TEST_CASE("boxes and the arrows between them", "[chapters][diagram]") {
    const Diagram diagram = {.boxes = {{"x\n(2, 3)", 0, 0}, {"y", 2, 0}, {"z", 0, 2, 1, 1, 3}},
                             .arrows = {{0, 1, "f < g"}, {0, 2, "down", 2}},
                             .cell_width = 100,
                             .cell_height = 50};
    const std::string file = svg("T", "D", diagram);
    CHECK(contains(file, "<path class='box s0' d='M16.0 50.0h100.0v50.0h-100.0z'/>"));
    CHECK(contains(file,
                   "<text x='66.0' y='71.0' class='bold mid'>x</text>\n"
                   "<text x='66.0' y='88.0' class='soft mid'>(2, 3)</text>"));
    CHECK(contains(file, "<path class='box s3' d='M16.0 150.0h100.0v50.0h-100.0z'/>"));
    CHECK(contains(file, "d='M116.0 75.0C162.0 75.0 162.0 75.0 208.0 75.0'"));  // x to y
    CHECK(contains(file, "class='halo mid'>f &lt; g</text>"));
    CHECK(
        contains(file, "<path class='arrow s2' d='M66.0 100.0C66.0 121.0 66.0 121.0 66.0 142.0'/>"));  // down
    CHECK(contains(file, "<path class='head s2' d='M66.0 150.0L62.0 142.0L70.0 142.0z'/>"));
    CHECK(contains(file, " width='332.0' height='216.0' "));
}

TEST_CASE("arrows to and fro run side by side", "[chapters][diagram]") {
    const std::string file = svg("T", "D", {.boxes = {{"x", 0, 0}, {"y", 2, 0}}, .arrows = {{0, 1}, {1, 0}}});
    CHECK(contains(file, "d='M136.0 69.0C"));
    CHECK(contains(file, "d='M256.0 87.0C"));
}

TEST_CASE("curves to one box do not cross", "[chapters][diagram]") {
    const std::string file =
        svg("T", "D", {.boxes = {{"x", 0, 0}, {"w", 0, 2}, {"y", 2, 1}}, .arrows = {{0, 2}, {1, 2}}});
    CHECK(contains(file,
                   "d='M136.0 92.0C192.0 92.0 192.0 120.0 248.0 120.0'"));  // from above, above the middle
    CHECK(contains(file, "d='M136.0 176.0C192.0 176.0 192.0 148.0 248.0 148.0'"));  // from below, below it
}

TEST_CASE("a diagram is refused that cannot be read", "[chapters][diagram]") {
    CHECK_THROWS_WITH(svg("T", "D", {.boxes = {{"x"}}, .arrows = {{0, 1}}}),
                      "[diagram] an arrow leads from box to box: from 0 to 1; there are 1 boxes");
    CHECK_THROWS_WITH(
        svg("T", "D", {.boxes = {{"a long text in a box", 0, 0}}}),
        "[diagram] a text needs a box that is large enough: 'a long text in a box' takes 160 x 17 "
        "pixels and has 120 x 56");
}
