// The README's program and the examples print what they say, and the installed library works as its page
// says.
#include <cstdlib>
#include <string>

#include "tests/catch.h"

using namespace plaingrad;  // NOLINT

TEST_CASE("README: its program and the examples compile and print what they say", "[apps][readme]") {
    REQUIRE(std::system("sh tests/tools/readme.sh") == 0);
}

TEST_CASE("README: the library works from where make install puts it", "[apps][readme][install][slow]") {
    const char* apps = std::getenv("PLAINGRAD_APPS");
    if (apps != nullptr && std::string(apps) != "apps")
        SKIP("only the plain build is installed");
    const int status = std::system("sh tests/tools/install_test.sh");
    if (status == 77 << 8)
        SKIP("there is no pkg-config, and no cmake");
    REQUIRE(status == 0);
}
