// Our own exp, log, pow, sin and cos: accurate, and the same bits with any compiler on any machine.
#include <cmath>
#include <cstring>

#include "autograd/base/portable_math.h"
#include "autograd/base/random.h"
#include "tests/catch.h"

using namespace plaingrad;  // NOLINT

namespace {

double portable(int f, double x) {
    namespace p = autograd::portable;
    return f == 0 ? p::exp(x) : f == 1 ? p::log(x) : f == 2 ? p::sin(x) : p::cos(x);
}
double expected(int f, double x) {
    return f == 0 ? std::exp(x) : f == 1 ? std::log(x) : f == 2 ? std::sin(x) : std::cos(x);
}

}  // namespace

TEST_CASE("portable: exp, log, sin, cos are right in double", "[math]") {
    struct Range {
        int f;
        double low, high;
        bool of_result;  // the error is measured against the result, else against 1
    };
    for (const Range& r : {Range{0, -700, 700, true},
                           {0, -1, 1, true},
                           {1, 1e-300, 1, true},
                           {1, 0.5, 2, true},
                           {1, 1, 1e300, true},
                           {2, -0.7, 0.7, true},
                           {2, -10, 10, false},
                           {2, 0, 1e6, false},
                           {3, 0, 6.3, false},
                           {3, -1e6, 1e6, false}}) {
        double worst = 0;
        for (uint64_t i = 0; i < 20'000; ++i) {
            const double x = r.low + (r.high - r.low) * autograd::Rng(9).uniform(i);
            const double y = expected(r.f, x), error = std::abs(portable(r.f, x) - y);
            worst = std::fmax(worst, r.of_result && y != 0 ? error / std::abs(y) : error);
            if (std::isnan(portable(r.f, x)))
                worst = HUGE_VAL;
        }
        INFO("function " << r.f << " from " << r.low << " to " << r.high);
        CHECK(worst <= 0x1p-51);
    }
    namespace p = autograd::portable;
    for (const double x : {0.5, 0.9, 0.98, 0.999, 1.0, 1.7})
        for (const double power : {0.6, 1.0, 2.0, 1000.0}) {
            const double y = std::pow(x, power), error = std::abs(p::pow(x, power) - y) / y;
            INFO(x << " to the power of " << power);
            CHECK(error <= std::fmax(1, power * std::abs(std::log(x))) * 0x1p-51);
        }
    CHECK((p::pow(0, 3) == 0 && p::pow(1, 7) == 1 && p::pow(0.9, 1e12) < 1e-300));
    CHECK(portable(0, 0) == 1);
    CHECK(portable(1, 1) == 0);
    CHECK(portable(2, 0) == 0);
    CHECK(portable(3, 0) == 1);
}

TEST_CASE("portable: the same bits everywhere", "[math][bits]") {
    uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
    for (int f = 0; f < 4; ++f)
        for (uint64_t i = 0; i < 10'000; ++i) {
            const double y = portable(f, 40 * autograd::Rng(9).uniform(i) + 1e-3);
            uint64_t bits;
            std::memcpy(&bits, &y, sizeof bits);
            for (int byte = 0; byte < 8; ++byte)
                hash = (hash ^ (bits >> 8 * byte & 255)) * 0x100000001b3u;
        }
    CHECK(hash == 0x908ce5d24466314cu);
}
