// The text of an error.
#include <limits>

#include "autograd/base/check.h"
#include "tests/catch.h"

using namespace plaingrad;  // NOLINT

TEST_CASE("errors: a NaN is nan, whatever its sign", "[autograd][errors]") {
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    CHECK(autograd::join(kNan, " ", -kNan) == "nan nan");
    CHECK(autograd::join(-std::numeric_limits<float>::quiet_NaN()) == "nan");
    CHECK(autograd::join(-std::numeric_limits<double>::infinity(), " ", -0.5f) == "-inf -0.5");
}
