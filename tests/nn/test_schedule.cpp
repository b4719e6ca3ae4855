// Learning rates: the first steps, the peak, the end.
#include "nn/schedule.h"

#include <cmath>

#include "tests/autograd/values.h"
#include "tests/catch.h"

using namespace plaingrad;  // NOLINT
using namespace nn;         // NOLINT
using namespace tests;      // NOLINT

TEST_CASE("schedule: constant, and the paper's warm-up and inverse square root", "[nn][schedule]") {
    CHECK((ConstantSchedule{0.25}(1) == 0.25 && ConstantSchedule{0.25}(1000000) == 0.25));
    const WarmupInverseSqrt lr;
    const double slope = 1 / (std::sqrt(512.0) * std::pow(4000.0, 1.5));
    CHECK(lr(1) == Approx(slope));
    CHECK(lr(1) == Approx(1.7469281074e-7));  // not 0: the first step counts
    CHECK(lr(2) == Approx(2 * slope));
    CHECK(lr(3999) == Approx(3999 * slope));
    CHECK(lr(4000) == Approx(6.9877124297e-4));  // the peak
    CHECK(lr(3999) < lr(4000));
    CHECK(lr(4001) < lr(4000));
    CHECK(lr(16000) == Approx(lr(4000) / 2));
    CHECK(lr(100000) == Approx(1 / std::sqrt(512.0 * 100000)));

    const WarmupInverseSqrt no_warmup{.d_model = 64, .warmup = 1, .factor = 2};
    CHECK(no_warmup(1) == Approx(0.25));
    CHECK(no_warmup(4) == Approx(0.125));
    CHECK(WarmupInverseSqrt{.d_model = 1, .warmup = 1}(4) == Approx(0.5));  // the least that both can be

    CHECK(contains(error_of([&] { lr(0); }), "from 1"));
    CHECK(contains(error_of([&] { lr(-5); }), "from 1"));
    CHECK(contains(error_of([&] { WarmupInverseSqrt{.warmup = 0}(1); }), "from 1"));
    CHECK(contains(error_of([&] { WarmupInverseSqrt{.d_model = 0}(1); }), "from 1"));
}

TEST_CASE("schedule: cosine", "[nn][schedule]") {
    const CosineSchedule lr{.lr = 1, .total = 110, .warmup = 10, .lr_end = 0.1};
    CHECK(lr(1) == Approx(0.1));
    CHECK(lr(5) == Approx(0.5));
    CHECK(lr(10) == Approx(1));  // the peak
    CHECK(lr(11) < 1);
    CHECK(lr(60) == Approx(0.55));  // halfway down
    CHECK(lr(85) == Approx(0.1 + 0.9 * 0.5 * (1 - std::sqrt(0.5))));
    CHECK(lr(109) > 0.1);
    CHECK(lr(110) == Approx(0.1));
    CHECK(lr(1000) == 0.1);
    for (int64_t step = 10; step < 110; ++step)
        CHECK(lr(step + 1) < lr(step));

    const CosineSchedule plain{.lr = 1, .total = 4};
    CHECK(plain(1) == Approx(0.5 * (1 + std::sqrt(0.5))));
    CHECK(plain(2) == Approx(0.5));
    CHECK(plain(4) == 0);
    const CosineSchedule all_warmup{.lr = 1, .total = 4, .warmup = 4};  // no division by zero
    CHECK(all_warmup(4) == 1);
    CHECK(all_warmup(5) == 0);
    CHECK(contains(error_of([&] { lr(0); }), "from 1"));
}
