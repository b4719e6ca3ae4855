// How sections print numbers, and that a claim which does not hold stops `make chapters`.
#include <sstream>

#include "autograd/base/check.h"
#include "tests/catch.h"
#include "tests/chapters/print.h"

using namespace plaingrad;            // NOLINT
using namespace plaingrad::chapters;  // NOLINT

TEST_CASE("chapters: numbers have few digits", "[chapters]") {
    CHECK(digits(0.012345) == "0.0123");
    CHECK(digits(0.09996) == "0.100");
    CHECK(digits(-1.5) == "-1.50");
    CHECK(digits(999.6) == "1000");
    CHECK(digits(12345) == "12300");
    CHECK(digits(12345, 1) == "10000");
    CHECK(digits(0.000123) == "1.23e-04");
    CHECK(digits(1234567) == "1.23e+06");
    CHECK(digits(0) == "0");
    CHECK(fixed(-0.001) == "0.00");
    CHECK(fixed(-0.006) == "-0.01");
    CHECK(vector_text(autograd::Tensor::from({2}, {1, -2}), 1) == "(1.0, -2.0)");
    CHECK(of_seeds({1, 2, 6}) == "3.0 (1.0, 2.0, 6.0)");
    CHECK(number(0.25) == "0.25");
    CHECK(number(-3) == "-3");
    CHECK(labels(1, 3) == std::vector<std::string>{"1", "2", "3"});
}

TEST_CASE("chapters: a table has as many cells in each row", "[chapters]") {
    std::ostringstream out;
    table(out, {{"a", "b"}, {"1", "2"}});
    CHECK(out.str() == "| a | b |\n|---|---:|\n| 1 | 2 |\n");
    CHECK_THROWS_AS(table(out, {{"a", "b"}, {"1"}}), autograd::Error);
    CHECK_THROWS_AS(table(out, {{"a", "b"}}, "tnn"), autograd::Error);
}

TEST_CASE("chapters: numbers stand on the right of their columns", "[chapters]") {
    std::ostringstream out;
    table(out, {{"a", "b"}, {"1", "x"}}, "nt");
    CHECK(out.str() == "| a | b |\n|---:|---|\n| 1 | x |\n");
}

TEST_CASE("chapters: nothing is faster than the peak", "[chapters]") {
    CHECK(share_of_peak(44, 50) == "88 %");
    CHECK(share_of_peak(52, 50) == "104 %");
    CHECK_THROWS_AS(share_of_peak(53, 50), autograd::Error);
}

TEST_CASE("chapters: a claim that does not hold throws", "[chapters]") {
    claim(true, "one is one");
    CHECK_THROWS_WITH(claim(false, "one is two"),
                      "[claim] the numbers no longer show that one is two; find out "
                      "why, then mend the text");
}
