// Values as JSON, as the page about a run reads them.
#include "apps/kit/json.h"

#include <cmath>

#include "tests/catch.h"

using namespace plaingrad;  // NOLINT

TEST_CASE("json: strings, numbers and bytes", "[apps][page]") {
    CHECK(kit::json(std::string("a\"\n\xff")) == "\"a\\\"\\n\xef\xbf\xbd\"");
    CHECK(kit::json(0.123456) == "0.1235");
    CHECK(kit::json(1e-9) == "1e-09");
    CHECK(kit::json(std::nan("")) == "null");
    CHECK(kit::json(std::vector<std::vector<int64_t>>{{1, -2}, {}}) == "[[1,-2],[]]");
    CHECK(kit::json_array(int64_t{1}, std::string("a"), std::vector<int64_t>{2, 3}, 0.5) ==
          "[1,\"a\",[2,3],0.5]");
    CHECK(kit::base64("") == "");
    CHECK(kit::base64("f") == "Zg==");
    CHECK(kit::base64("fo") == "Zm8=");
    CHECK(kit::base64("foobar") == "Zm9vYmFy");  // RFC 4648, section 10
    CHECK(kit::base64(std::string("\xff\x00\xfe", 3)) == "/wD+");
}
