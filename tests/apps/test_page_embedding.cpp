// The picture of the embeddings: principal components against those of a covariance by hand, and neighbours.
// The page's script computes both, so a browser is asked.
#include "apps/kit/report.h"
#include "tests/apps/browser.h"
#include "tests/catch.h"

using namespace plaingrad;  // NOLINT
using namespace tests;      // NOLINT

TEST_CASE("principal components: those of a covariance whose eigenvectors are known",
          "[apps][page][browser]") {
    if (chromium().empty())
        SKIP("there is no Chromium");
    const Folder folder;
    put(folder / "page.html", kit::html_page("empty", {{"", "", ""}}));
    Browser browser;
    browser.open(folder / "page.html", 768);
    // Along (3, 4) / 5 the points lie at -2, -1, 0, 1, 2; across it, at 0.1 and -0.1 in turn; all are moved
    // by (10, 20). The covariance is diagonal along these, so they are its eigenvectors.
    const std::string points =
        "(window.along = [-2, -1, 0, 1, 2], window.across = [0.1, -0.1, 0, -0.1, 0.1], "
        "along.map((a, i) => [10 + 0.6 * a - 0.8 * across[i], 20 + 0.8 * a + 0.6 * across[i]]))";
    const std::string off = "(() => { const [xs, ys] = principalComponents(" + points +
                            "); const side = (a, b) => Math.sign(a[0] * b[0]); return Math.max("
                            "...xs.map((x, i) => Math.abs(x * side(xs, along) - along[i])), "
                            "...ys.map((y, i) => Math.abs(y * side(ys, across) - across[i]))); })()";
    CHECK(std::stod(browser.value(off)) < 1e-9);
    // Against all rotations, by brute force: none has a larger variance than the first component.
    const std::string best =
        "(() => { const cloud = Array.from({length: 40}, (_, i) => [Math.sin(7 * i * i), Math.cos(i) + "
        "Math.sin(7 "
        "* i * i)]), variance = v => dot(v, v) / 40 - (v.reduce((a, b) => a + b) / 40) ** 2; "
        "const all = Array.from({length: 180}, (_, d) => variance(cloud.map(p => "
        "dot(p, [Math.cos(d * Math.PI / 180), Math.sin(d * Math.PI / 180)])))); "
        "return variance(principalComponents(cloud)[0]) / Math.max(...all); })()";
    CHECK(std::stod(browser.value(best)) > 0.9999);
    CHECK(std::stod(browser.value(best)) < 1.001);
    // The nearest are by the angle, not the distance, and never oneself.
    const std::string rows = "[[1, 0], [10, 1], [0, 1], [-1, 0]]";
    CHECK(browser.value("[0, 1, 2, 3].map(i => nearest(" + rows + ", i, 2))") == "[[1,2],[0,2],[1,0],[2,1]]");
    CHECK(browser.value("nearest(" + rows + ", 0, 9).length") == "3");
    CHECK(browser.value("nearest([[0, 0], [1, 2]], 0, 5)") == "[1]");
    CHECK(browser.console.empty());
}
