// Prints curves.svg, from curves.csv and the patches; `make traps` calls it.
#include <iostream>

#include "tests/traps/figure.h"

int main() {
    using namespace plaingrad::tests;  // NOLINT
    try {
        std::cout << traps_figure(traps(), content("tests/traps/curves.csv"));
        return 0;
    } catch (const std::exception& error) {
        std::cerr << "draw_traps: " << error.what() << '\n';
        return 1;
    }
}
