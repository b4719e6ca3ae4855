// No function of ops.h is without a row in op_table.h.
#include <fstream>
#include <map>
#include <regex>

#include "tests/autograd/op_table.h"
#include "tests/catch.h"

using namespace plaingrad;  // NOLINT
using namespace tests;      // NOLINT

// The names in ops.h, with how often each is declared.
static std::map<std::string, int> declared() {
    std::ifstream file("autograd/ops.h");  // tests run in the repository's root
    REQUIRE(file.is_open());
    const std::regex declaration(R"(^(inline )?Tensor&? (operator[^ (]+|[a-z_0-9]+)\(.*)");
    std::map<std::string, int> names;
    std::smatch match;
    for (std::string line; std::getline(file, line);)
        if (std::regex_match(line, match, declaration))
            ++names[match[2]];
    return names;
}

TEST_CASE("ops: the table has a row for every declaration in ops.h", "[ops]") {
    std::map<std::string, int> rows;
    for (const OpRow& row : OpTable().rows)
        ++rows[row.op];
    const std::map<std::string, int> names = declared();
    REQUIRE(names.size() >= 30);
    REQUIRE(names.count("attention") == 1);
    for (const auto& [name, count] : names) {
        INFO(name << " is declared " << count << " times and has " << rows[name] << " rows");
        CHECK(rows[name] >= count);
    }
    for (const auto& [name, count] : rows) {
        INFO(name << " has rows and is not in ops.h");
        CHECK(names.count(name) == 1);
    }
}
