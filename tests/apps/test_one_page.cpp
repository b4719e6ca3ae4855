// The page that stands alone, as its reader runs it. tests/models/test_one_page.cpp compares its numbers.
#include "tests/apps/run.h"

using namespace plaingrad;  // NOLINT

TEST_CASE("one page: it learns to reverse, and reverses ten sequences that it has never seen",
          "[apps][one_page]") {
    const tests::Result result = tests::run("one_page", {});
    INFO(result.out << result.err);
    CHECK(result.status == 0);
    int right = 0;
    for (std::size_t at = 0; (at = result.out.find(" right\n", at)) != std::string::npos; ++at)
        ++right;
    CHECK(right == 10);
    CHECK(result.out.find("wrong") == std::string::npos);
    CHECK(result.out.find("9 8 2 4 2 9 -> 9 2 4 2 8 9  right\n") != std::string::npos);
}
