// Prints the table: print_table SCALE RESULTS. The exit status is 0 only if every figure is as asked.
// print_table SCALE: the names of the instruments that measure something at this scale.
#include <fstream>
#include <iostream>

#include "apps/kit/program.h"
#include "autograd/base/check.h"
#include "tests/trust/table.h"

using namespace plaingrad;  // NOLINT

int main(int argc, char** argv) {
    return kit::run("print_table", argv[0], [&] {
        autograd::check(argc == 2 || argc == 3, "expected: print_table <quick|sample|long> [<results>]");
        const std::string name = argv[1];
        const trust::Scale scale = name == "long"     ? trust::Scale::full
                                   : name == "sample" ? trust::Scale::sample
                                                      : trust::Scale::quick;
        std::ifstream in("tests/trust/figures.txt");
        autograd::check(in.is_open(), "tests/trust/figures.txt: not found; start this in the repository");
        const std::vector<trust::Asked> asked = trust::read_asked(in, "tests/trust/figures.txt");
        if (argc == 2) {
            for (const std::string& instrument : trust::instruments(asked, scale))
                std::cout << instrument << '\n';
            return 0;
        }
        std::ifstream results(argv[2]);
        autograd::check(results.is_open(), argv[2], ": not found");
        const int missed = trust::print_table(std::cout, asked, trust::read_results(results, argv[2]), scale,
                                              trust::Format::text);
        return missed == 0 ? 0 : 1;
    });
}
