// What operations compute: reductions, ops on shapes, look-up, softmax.
#include <algorithm>
#include <functional>

#include "autograd/ops.h"
#include "tests/autograd/values.h"
#include "tests/catch.h"

using namespace plaingrad;  // NOLINT
using namespace autograd;   // NOLINT
using namespace tests;      // NOLINT

namespace {

constexpr double kTight = kRealIsDouble ? 1e-13 : 2e-6;

// 0, 1, 2, ... in this shape.
Tensor counting(const Shape& shape) {
    std::vector<Real> x(static_cast<std::size_t>(shape.numel()));
    for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = static_cast<Real>(i);
    return Tensor::from(shape, x);
}

using Composition = std::function<Tensor(const std::vector<Tensor>&)>;

// Both give nearly the same numbers and gradients.
void check_equal(const char* name, const std::vector<Tensor>& inputs, const Composition& fused,
                 const Composition& composed) {
    std::vector<Tensor> x, y;
    for (const Tensor& input : inputs) {
        x.push_back(leaf(input));
        y.push_back(leaf(input));
    }
    const Tensor a = fused(x), b = composed(y);
    INFO(name);
    REQUIRE(a.shape() == b.shape());
    CHECK(worst_error(a, b) <= kTight);
    const Tensor start = random(a.shape(), 99);
    a.backward(start);
    b.backward(start);
    for (std::size_t i = 0; i < x.size(); ++i)
        CHECK(worst_error(x[i].grad(), y[i].grad()) <= 5 * kTight);
}

}  // namespace

// A rounded 1/n would make it 0.99999994 for n = 41, and an accuracy of 100 % less.
TEST_CASE("values: the mean of equal numbers is that number", "[ops][values]") {
    int64_t others = 0;
    for (int64_t n = 1; n <= 1000; ++n)
        others += mean(Tensor::ones({n})).item() != 1;
    CHECK(others == 0);
    CHECK(mean(Tensor::full({41, 3}, 7), {0}).to_vector() == std::vector<Real>{7, 7, 7});
    const Tensor x = Tensor::zeros({41}).require_grad();
    (mean(x) * Real(41)).backward();
    CHECK(x.grad().to_vector() == std::vector<Real>(41, 1));
}

TEST_CASE("values: sums over no numbers, and results without elements", "[ops][values]") {
    CHECK(sum(Tensor::zeros({64, 0}), {0}).shape() == Shape{0});
    CHECK(sum(Tensor::zeros({5, 640, 0}), {1}).shape() == Shape({5, 0}));
    CHECK(sum(Tensor::zeros({int64_t(1) << 40, 0}), {0}).numel() == 0);  // at once
    CHECK(sum(Tensor::zeros({0, 3}), {0}).to_vector() == std::vector<Real>{0, 0, 0});
}

TEST_CASE("values: sums and means", "[ops][values]") {
    const Tensor x = counting({2, 3, 4});  // 12 i + 4 j + k
    CHECK(sum(x).item() == 276);
    CHECK(mean(x).item() == Real(11.5));
    CHECK(sum(x, {0}).to_vector() == std::vector<Real>{12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34});
    CHECK(sum(x, {-1}).to_vector() == std::vector<Real>{6, 22, 38, 54, 70, 86});
    CHECK(sum(x, {0, 2}).to_vector() == std::vector<Real>{60, 92, 124});
    CHECK(sum(x, {0, 1}).to_vector() == std::vector<Real>{60, 66, 72, 78});
    CHECK(mean(x, {1}).to_vector() == std::vector<Real>{4, 5, 6, 7, 16, 17, 18, 19});
    CHECK(sum(x, {1}).shape() == Shape{2, 4});
    CHECK(sum(x, {1}, true).shape() == Shape{2, 1, 4});
    CHECK(sum(x, {0, 2}, true).shape() == Shape{1, 3, 1});
    CHECK(sum(x, {0, 1, 2}).shape() == Shape{});
    CHECK(mean(x, {0, 1, 2}, true).shape() == Shape{1, 1, 1});
    CHECK(same_bits(sum(x, {}), x));
}

TEST_CASE("values: long sums do not drift", "[ops][values]") {
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
TEST_CASE("values: the losses of many rows are added in double", "[ops][values]") {
    const int64_t rows = 1001;
    const double large = 1 << 25;
    Tensor logits = Tensor::zeros({rows, 2});
    logits.mutable_data()[1] = static_cast<Real>(large);
    const Tokens target(1, rows, std::vector<int32_t>(static_cast<std::size_t>(rows), 0), -1);
    const double expected = (large + 1000 * std::log(2.0)) / 1001;
    CHECK(std::abs(cross_entropy(logits, target).item() / expected - 1) <= 1e-6);
}

// A row of a million: two thirds of the elements are -1, the others 2, so that mean and variance are known.
TEST_CASE("values: a long row's statistics do not drift", "[ops][values]") {
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
TEST_CASE("values: attention to a million keys does not drift", "[ops][values]") {
    const int64_t n = 1'000'003;
    Tensor q = leaf(random({1, 1, 1}, 1)), k = Tensor::zeros({1, n, 1}),
           v = Tensor::full({1, n, 1}, Real(0.1));
    const Tensor out = attention(q, k, v);
    CHECK(std::abs(static_cast<double>(out.item()) / static_cast<double>(Real(0.1)) - 1) <= 2e-5);
}

TEST_CASE("values: max takes the first of equal elements, and NaN is the largest", "[ops][values]") {
    Tensor x = leaf(Tensor::from({2, 3}, {1, 3, 3, -5, -7, -5}));
    const Tensor y = max(x, 1);
    CHECK(y.to_vector() == std::vector<Real>{3, -5});
    CHECK(y.shape() == Shape{2});
    y.backward(Tensor::from({2}, {10, 20}));
    CHECK(x.grad().to_vector() == std::vector<Real>{0, 10, 0, 20, 0, 0});
    CHECK(max(x, 0).to_vector() == std::vector<Real>{1, 3, 3});
    CHECK(max(x, -2, true).shape() == Shape{1, 3});
    for (const std::vector<Real>& row :
         std::vector<std::vector<Real>>{{kNan, 1, 2}, {1, kNan, 2}, {1, 2, kNan}}) {
        const Real found = max(Tensor::from({3}, row), 0).item();
        CHECK(found != found);
    }
}

TEST_CASE("values: reshape", "[ops][values]") {
    const Tensor x = counting({2, 3, 4});
    CHECK(reshape(x, {4, -1}).shape() == Shape{4, 6});
    CHECK(reshape(x, {-1}).to_vector() == x.to_vector());
    CHECK(reshape(x, {1, 24, 1, 1}).same_memory(x));
    CHECK(reshape(Tensor::full({1, 1}, 3), {}).shape() == Shape{});
    CHECK(reshape(Tensor::zeros({0, 3}), {-1, 3}).shape() == Shape{0, 3});
}

TEST_CASE("values: permute, slice, concat by index", "[ops][values]") {
    const Tensor x = counting({2, 3, 4, 5});
    const auto at = [](const Tensor& t, const int64_t(&i)[4]) {
        return t.data()[((i[0] * t.size(1) + i[1]) * t.size(2) + i[2]) * t.size(3) + i[3]];
    };
    std::vector<int> order = {0, 1, 2, 3};
    int wrong = 0, orders = 0;
    do {
        const Tensor y = permute(x, order);
        for (int64_t i = 0; i < 2; ++i)
            for (int64_t j = 0; j < 3; ++j)
                for (int64_t k = 0; k < 4; ++k)
                    for (int64_t l = 0; l < 5; ++l) {
                        const int64_t from[4] = {i, j, k, l};
                        int64_t to[4];
                        for (std::size_t d = 0; d < 4; ++d)
                            to[d] = from[order[d]];
                        wrong += at(y, to) != at(x, from);
                    }
        ++orders;
    } while (std::next_permutation(order.begin(), order.end()));
    CHECK(orders == 24);
    CHECK(wrong == 0);
    CHECK(same_bits(transpose(x, 1, -1), permute(x, {0, 3, 2, 1})));

    CHECK(slice(counting({3, 4}), 0, 1, 2).to_vector() == std::vector<Real>{4, 5, 6, 7});
    CHECK(slice(counting({3, 4}), 1, 1, 3).to_vector() == std::vector<Real>{1, 2, 5, 6, 9, 10});
    for (const int dim : {0, 1, 2, 3, -1}) {
        const int64_t n = x.size(dim), cut = n / 2;
        const std::vector<Tensor> parts = {slice(x, dim, 0, cut), slice(x, dim, cut, cut),
                                           slice(x, dim, cut, n)};
        CHECK(same_bits(concat(parts, dim), x));
    }
    CHECK(concat({counting({2, 1}), counting({2, 2})}, 1).to_vector() == std::vector<Real>{0, 0, 1, 1, 2, 3});
}

TEST_CASE("values: embedding", "[ops][values]") {
    Tensor table = leaf(counting({4, 3}));
    for (int i = 0; i < 3; ++i)
        table.mutable_data()[i] = kNan;  // the row of the padding
    const Tensor y = embedding(table, Tokens(2, 2, {3, 1, 3, 0}, 0));
    CHECK(y.shape() == Shape{2, 2, 3});
    CHECK(y.to_vector() == std::vector<Real>{9, 10, 11, 3, 4, 5, 9, 10, 11, 0, 0, 0});
    y.backward(Tensor::from({2, 2, 3}, {1, 2, 3, 4, 5, 6, 10, 20, 30, kNan, kNan, kNan}));
    CHECK(table.grad().to_vector() == std::vector<Real>{0, 0, 0, 4, 5, 6, 0, 0, 0, 11, 22, 33});
}

TEST_CASE("values: dropout's backward uses forward's mask", "[ops][values][dropout]") {
    const Tensor x = leaf(Tensor::full({3, 1001}, 2));
    const Real p = Real(0.3);
    const Tensor y = dropout(x, p, Rng(5));
    y.backward(Tensor::full({3, 1001}, 2));
    CHECK(same_bits(x.grad(), y));
    int64_t kept = 0;
    int wrong = 0;
    for (int64_t i = 0; i < y.numel(); ++i) {
        kept += y.data()[i] != 0;
        wrong += y.data()[i] != 0 && y.data()[i] != 2 * (1 / (1 - p));
    }
    CHECK(wrong == 0);
    CHECK(std::abs(static_cast<double>(kept) - 0.7 * 3003) <= 4 * std::sqrt(0.3 * 0.7 * 3003));
    CHECK(same_bits(dropout(x, p, Rng(5)), y));
    CHECK(!same_bits(dropout(x, p, Rng(6)), y));
    CHECK(dropout(x, 0, Rng(5)).same_memory(x));
}

TEST_CASE("values: softmax and its logarithm equal their formulas, with gradients", "[ops][values]") {
    check_equal(
        "softmax", {random({5, 37}, 8)}, [](const auto& x) { return softmax(x[0]); },
        [](const auto& x) {
            const Tensor e = autograd::exp(x[0] - max(x[0], -1, true));
            return e / sum(e, {-1}, true);
        });
    check_equal(
        "log_softmax", {random({5, 37}, 9)}, [](const auto& x) { return log_softmax(x[0]); },
        [](const auto& x) { return x[0] - autograd::log(sum(autograd::exp(x[0]), {-1}, true)); });
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
