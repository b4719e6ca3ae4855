// Everyday operations: comparisons and choices, powers, shapes, two losses, new tensors. Ties, bounds and NaN
// behave as in PyTorch; expected numbers are written out, or computed in double.
#include <cmath>
#include <limits>

#include "autograd/ops.h"
#include "tests/autograd/values.h"
#include "tests/catch.h"

using namespace plaingrad;  // NOLINT
using namespace autograd;   // NOLINT
using namespace tests;      // NOLINT

namespace {

using Numbers = std::vector<Real>;
constexpr Real kInf = std::numeric_limits<Real>::infinity();

Tensor vec(const Numbers& x) { return Tensor::from({length(x)}, x); }

// Equal, where a NaN equals a NaN.
bool same(const Tensor& x, const Numbers& y) {
    bool equal = x.numel() == length(y);
    for (int64_t i = 0; equal && i < x.numel(); ++i) {
        const Real a = x.data()[i], b = y[static_cast<std::size_t>(i)];
        equal = a == b || (std::isnan(a) && std::isnan(b));
    }
    return equal;
}

// The gradient of Σ w f(x), w = 1, 2, 3, ...
template <class F>
Tensor gradient(const F& f, const Tensor& input) {
    const Tensor x = leaf(input), y = f(x);
    y.backward(Tensor::arange(1, static_cast<double>(y.numel()) + 1).with_shape(y.shape()));
    return x.grad();
}

}  // namespace

TEST_CASE("everyday: comparisons", "[ops][values]") {
    const Tensor a = vec({1, 2, 3, kNan, -kInf, 0}), b = vec({2, 2, 2, 1, -kInf, Real(-0.0)});
    CHECK(same(a < b, {1, 0, 0, 0, 0, 0}));
    CHECK(same(a <= b, {1, 1, 0, 0, 1, 1}));
    CHECK(same(a > b, {0, 0, 1, 0, 0, 0}));
    CHECK(same(a >= b, {0, 1, 1, 0, 1, 1}));
    CHECK(same(a == b, {0, 1, 0, 0, 1, 1}));
    CHECK(same(a != b, {1, 0, 1, 1, 0, 0}));
    CHECK(same(a > 1, {0, 1, 1, 0, 0, 0}));
    CHECK(same(a >= 2, {0, 1, 1, 0, 0, 0}));
    CHECK(same(a < 2, {1, 0, 0, 0, 1, 1}));
    CHECK(same(a <= 2, {1, 1, 0, 0, 1, 1}));
    CHECK(same(a == 2, {0, 1, 0, 0, 0, 0}));
    CHECK(same(a != 2, {1, 0, 1, 1, 1, 1}));
    CHECK(same(Tensor::arange(3) < reshape(Tensor::arange(2), {2, 1}), {0, 0, 0, 1, 0, 0}));
}

TEST_CASE("everyday: where passes nothing on from what it does not choose", "[ops][values]") {
    const Tensor c = vec({1, 0, Real(-0.5), kNan}), a = leaf(vec({1, kNan, 3, 4})),
                 b = leaf(vec({kNan, 6, kInf, kNan}));
    const Tensor y = where(c, a, b);
    CHECK(same(y, {1, 6, 3, 4}));
    y.backward(vec({1, kNan, 3, kInf}));
    CHECK(same(a.grad(), {1, 0, 3, kInf}));
    CHECK(same(b.grad(), {0, kNan, 0, 0}));
    CHECK(same(where(vec({1, 0}), Real(5), vec({1, 2})), {5, 2}));
    CHECK(same(where(vec({1, 0}), vec({1, 2}), Real(5)), {1, 5}));
}

TEST_CASE("everyday: where sums the gradient of what it repeats", "[ops][values]") {
    const Tensor c = Tensor::from({2, 3}, {1, 0, 1, 0, 0, 1}), row = leaf(vec({10, 20, 30})),
                 column = leaf(Tensor::from({2, 1}, {7, 8}));
    const Tensor y = where(c, row, column);
    CHECK(same(y, {10, 7, 30, 8, 8, 30}));
    y.backward(Tensor::from({2, 3}, {1, 2, 3, 4, 5, 6}));
    CHECK(same(row.grad(), {1, 0, 9}));
    CHECK(same(column.grad(), {2, 9}));
}

TEST_CASE("everyday: maximum and minimum share the gradient of equal numbers", "[ops][values]") {
    const Tensor a = leaf(vec({1, 2, 3, kNan, 5})), b = leaf(vec({2, 2, 2, 1, kNan}));
    const Tensor y = maximum(a, b);
    CHECK(same(y, {2, 2, 3, kNan, kNan}));
    y.backward(vec({1, 2, 3, 4, 5}));
    CHECK(same(a.grad(), {0, 1, 3, 4, 5}));
    CHECK(same(b.grad(), {1, 1, 0, 4, 5}));
    CHECK(same(minimum(a, b), {1, 2, 2, kNan, kNan}));
    CHECK(same(gradient([](const Tensor& x) { return minimum(x, 2); }, vec({1, 2, 3})), {1, 1, 0}));
    CHECK(same(maximum(vec({-1, 2}), 0), {0, 2}));
}

TEST_CASE("everyday: no gradient passes where relu is flat, not even an infinite one", "[ops][values]") {
    const Tensor x = leaf(vec({-1, 0, 2}));
    autograd::relu(x).backward(vec({kInf, kInf, kInf}));
    CHECK(same(x.grad(), {0, 0, kInf}));
}

TEST_CASE("everyday: clamp", "[ops][values]") {
    const auto f = [](const Tensor& x) { return clamp(x, -1, 2); };
    const Tensor x = vec({-3, -1, 0, 2, 5, kNan, kInf, -kInf});
    CHECK(same(f(x), {-1, -1, 0, 2, 2, kNan, 2, -1}));
    CHECK(same(gradient(f, x), {0, 2, 3, 4, 0, 6, 0, 0}));  // the gradient passes at the bounds
    CHECK(same(clamp(x, 3, -4), {-4, -4, -4, -4, -4, kNan, -4, -4}));
    CHECK(same(clamp(x, 0, kInf), {0, 0, 0, 2, 5, kNan, kInf, 0}));
}

TEST_CASE("everyday: pow", "[ops][values]") {
    const Tensor x = vec({-2, Real(-0.5), 0, 1, 3});
    const auto by = [](Real p) { return [p](const Tensor& t) { return pow(t, p); }; };
    CHECK(same(pow(x, 2), {4, Real(0.25), 0, 1, 9}));
    CHECK(same(pow(x, 3), {-8, Real(-0.125), 0, 1, 27}));
    CHECK(same(pow(x, -1), {Real(-0.5), -2, kInf, 1, Real(1) / 3}));
    CHECK(same(pow(x, 0), {1, 1, 1, 1, 1}));
    CHECK(same(pow(x, Real(0.5)), {kNan, kNan, 0, 1, std::sqrt(Real(3))}));
    CHECK(same(pow(vec({kNan, kInf}), 0), {1, 1}));
    CHECK(same(pow(vec({0, 4}), Real(1.5)), {0, 8}));
    CHECK(same(gradient(by(2), x), {-4, -2, 0, 8, 30}));
    CHECK(same(gradient(by(0), x), {0, 0, 0, 0, 0}));
    CHECK(same(gradient(by(1), x), {1, 2, 3, 4, 5}));
    CHECK(same(gradient(by(Real(1.5)), vec({0, 4})), {0, 6}));
    for (const double p : {0.3, 2.7, -1.3, 20.0, 7.5, -3.0}) {
        const Tensor y = random({67}, 1, 0.1, 3), z = pow(y, static_cast<Real>(p));
        for (int64_t i = 0; i < y.numel(); ++i) {
            const double exact =
                std::pow(static_cast<double>(y.data()[i]), static_cast<double>(static_cast<Real>(p)));
            CHECK(std::abs(static_cast<double>(z.data()[i]) / exact - 1) < (kRealIsDouble ? 1e-14 : 3e-6));
        }
    }
}

TEST_CASE("everyday: argmax and gather", "[ops][values]") {
    const Tensor x = Tensor::from({2, 2, 3}, {1, 5, 2, 7, 7, 0, -1, kNan, 3, -kInf, -2, -1});
    const Tokens best = argmax(x);
    CHECK((best.batch() == 2 && best.length() == 2));
    CHECK(best.ids() == std::vector<int32_t>{1, 0, 1, 2});
    CHECK(same(gather(x, best), {5, 7, kNan, -1}));
    CHECK(gather(x, best).shape() == Shape({2, 2}));
    CHECK(argmax(x, 0).ids() == std::vector<int32_t>{0, 1, 1, 0, 0, 0});
    CHECK((argmax(x, 0).batch() == 2 && argmax(x, 0).length() == 3));
    CHECK((argmax(vec({3, 9})).batch() == 1 && argmax(vec({3, 9})).length() == 1 &&
           argmax(vec({3, 9})).at(0, 0) == 1));
    CHECK((argmax(x[0]).batch() == 2 && argmax(x[0]).length() == 1));
    // Padding gives zeros and passes no gradient, whatever the row contains.
    const Tensor y = leaf(Tensor::from({2, 2}, {1, 2, kNan, kNan}));
    const Tensor taken = gather(y, Tokens(1, 2, {1, 9}, 9));
    CHECK(same(taken, {2, 0}));
    taken.backward(vec({3, kNan}));
    CHECK(same(y.grad(), {0, 3, 0, 0}));
}

TEST_CASE("everyday: rows by number, stack, split, squeeze", "[ops][values]") {
    const Tensor x = reshape(Tensor::arange(6), {3, 2});
    CHECK(same(x[1], {2, 3}));
    CHECK(same(x[-1], {4, 5}));
    CHECK(x[2][1].item() == 5);
    CHECK(same(gradient([](const Tensor& t) { return t[1]; }, x), {0, 0, 1, 2, 0, 0}));
    const Tensor row = x[0];
    row.mutable_data()[0] = 100;  // a copy
    CHECK(x.data()[0] == 0);
    CHECK(same(stack({x[0], x[2]}), {0, 1, 4, 5}));
    CHECK(same(stack({x[0], x[2]}, 1), {0, 4, 1, 5}));
    CHECK(stack({x, x}, -1).shape() == Shape({3, 2, 2}));
    const std::vector<Tensor> parts = split(x, 2);
    REQUIRE(parts.size() == 2);
    CHECK(same(parts[0], {0, 1, 2, 3}));
    CHECK((same(parts[1], {4, 5}) && parts[1].shape() == Shape({1, 2})));
    CHECK(same(split(x, 1, -1)[1], {1, 3, 5}));
    CHECK(split(Tensor::zeros({0, 2}), 3)[0].shape() == Shape({0, 2}));
    CHECK(unsqueeze(x, 0).shape() == Shape({1, 3, 2}));
    CHECK(unsqueeze(x, -1).shape() == Shape({3, 2, 1}));
    CHECK(squeeze(unsqueeze(x, 1), 1).shape() == Shape({3, 2}));
    CHECK(squeeze(x, 0).shape() == Shape({3, 2}));
}

TEST_CASE("everyday: a += b is a = a + b", "[ops][values]") {
    const Tensor x = leaf(vec({1, 2})), before = x;
    Tensor y = x;
    y += vec({10, 20});
    y *= Real(3);
    y -= x;
    y /= Real(2);
    CHECK(same(y, {16, 32}));
    CHECK(same(before, {1, 2}));
    sum(y).backward();
    CHECK(same(x.grad(), {1, 1}));
}

TEST_CASE("everyday: losses", "[ops][values]") {
    CHECK(mse_loss(vec({1, 2, 3}), vec({2, 2, 5})).item() == Approx(5.0 / 3));
    const std::vector<double> logits = {-200, -20, -1, 0, 0.5, 20, 200}, targets = {0, 1, 0.3, 1, 0, 1, 1};
    double expected = 0;
    Numbers x, t;
    for (std::size_t i = 0; i < logits.size(); ++i) {
        const double a = logits[i];
        expected += (std::fmax(a, 0) - a * targets[i] + std::log1p(std::exp(-std::abs(a)))) / 7;
        x.push_back(static_cast<Real>(a));
        t.push_back(static_cast<Real>(targets[i]));
    }
    CHECK(static_cast<double>(bce_with_logits(vec(x), vec(t)).item()) == Approx(expected).epsilon(1e-6));
    CHECK(bce_with_logits(vec({200}), vec({1})).item() < Real(1e-30));
    CHECK(bce_with_logits(vec({20}), vec({1})).item() == Approx(2.0611536e-9).margin(1e-7));
    CHECK(bce_with_logits(vec({-200}), vec({1})).item() == 200);  // the logarithm of 0 would be infinite
    const Tensor zero = leaf(vec({0}));
    bce_with_logits(zero, vec({0})).backward();
    CHECK(zero.grad().item() == Approx(0.5));
}

TEST_CASE("everyday: new tensors", "[tensor][values]") {
    CHECK(same(Tensor::ones({2, 2}), {1, 1, 1, 1}));
    CHECK(same(Tensor::arange(4), {0, 1, 2, 3}));
    CHECK(same(Tensor::arange(1, 2, 0.25), {1, Real(1.25), Real(1.5), Real(1.75)}));
    CHECK(same(Tensor::arange(3, 0, -1), {3, 2, 1}));
    CHECK(Tensor::arange(2, 2).shape() == Shape({0}));
    CHECK(Tensor::arange(2, 1).numel() == 0);
    CHECK(same(Tensor::arange(2.5), {0, 1, 2}));
    const Tensor u = Tensor::rand({1000}, Rng(1)), n = Tensor::randn({1000}, Rng(1));
    CHECK(sum((u >= 0) * (u < 1)).item() == 1000);
    CHECK(mean(u).item() == Approx(0.5).margin(0.03));
    CHECK(mean(n).item() == Approx(0).margin(0.1));
    CHECK(mean(n * n).item() == Approx(1).margin(0.15));
    CHECK(same_bits(Tensor::randn({3}, Rng(1)), slice(n, 0, 0, 3)));
    CHECK(n.data()[7] == static_cast<Real>(Rng(1).normal(7)));
}

// More numbers than a thread makes at a time.
TEST_CASE("everyday: a large new tensor has the numbers that each of them is drawn as alone",
          "[tensor][values]") {
    const int64_t n = 40'000;
    const Rng rng(1);
    const Tensor normal = Tensor::randn({n}, rng), uniform = Tensor::rand({n}, rng),
                 counted = Tensor::arange(static_cast<double>(n));
    int64_t wrong = 0;
    for (int64_t i = 0; i < n; ++i) {
        const auto number = static_cast<uint64_t>(i);
        wrong += normal.data()[i] != static_cast<Real>(rng.normal(number));
        wrong += !(std::abs(static_cast<double>(uniform.data()[i]) - rng.uniform(number)) <= 1e-6);
        wrong += counted.data()[i] != static_cast<Real>(i);
    }
    CHECK(wrong == 0);
}
