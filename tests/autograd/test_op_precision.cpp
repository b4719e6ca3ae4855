// Where naive code loses digits: long sums, large logits, large means; what operations compute, and their
// gradients, against numbers that are known exactly, or computed in double.
#include <algorithm>

#include "autograd/ops.h"
#include "tests/autograd/values.h"
#include "tests/catch.h"
#include "tests/reference.h"

using namespace plaingrad;  // NOLINT
using namespace autograd;   // NOLINT
using namespace tests;      // NOLINT
using reference::Row;

constexpr double kTight = kRealIsDouble ? 1e-14 : 1e-6;

// A rounded 1/n would make it 0.99999994 for n = 41, and an accuracy of 100 % less.
TEST_CASE("precision: the mean of equal numbers is that number", "[ops][precision]") {
    int64_t others = 0;
    for (int64_t n = 1; n <= 1000; ++n)
        others += mean(Tensor::ones({n})).item() != 1;
    CHECK(others == 0);
    CHECK(mean(Tensor::full({41, 3}, 7), {0}).to_vector() == std::vector<Real>{7, 7, 7});
    const Tensor x = Tensor::zeros({41}).require_grad();
    (mean(x) * Real(41)).backward();
    CHECK(x.grad().to_vector() == std::vector<Real>(41, 1));
}

TEST_CASE("precision: sums over no numbers, and results without elements", "[ops][precision]") {
    CHECK(sum(Tensor::zeros({64, 0}), {0}).shape() == Shape{0});
    CHECK(sum(Tensor::zeros({5, 640, 0}), {1}).shape() == Shape({5, 0}));
    CHECK(sum(Tensor::zeros({int64_t(1) << 40, 0}), {0}).numel() == 0);  // at once
    CHECK(sum(Tensor::zeros({0, 3}), {0}).to_vector() == std::vector<Real>{0, 0, 0});
}

TEST_CASE("precision: long sums do not drift", "[ops][precision]") {
    const double tenth = static_cast<double>(Real(0.1));
    const auto drift = [&](const Tensor& sums, double n) {
        double worst = 0;
        for (const double s : doubles(sums))
            worst = std::max(worst, std::abs(s / (tenth * n) - 1));
        return worst;
    };
    const int64_t n = 10'000'003, rows = 1'000'003;
    const Tensor line = Tensor::full({n}, Real(0.1)), columns = Tensor::full({rows, 10}, Real(0.1));
    CHECK(drift(sum(line), n) <= 1e-6);
    CHECK(drift(mean(line), 1) <= 1e-6);
    CHECK(drift(sum(columns, {0}), rows) <= 1e-6);
    CHECK(drift(sum(columns), 10.0 * rows) <= 1e-6);
    CHECK(drift(sum(reshape(columns, {2, 5, rows}), {2}), rows) <= 1e-6);
    CHECK(drift(sum(reshape(columns, {2, rows, 5}), {1}), rows) <= 1e-6);

    // The gradients of bias and gain: every row adds 0.1, and 0.1 * ±1.
    const Tensor bias = leaf(Tensor::zeros({10})), weight = Tensor::zeros({2, 10});
    linear(Tensor::zeros({rows, 2}), weight, bias).backward(columns);
    CHECK(drift(bias.grad(), rows) <= 1e-6);
    const Tensor pairs = reshape(slice(reshape(line, {-1}), 0, 0, 2 * rows), {rows, 2});
    const Tensor x = concat({Tensor::full({rows, 1}, -1), Tensor::full({rows, 1}, 1)}, 1);
    const Tensor gain = leaf(Tensor::full({2}, 1)), shift = leaf(Tensor::zeros({2}));
    layer_norm(x, gain, shift, 0).backward(pairs);
    CHECK(drift(shift.grad(), rows) <= 1e-6);
    CHECK(drift(mul(gain.grad(), Tensor::from({2}, {-1, 1})), rows) <= 1e-6);

    // The gradient of a token that is nearly the whole text, beside two others and padding.
    std::vector<int32_t> ids(static_cast<std::size_t>(rows), 1);
    ids[0] = ids[70] = 2, ids.back() = 3;
    for (const bool again : {false, true}) {
        Tensor table = leaf(Tensor::zeros({4, 10}));
        if (again)
            sum(table * 0).backward();
        embedding(table, Tokens(1, rows, ids, 3)).backward(reshape(columns, {1, rows, 10}));
        const Tensor grad = table.grad();
        CHECK(drift(grad[1], rows - 3) <= 1e-6);
        CHECK(drift(grad[2], 2) <= 1e-6);
        CHECK((grad[0].to_vector() == std::vector<Real>(10) && grad[3].to_vector() == std::vector<Real>(10)));
    }

    // 2 * 40,000 equal probabilities: as many targets' gradients, and the logarithm of a long sum.
    const Tensor row = Tensor::full({1, 1'000'000}, Real(0.3));
    CHECK(std::abs(static_cast<double>(cross_entropy(row, Tokens(1, 1, {7})).item()) - std::log(1e6)) <=
          2e-6);
}

// Beside the first one, a float would lose all others.
TEST_CASE("precision: the losses of many rows are added in double", "[ops][precision]") {
    const int64_t rows = 1001;
    const double large = 1 << 25;
    Tensor logits = Tensor::zeros({rows, 2});
    logits.mutable_data()[1] = static_cast<Real>(large);
    const Tokens target(1, rows, std::vector<int32_t>(static_cast<std::size_t>(rows), 0), -1);
    const double expected = (large + 1000 * std::log(2.0)) / 1001;
    CHECK(std::abs(cross_entropy(logits, target).item() / expected - 1) <= 1e-6);
}

// A row of a million: two thirds of the elements are -1, the others 2, so that mean and variance are known.
TEST_CASE("precision: a long row's statistics do not drift", "[ops][precision]") {
    const int64_t n = 999'999;
    Tensor x = leaf(Tensor::uninitialized({1, n})), dy = Tensor::uninitialized({1, n});
    for (int64_t i = 0; i < n; ++i) {
        x.mutable_data()[i] = i % 3 == 0 ? 2 : -1;         // mean 0, variance 2
        dy.mutable_data()[i] = i % 9 < 4 ? Real(0.5) : 0;  // mean 2/9, mean of dy x 0.5 (2*2 - 2) / 9 = 1/9
    }
    const Tensor y = layer_norm(x, Tensor::ones({n}), Tensor::zeros({n}), 0);
    y.backward(dy);
    double worst = 0, worst_grad = 0;
    for (int64_t i = 0; i < n; ++i) {
        const auto value = static_cast<double>(x.data()[i]), upstream = static_cast<double>(dy.data()[i]);
        const double grad = (upstream - 2.0 / 9 - value * (1.0 / 9) / 2) / std::sqrt(2.0);
        worst = std::max(worst, std::abs(static_cast<double>(y.data()[i]) - value / std::sqrt(2.0)));
        worst_grad = std::max(worst_grad, std::abs(static_cast<double>(x.grad().data()[i]) - grad));
    }
    CHECK(worst <= 1e-6);
    CHECK(worst_grad <= 1e-6);
}

// Attention's outputs are chains of 512 keys, added in order, as a matrix product's are. Equal terms round in
// the same direction: 512 additions and 1954 could be off by 2466 / 2 times 2^-25 each, 4e-5 in all.
TEST_CASE("precision: attention to a million keys does not drift", "[ops][precision]") {
    const int64_t n = 1'000'003;
    Tensor q = leaf(random({1, 1, 1}, 1)), k = Tensor::zeros({1, n, 1}),
           v = Tensor::full({1, n, 1}, Real(0.1));
    const Tensor out = attention(q, k, v);
    CHECK(std::abs(static_cast<double>(out.item()) / static_cast<double>(Real(0.1)) - 1) <= 2e-5);
}

TEST_CASE("precision: gradients of cross-entropy and smoothed losses are as exact for large logits",
          "[ops][precision]") {
    for (const double base : {10.0, 1e4, 1e6, 1e7}) {
        const auto r = [](double x) { return static_cast<Real>(x); };
        const Tensor logits = leaf(Tensor::from({1, 3}, {r(base + 1), r(base), r(base + 2)}));
        const Tensor bias = leaf(Tensor::from({3}, logits.to_vector())), x = Tensor::zeros({1, 1});
        cross_entropy(logits, Tokens(1, 1, {0})).backward();
        linear_cross_entropy(x, Tensor::zeros({3, 1}), bias, Tokens(1, 1, {0})).backward();
        Row expected = reference::softmax(doubles(logits));
        expected[0] -= 1;
        INFO("logits about " << base);
        CHECK(worst_error(logits.grad(), expected) <= kTight);
        CHECK(worst_error(bias.grad(), expected) <= kTight);

        const int64_t V = 32'000;
        const Tensor row = random({1, V}, 3, base - 3, base + 3);
        // In long double: in double, 32,000 terms one after the other would round as much as what is checked.
        const auto largest = static_cast<long double>(max(row, 1).item()),
                   s = static_cast<long double>(Real(0.1));
        long double sum = 0, mean = 0;
        for (const Real logit : row.to_vector()) {
            sum += std::exp(static_cast<long double>(logit) - largest);
            mean += (static_cast<long double>(logit) - largest) / V;
        }
        const long double of_target = static_cast<long double>(row.data()[5]) - largest;
        const auto loss = static_cast<double>(std::log(sum) - (1 - s) * of_target - s * mean);
        const CrossEntropyOptions smoothed = {.label_smoothing = Real(0.1)};
        CHECK(worst_error(doubles(cross_entropy(row, Tokens(1, 1, {5}), smoothed)), Row{loss}) <= 2 * kTight);
        CHECK(worst_error(doubles(linear_cross_entropy(x, Tensor::zeros({V, 1}), reshape(row, {V}),
                                                       Tokens(1, 1, {5}), smoothed)),
                          Row{loss}) <= 2 * kTight);
    }
}

// The logarithm of a sum near 1: an ulp of 1 is 0.3 % here.
TEST_CASE("precision: a small loss of large logits keeps its digits", "[ops][precision]") {
    for (const Real base : {Real(20), Real(1000)}) {
        const Tensor logits = Tensor::from({1, 2}, {base + 10, base});
        CHECK(cross_entropy(logits, Tokens(1, 1, {0})).item() ==
              Approx(std::log1p(std::exp(-10.0))).epsilon(0.01));
    }
    CHECK(bce_with_logits(Tensor(200), Tensor(1)).item() < Real(1e-30));
    CHECK(bce_with_logits(Tensor(20), Tensor(1)).item() == Approx(2.0611536e-9).margin(1e-7));
}

// One pass over x and x² would lose every digit.
TEST_CASE("precision: layer norm of a large mean and a small variance", "[ops][precision]") {
    const Tensor gain = random({67}, 1), bias = random({67}, 2);
    for (const double mean : {1000.0, 10000.0, -1000.0}) {
        const Tensor row = Tensor::from_function(
            {67}, [&](uint64_t i) { return mean + 1e-3 * static_cast<double>(i * 29 % 67); });
        const Row expected = reference::layer_norm(doubles(row), doubles(gain), doubles(bias),
                                                   static_cast<double>(Real(1e-5)));
        CHECK(worst_error(layer_norm(row, gain, bias), expected) <= (kRealIsDouble ? 1e-8 : 2e-6));
    }
}

TEST_CASE("precision: any power", "[ops][precision]") {
    const Tensor x = random({67}, 1, 0.1, 3);
    for (const Real p : {Real(0.3), Real(2.7), Real(-1.3), Real(20), Real(7.5), Real(-3)}) {
        Row exact = doubles(x);
        for (double& each : exact)
            each = std::pow(each, static_cast<double>(p));
        const Tensor y = pow(x, p);
        for (std::size_t i = 0; i < exact.size(); ++i)
            CHECK(std::abs(static_cast<double>(y.data()[i]) / exact[i] - 1) < (kRealIsDouble ? 1e-14 : 3e-6));
    }
}

TEST_CASE("norms: a row is the same alone and among others", "[ops][bits]") {
    constexpr int64_t kRows = 37;
    for (const auto& [n, is_rms] : {std::pair{1, false},
                                    {16, true},
                                    {37, false},
                                    {37, true},
                                    {256, false},
                                    {257, true},
                                    {257, false}}) {
        const bool rms = is_rms;  // clang does not capture a structured binding
        const Tensor x = random({kRows, n}, 1), gain = random({n}, 2), bias = random({n}, 3),
                     dy = random({kRows, n}, 4);
        const auto run = [&](int64_t first, int64_t rows) {
            const Tensor part = leaf(slice(x, 0, first, first + rows));
            const Tensor y = rms ? rms_norm(part, gain) : layer_norm(part, gain, bias);
            sum(y * slice(dy, 0, first, first + rows)).backward();
            return std::pair{y.to_vector(), part.grad().to_vector()};
        };
        const auto [together, gradient] = run(0, kRows);
        for (int64_t r = 0; r < kRows; ++r) {
            const auto [alone, alone_gradient] = run(r, 1);
            const auto at = static_cast<std::ptrdiff_t>(r * n);
            INFO("row " << r << " of " << n);
            CHECK(same_bits(alone, {together.begin() + at, together.begin() + at + n}));
            CHECK(same_bits(alone_gradient, {gradient.begin() + at, gradient.begin() + at + n}));
        }
    }
}
