// No function of ops.h is without a row in op_table.h.
#include <map>

#include "tests/autograd/op_table.h"
#include "tests/catch.h"

using namespace plaingrad;  // NOLINT
using namespace tests;      // NOLINT

TEST_CASE("ops: the table has a row for every declaration in ops.h", "[ops]") {
    std::map<std::string, int64_t> rows;
    for (const OpRow& row : OpTable().rows)
        ++rows[row.op];
    const std::map<std::string, int64_t> names = declared_ops();
    REQUIRE(names.size() >= 30);
    for (const auto& [name, count] : names) {
        INFO(name << " is declared " << count << " times and has " << rows[name] << " rows");
        CHECK(rows[name] >= count);
    }
    for (const auto& [name, count] : rows) {
        INFO(name << " has rows and is not in ops.h");
        CHECK(names.count(name) == 1);
    }
}
