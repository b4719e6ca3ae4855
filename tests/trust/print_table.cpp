// Prints the table: print_table SCALE RESULTS. The exit status is 0 only if every figure is as asked.
#include <fstream>
#include <iostream>

#include "apps/kit/program.h"
#include "autograd/base/check.h"
#include "tests/trust/table.h"

using namespace plaingrad;  // NOLINT

int main(int argc, char** argv) {
    return kit::run("print_table", argv[0], [&] {
        autograd::check(argc == 3, "expected: print_table <quick|sample|long> <results>");
        const std::string scale = argv[1];
        std::ifstream asked("tests/trust/figures.txt"), results(argv[2]);
        autograd::check(asked.is_open(), "tests/trust/figures.txt: not found; start this in the repository");
        autograd::check(results.is_open(), argv[2], ": not found");
        const int missed = trust::print_table(std::cout, trust::read_asked(asked, "tests/trust/figures.txt"),
                                              trust::read_results(results, argv[2]),
                                              scale == "long"     ? trust::Scale::full
                                              : scale == "sample" ? trust::Scale::sample
                                                                  : trust::Scale::quick,
                                              trust::Format::text);
        return missed == 0 ? 0 : 1;
    });
}
