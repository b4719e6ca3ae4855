// Dropout: off in evaluation; in training, masks that are functions of seed, step, layer and element.
#include "nn/dropout.h"

#include "nn/feed_forward.h"
#include "tests/autograd/values.h"
#include "tests/catch.h"

using namespace plaingrad;  // NOLINT
using namespace nn;         // NOLINT
using namespace tests;      // NOLINT

static Mode step(uint64_t n) { return Mode::train(Rng(5).fork(n)); }

// The correlation between two masks; 1 if they are equal.
static double correlation(const Tensor& a, const Tensor& b, double rate) {
    double sum = 0;
    for (int64_t i = 0; i < a.numel(); ++i)
        sum += ((a.data()[i] != 0) - (1 - rate)) * ((b.data()[i] != 0) - (1 - rate));
    return sum / (static_cast<double>(a.numel()) * rate * (1 - rate));
}

TEST_CASE("dropout: evaluation is the identity", "[nn][dropout]") {
    const Dropout layer(Real(0.5), Rng(1));
    const Tensor x = random({7, 33}, 1);
    CHECK(layer(x, Mode::eval()).same_memory(x));
    layer(x, step(1));  // training in between changes nothing
    CHECK(same_bits(layer(x, Mode::eval()), x));
    for (const Real rate : {Real(-0.1), Real(1), Real(1.5), std::numeric_limits<Real>::quiet_NaN()})
        CHECK_THROWS_AS(Dropout(rate, Rng(1)), autograd::Error);
    const Dropout never(0, Rng(1));
    CHECK(never(x, step(1)).same_memory(x));
}

TEST_CASE("dropout: keeps 1 - rate of the elements, divided by 1 - rate", "[nn][dropout]") {
    const int64_t n = 40000;
    for (const double rate : {0.1, 0.5, 0.9}) {
        const Dropout layer(static_cast<Real>(rate), Rng(2));
        const Tensor y = layer(Tensor::full({n}, 1), step(1));
        const Real kept = 1 / (1 - static_cast<Real>(rate));
        double sum = 0;
        int64_t other = 0;
        for (int64_t i = 0; i < n; ++i) {
            sum += static_cast<double>(y.data()[i]);
            other += !(y.data()[i] == 0 || std::abs(y.data()[i] - kept) <= Real(1e-5));
        }
        CHECK(other == 0);
        // The mean is 1; five standard deviations
        CHECK(std::abs(sum / static_cast<double>(n) - 1) <
              5 * std::sqrt(rate / (1 - rate) / static_cast<double>(n)));
    }
}

TEST_CASE("dropout: the same step and layer give the same mask, others uncorrelated ones", "[nn][dropout]") {
    const Rng model(7);
    const Dropout a(Real(0.3), model.fork("a")), b(Real(0.3), model.fork("b"));
    const Tensor x = Tensor::full({200, 100}, 1);
    const Tensor first = a(x, step(1));
    CHECK(same_bits(first, a(x, step(1))));
    CHECK(same_bits(first, Dropout(Real(0.3), model.fork("a"))(x, step(1))));
    const Tensor learns = leaf(x);
    autograd::sum(a(learns, step(1))).backward();
    CHECK(same_bits(learns.grad(), first));
    const double limit = 5 / std::sqrt(20000.0);
    CHECK(correlation(first, first, 0.3) == Approx(1).margin(0.05));
    CHECK(std::abs(correlation(first, a(x, step(2)), 0.3)) < limit);  // another step
    CHECK(std::abs(correlation(first, b(x, step(1)), 0.3)) < limit);  // another layer
    CHECK(std::abs(correlation(b(x, step(1)), b(x, step(2)), 0.3)) < limit);
    CHECK(std::abs(correlation(a(x, step(2)), b(x, step(1)), 0.3)) < limit);  // a's 2nd, b's 1st
    const Tensor shifted = autograd::slice(first, 0, 1, 200);                 // rows against the next ones
    CHECK(std::abs(correlation(autograd::slice(first, 0, 0, 199), shifted, 0.3)) < limit);
}

TEST_CASE("dropout: inside the feed-forward it drops hidden elements, only in training", "[nn][dropout]") {
    const FeedForward with(6, 20, Rng(9), {.dropout = Real(0.5)}), without(6, 20, Rng(9));
    const Tensor x = random({3, 6}, 2);
    CHECK(same_bits(with(x, Mode::eval()), without(x, Mode::eval())));
    CHECK(same_bits(with(x, Mode::eval()), with(x, Mode::eval())));
    CHECK(same_bits(without(x, step(1)), without(x, Mode::eval())));
    CHECK_FALSE(same_bits(with(x, step(1)), with(x, Mode::eval())));
    CHECK(same_bits(with(x, step(1)), with(x, step(1))));
    CHECK_FALSE(same_bits(with(x, step(1)), with(x, step(2))));
}
