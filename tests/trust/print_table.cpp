// print_table SCALE RESULTS PAGE [INSTRUMENT...] prints the table of these instruments, or of all. The exit
// status is 0 only if they have ended, and every printed figure is as asked. The whole table also goes into
// the page, tests/trust/README.md, unless PAGE is `-`.
// print_table SCALE: the names of the instruments that measure something at this scale.
#include <fstream>
#include <iostream>
#include <sstream>

#include "apps/kit/program.h"
#include "autograd/base/check.h"
#include "nn/checkpoint/file.h"
#include "tests/folder.h"
#include "tests/trust/print_table/table.h"

using namespace plaingrad;  // NOLINT

int main(int argc, char** argv) {
    return kit::run("print_table", argv[0], [&] {
        autograd::check(argc == 2 || argc >= 4,
                        "expected: print_table <quick|sample|long> [<results> <page|-> [<instrument...>]]");
        const std::string name = argv[1];
        autograd::check(name == "quick" || name == "sample" || name == "long",
                        "expected quick, sample or long, got '", name, "'");
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
        std::ifstream file(argv[2]);
        autograd::check(file.is_open(), argv[2], ": not found");
        const std::vector<trust::Result> results = trust::read_results(file, argv[2]);
        const std::vector<trust::Row> all = trust::judge(asked, results, scale);
        if (std::string(argv[3]) != "-") {
            std::ostringstream table;
            trust::print_markdown(table, all, results);
            const std::string page = trust::with_table(tests::content(argv[3]), table.str());
            nn::checkpoint::replace_file(argv[3], page);
        }
        const std::vector<std::string> names(argv + 4, argv + argc);
        const std::vector<trust::Row> rows = trust::of_instruments(all, names, results);
        trust::print_text(std::cout, rows, results);
        const std::vector<std::string> unfinished = trust::unfinished(asked, names, results, scale);
        for (const std::string& instrument : unfinished)
            std::cout << instrument << " has not come to its end\n";
        return trust::missed(rows) == 0 && unfinished.empty() ? 0 : 1;
    });
}
