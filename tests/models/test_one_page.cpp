// apps/one_page.cpp and the library train the same model to the same numbers, in float and in double.
#include "autograd/plain.h"
#include "tests/apps/one_page.h"
#include "tests/catch.h"

using namespace plaingrad;  // NOLINT

namespace {

// What differs by rounding alone. In float the page adds in another order than the library.
constexpr double kLossApart = autograd::kRealIsDouble ? 1e-9 : 1e-5,
                 kGradientApart = autograd::kRealIsDouble ? 1e-9 : 1e-4;

void train_both(bool plain) {
    INFO((plain ? "plain" : "fused"));
    std::optional<autograd::Plain> guard;
    if (plain)
        guard.emplace();
    one_page::parameters.clear();
    const one_page::Transformer page;
    tests::LibraryOfOnePage library(page);
    double first = 0, last = 0;
    for (int step = 1; step <= 20; ++step) {
        const tests::BatchOfOnePage batch(one_page::batch_size, static_cast<uint64_t>(step));
        last = tests::step_of_one_page(page, batch, step);
        INFO("step " << step);
        CHECK(std::abs(library.step(batch, step) / last - 1) < kLossApart);
        if (step == 1) {
            CHECK(tests::gradients_apart(page, library.model) < kGradientApart);
            first = last;
        }
    }
    CHECK(last < 0.9 * first);  // it learns
}

}  // namespace

TEST_CASE("one page: the library trains the same model to the same numbers", "[models][one_page]") {
    train_both(false);
    train_both(true);
}

TEST_CASE("one page: in double, too", "[models][one_page][gradcheck]") {
    train_both(false);
    train_both(true);
}
