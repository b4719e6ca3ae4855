// The picture of the embeddings: principal components against those of a covariance by hand, and neighbours.
#include "apps/kit/embedding.h"

#include <cmath>

#include "apps/kit/json.h"
#include "tests/autograd/values.h"
#include "tests/catch.h"

using namespace plaingrad;  // NOLINT
using namespace tests;      // NOLINT

TEST_CASE("principal components: those of a covariance whose eigenvectors are known", "[apps][page]") {
    // Along (3, 4) / 5 the points lie at -2, -1, 0, 1, 2; across it, at 0.1 and -0.1 in turn; all are moved
    // by (10, 20).
    std::vector<Real> points;
    const double along[] = {-2, -1, 0, 1, 2}, across[] = {0.1, -0.1, 0, -0.1, 0.1};
    for (int i = 0; i < 5; ++i) {
        points.push_back(static_cast<Real>(10 + 0.6 * along[i] - 0.8 * across[i]));
        points.push_back(static_cast<Real>(20 + 0.8 * along[i] + 0.6 * across[i]));
    }
    const Tensor found = kit::principal_components(Tensor::from({5, 2}, points));
    REQUIRE(found.shape() == Shape({5, 2}));
    const double side = found.data()[1] > 0 ? 1 : -1;
    for (int i = 0; i < 5; ++i) {
        CHECK(std::abs(static_cast<double>(found.data()[2 * i]) - along[i]) < 1e-5);
        CHECK(std::abs(side * static_cast<double>(found.data()[2 * i + 1]) - across[i]) < 1e-4);
    }
    // Against all rotations, by brute force: none has a larger variance than the first component.
    const Tensor cloud = random({40, 2}, 1);
    const Tensor first = kit::principal_components(cloud);
    const auto variance = [&](const auto& at) {
        double sum = 0, squares = 0;
        for (int i = 0; i < 40; ++i)
            sum += at(i), squares += at(i) * at(i);
        return squares / 40 - sum / 40 * (sum / 40);
    };
    double best = 0;
    for (int degree = 0; degree < 180; ++degree) {
        const double a = degree * 3.14159265358979 / 180;
        best = std::max(best, variance([&](int i) {
                            return std::cos(a) * static_cast<double>(cloud.data()[2 * i]) +
                                   std::sin(a) * static_cast<double>(cloud.data()[2 * i + 1]);
                        }));
    }
    const double own = variance([&](int i) { return static_cast<double>(first.data()[2 * i]); });
    CHECK(own > 0.9999 * best);
    CHECK(own < 1.001 * best);
}

TEST_CASE("nearest: by the angle, not the distance, and never itself", "[apps][page]") {
    const Tensor x = Tensor::from({4, 2}, {1, 0, 10, 1, 0, 1, -1, 0});
    CHECK(kit::nearest(x, 2) == std::vector<std::vector<int64_t>>{{1, 2}, {0, 2}, {1, 0}, {2, 1}});
    CHECK(kit::nearest(x, 9)[0].size() == 3);
    CHECK(kit::nearest(Tensor::zeros({1, 2}), 5) == std::vector<std::vector<int64_t>>{{}});
}

TEST_CASE("json: strings, numbers and bytes", "[apps][page]") {
    CHECK(kit::json(std::string("a\"\n\xff")) == "\"a\\\"\\n\xef\xbf\xbd\"");
    CHECK(kit::json(0.123456) == "0.1235");
    CHECK(kit::json(1e-9) == "1e-09");
    CHECK(kit::json(std::nan("")) == "null");
    CHECK(kit::json(std::vector<std::vector<int64_t>>{{1, -2}, {}}) == "[[1,-2],[]]");
    CHECK(kit::json_object({{"a", "1"}, {"b", "[]"}}) == "{\"a\":1,\"b\":[]}");
    CHECK(kit::base64("") == "");
    CHECK(kit::base64("f") == "Zg==");
    CHECK(kit::base64("fo") == "Zm8=");
    CHECK(kit::base64("foobar") == "Zm9vYmFy");  // RFC 4648, section 10
    CHECK(kit::base64(std::string("\xff\x00\xfe", 3)) == "/wD+");
}
