// What operations compute, against plain formulas in double; with inputs on which naive code fails.
//
// Tolerances in float: one operation rounds to 6e-8 of its result, and a chain of n additions to at most
// n times that; 1e-6 serves everything of a few dozen numbers below 3 here.
#include <functional>
#include <limits>

#include "autograd/ops.h"
#include "tests/autograd/values.h"
#include "tests/catch.h"
#include "tests/reference.h"

using namespace plaingrad;  // NOLINT
using namespace autograd;   // NOLINT
using namespace tests;      // NOLINT
using reference::Row;

namespace {

constexpr double kTight = kRealIsDouble ? 1e-14 : 1e-6;

// f of each row of x, one after the other.
Row by_rows(const Tensor& x, const std::function<Row(const Row&)>& f) {
    Row all;
    const int64_t n = x.size(-1);
    for (int64_t r = 0; r < x.numel() / n; ++r) {
        const Row y = f(Row(x.data() + r * n, x.data() + (r + 1) * n));
        all.insert(all.end(), y.begin(), y.end());
    }
    return all;
}

std::vector<Row> rows_of(const Tensor& x) {
    std::vector<Row> rows;
    by_rows(x, [&](const Row& row) { return rows.push_back(row), row; });
    return rows;
}

Row map(const Tensor& x, const std::function<double(double)>& f) {
    Row y = doubles(x);
    for (double& value : y)
        value = f(value);
    return y;
}

Tensor vector(const std::vector<Real>& x) { return Tensor::from({length(x)}, x); }

}  // namespace

TEST_CASE("values: elementwise", "[ops][values]") {
    const Tensor x = random({5, 67}, 1), y = random({5, 67}, 2), positive = random({5, 67}, 3, 0.1, 9);
    const auto both = [&](const std::function<double(double, double)>& f) {
        Row out = doubles(x);
        for (std::size_t i = 0; i < out.size(); ++i)
            out[i] = f(out[i], doubles(positive)[i]);
        return out;
    };
    const double pi = std::acos(-1.0);
    CHECK(worst_error(add(x, positive), both([](double a, double b) { return a + b; })) <= kTight);
    CHECK(worst_error(sub(x, positive), both([](double a, double b) { return a - b; })) <= kTight);
    CHECK(worst_error(mul(x, positive), both([](double a, double b) { return a * b; })) <= kTight);
    CHECK(worst_error(div(x, positive), both([](double a, double b) { return a / b; })) <= kTight);
    CHECK(worst_error(add(x, Real(1.5)), map(x, [](double a) { return a + 1.5; })) <= kTight);
    CHECK(worst_error(sub(x, Real(1.5)), map(x, [](double a) { return a - 1.5; })) <= kTight);
    CHECK(worst_error(sub(Real(1.5), x), map(x, [](double a) { return 1.5 - a; })) <= kTight);
    CHECK(worst_error(mul(x, Real(1.5)), map(x, [](double a) { return a * 1.5; })) <= kTight);
    CHECK(worst_error(div(x, Real(1.5)), map(x, [](double a) { return a / 1.5; })) <= kTight);
    CHECK(worst_error(div(Real(1.5), positive), map(positive, [](double a) { return 1.5 / a; })) <= kTight);
    CHECK(worst_error(neg(x), map(x, [](double a) { return -a; })) == 0);
    CHECK(worst_error(autograd::exp(x), map(x, [](double a) { return std::exp(a); })) <= kTight);
    CHECK(worst_error(autograd::log(positive), map(positive, [](double a) { return std::log(a); })) <=
          kTight);
    CHECK(worst_error(autograd::sqrt(positive), map(positive, [](double a) { return std::sqrt(a); })) <=
          kTight);
    CHECK(worst_error(autograd::tanh(x), map(x, [](double a) { return std::tanh(a); })) <= kTight);
    CHECK(worst_error(sigmoid(x), map(x, [](double a) { return 1 / (1 + std::exp(-a)); })) <= kTight);
    CHECK(worst_error(relu(x), map(x, [](double a) { return a > 0 ? a : 0; })) == 0);
    CHECK(worst_error(autograd::abs(x), map(x, [](double a) { return std::fabs(a); })) == 0);
    CHECK(worst_error(silu(x), map(x, [](double a) { return a / (1 + std::exp(-a)); })) <= kTight);
    CHECK(same_bits(activation(x, Activation::relu), relu(x)));
    CHECK(same_bits(activation(x, Activation::gelu), gelu(x)));
    CHECK(same_bits(activation(x, Activation::gelu_tanh), gelu_tanh(x)));
    CHECK(same_bits(activation(x, Activation::silu), silu(x)));
    CHECK(worst_error(gelu(x), map(x, [](double a) { return a * std::erfc(-a / std::sqrt(2.0)) / 2; })) <=
          kTight);
    CHECK(worst_error(gelu_tanh(x), map(x, [&](double a) {
                          return a / 2 * (1 + std::tanh(std::sqrt(2 / pi) * (a + 0.044715 * a * a * a)));
                      })) <= kTight);
    CHECK(same_bits(x + y, add(x, y)));
    CHECK(same_bits(x - y, sub(x, y)));
    CHECK(same_bits(x * y, mul(x, y)));
    CHECK(same_bits(x / y, div(x, y)));
    CHECK(same_bits(-x, neg(x)));
    CHECK(same_bits(Real(2) - x, sub(Real(2), x)));
    CHECK(same_bits(Real(2) / x, div(Real(2), x)));
}

TEST_CASE("values: softmax and its logarithm", "[ops][values]") {
    for (const Shape& shape : {Shape{1}, Shape{3, 17}, Shape{2, 3, 67}, Shape{5, 1}}) {
        const Tensor x = random(shape, 1, -5, 5);
        CHECK(worst_error(softmax(x), by_rows(x, reference::softmax)) <= kTight);
        CHECK(worst_error(log_softmax(x), by_rows(x, reference::log_softmax)) <= kTight);
    }
    const Tensor x = random({2, 5, 3}, 2);
    CHECK(same_bits(softmax(x, 1), transpose(softmax(transpose(x, 1, 2)), 1, 2)));
    CHECK(same_bits(log_softmax(x, 0), transpose(log_softmax(transpose(x, 0, 2)), 0, 2)));
}

TEST_CASE("values: softmax of extreme rows", "[ops][values]") {
    const Real big = Real(1e4), huge = Real(1e30);
    for (const std::vector<Real>& row : std::vector<std::vector<Real>>{{big, -big, 0},
                                                                       {-big, -big},
                                                                       {huge, -huge, huge},
                                                                       {-huge},
                                                                       {huge},
                                                                       {0, 0, 0, 0, 0},
                                                                       {big, big - 1},
                                                                       std::vector<Real>(37, -huge)}) {
        const Tensor x = vector(row);
        CHECK(worst_error(softmax(x), reference::softmax(doubles(x))) <= kTight);
        CHECK(worst_error(log_softmax(x), reference::log_softmax(doubles(x))) <= kTight);
    }
    const Real inf = std::numeric_limits<Real>::infinity(), most = std::numeric_limits<Real>::max();
    CHECK(softmax(vector({most, -most})).to_vector() == std::vector<Real>{1, 0});
    CHECK(softmax(vector({-inf, 0, -inf})).to_vector() == std::vector<Real>{0, 1, 0});
    const std::vector<Real> nan = softmax(vector({1, kNan, 2})).to_vector();
    CHECK((nan[0] != nan[0] && nan[2] != nan[2]));  // NaN is passed on
}

TEST_CASE("values: cross-entropy", "[ops][values]") {
    const Tokens targets(2, 3, {4, 0, 16, 2, 2, 0});
    const Tensor x = random({2, 3, 17}, 1, -4, 4), huge = mul(x, Real(1e6));
    for (const int32_t ignore : {-1, 0, 2}) {
        for (const double s : {0.0, 0.1, 0.9}) {
            const CrossEntropyOptions options = {.ignore = ignore, .label_smoothing = static_cast<Real>(s)};
            for (const Tensor& logits : {x, huge}) {
                const Tensor loss = cross_entropy(logits, targets, options);
                CHECK(loss.rank() == 0);
                const double expected = reference::cross_entropy(rows_of(logits), targets.ids(), ignore, s);
                CHECK(worst_error(doubles(loss), Row{expected}) <= 2 * kTight);
            }
        }
    }
    // ln V for equal logits, 0 for a sure one, and its gradient is that of the formula.
    CHECK(worst_error(cross_entropy(Tensor::full({2, 3, 17}, 5), targets), Row{std::log(17.0)}) <= kTight);
    CHECK(cross_entropy(vector({-100, 300, 0}), Tokens(1, 1, {1})).item() == 0);
    CHECK(cross_entropy(vector({Real(1e30), 0}), Tokens(1, 1, {1})).item() == Real(1e30));
    const Tensor sure = leaf(vector({Real(-1e30), Real(1e30), 0}));
    cross_entropy(sure, Tokens(1, 1, {0})).backward();
    CHECK(sure.grad().to_vector() == std::vector<Real>{-1, 1, 0});
}

TEST_CASE("values: an ignored row may hold NaN", "[ops][values]") {
    Tensor x = leaf(random({3, 5}, 1));
    for (int i = 5; i < 10; ++i)
        x.mutable_data()[i] = kNan;
    const Tensor loss =
        cross_entropy(x, Tokens(1, 3, {1, 4, 2}), {.ignore = 4, .label_smoothing = Real(0.1)});
    CHECK(std::isfinite(loss.item()));
    loss.backward();
    const std::vector<Real> grad = x.grad().to_vector();
    CHECK(same_bits(grad, grad));
    CHECK(std::vector<Real>(grad.begin() + 5, grad.begin() + 10) == std::vector<Real>(5, 0));
}

TEST_CASE("values: layer norm", "[ops][values]") {
    const Tensor one = Tensor::full({4}, 1), zero = Tensor::zeros({4});
    // PyTorch's: the biased variance, eps inside of the root. (With the unbiased deviation and eps outside
    // of it this would be [1.5, -0.5, -0.5, -0.5].)
    const Tensor unit = layer_norm(vector({1, 0, 0, 0}), one, zero);
    CHECK(worst_error(unit, Row{1.7320046, -0.5773349, -0.5773349, -0.5773349}) <= 1e-6);
    CHECK(layer_norm(Tensor::full({4}, 37), one, zero).to_vector() == std::vector<Real>(4, 0));
    CHECK(layer_norm(Tensor::full({4}, Real(-1e4)), one, one).to_vector() == std::vector<Real>(4, 1));

    const Tensor gain = random({67}, 1), bias = random({67}, 2), x = random({2, 5, 67}, 3);
    const auto expected = [&](const Tensor& input, double eps) {
        return by_rows(input, [&](const Row& row) {
            return reference::layer_norm(row, doubles(gain), doubles(bias), eps);
        });
    };
    CHECK(worst_error(layer_norm(x, gain, bias), expected(x, static_cast<double>(Real(1e-5)))) <= 2 * kTight);
    CHECK(worst_error(layer_norm(x, gain, bias, Real(0.5)), expected(x, 0.5)) <= kTight);

    // A large mean and a small variance: one pass over x and x² would lose every digit.
    for (const double mean : {1000.0, 10000.0, -1000.0}) {
        std::vector<Real> row(67);
        for (std::size_t i = 0; i < row.size(); ++i)
            row[i] = static_cast<Real>(mean + 1e-3 * static_cast<double>(i * 29 % 67));
        const Tensor y = layer_norm(vector(row), gain, bias);
        CHECK(worst_error(y, expected(vector(row), static_cast<double>(Real(1e-5)))) <=
              (kRealIsDouble ? 1e-8 : 2e-6));
    }
}

TEST_CASE("values: RMS norm", "[ops][values]") {
    const Tensor one = Tensor::full({4}, 1);
    CHECK(worst_error(rms_norm(vector({1, 0, 0, 0}), one), Row{1.99996, 0, 0, 0}) <= 1e-6);
    CHECK(worst_error(rms_norm(vector({3, 3, -3, 3}), one, 0), Row{1, 1, -1, 1}) <=
          kTight);  // keeps the mean
    CHECK(rms_norm(Tensor::zeros({4}), one).to_vector() == std::vector<Real>(4, 0));
    for (const int64_t n : {1, 67, 257}) {  // short rows, and one by one
        const Tensor gain = random({n}, 1), x = random({2, 5, n}, 3, -1, 3);
        const auto expected =
            by_rows(x, [&](const Row& row) { return reference::rms_norm(row, doubles(gain), 0.5); });
        CHECK(worst_error(rms_norm(x, gain, Real(0.5)), expected) <= kTight);
    }
}

TEST_CASE("cross_entropy: gradients and smoothed losses are as exact for large logits", "[ops][values]") {
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

TEST_CASE("cross_entropy: the targets' padding is not counted, whatever options are set", "[ops][values]") {
    const Tokens padded(2, 3, {4, 1, 0, 2, 0, 0}, 0), counted(2, 3, padded.ids());
    const Tensor x = leaf(random({2, 3, 5}, 1));
    for (const CrossEntropyOptions& o :
         {CrossEntropyOptions{}, CrossEntropyOptions{.label_smoothing = Real(0.1)}}) {
        CrossEntropyOptions zero = o;
        zero.ignore = 0;
        const Tensor loss = cross_entropy(x, padded, o);
        CHECK(same_bits(loss, cross_entropy(x, counted, zero)));
        CHECK(!same_bits(loss, cross_entropy(x, counted, o)));
        Tensor(x).zero_grad();
        loss.backward();
        CHECK(slice(x.grad(), 1, 2, 3).to_vector() == std::vector<Real>(10, 0));
        const Tensor w = Tensor::from({5, 5}, numbers(25, 2));
        CHECK(same_bits(linear_cross_entropy(x, w, {}, padded, o),
                        linear_cross_entropy(x, w, {}, counted, zero)));
    }
}

TEST_CASE("cross_entropy: a small loss of large logits keeps its digits", "[ops][values]") {
    for (const Real base : {Real(20), Real(1000)}) {
        const Tensor logits = Tensor::from({1, 2}, {base + 10, base});
        const double expected = std::log1p(std::exp(-10.0));
        const double loss = static_cast<double>(autograd::cross_entropy(logits, Tokens(1, 1, {0})).item());
        CHECK(std::abs(loss - expected) <=
              1e-2 * expected);  // log of a sum near 1: an ulp of 1 is 0.3 % here
    }
}

TEST_CASE("values: products", "[ops][values]") {
    const Tensor a = random({2, 3, 5, 37}, 1), b = random({3, 37, 7}, 2), w = random({37, 7}, 3),
                 bias = random({7}, 4);
    const Tensor y = matmul(a, b);
    REQUIRE(y.shape() == Shape{2, 3, 5, 7});
    for (int64_t i = 0; i < 6; ++i) {
        const Row left(a.data() + i * 5 * 37, a.data() + (i + 1) * 5 * 37);
        const Row right(b.data() + i % 3 * 37 * 7, b.data() + (i % 3 + 1) * 37 * 7);
        const Row out(y.data() + i * 35, y.data() + (i + 1) * 35);
        // 37 products of up to 4: 148 * 37 * 6e-8 at the very worst.
        CHECK(worst_error(out, reference::matmul(left, right, 5, 37, 7)) <= (kRealIsDouble ? 1e-13 : 1e-5));
    }
    CHECK(same_bits(matmul(a, transpose(b, 1, 2), true), y));
    CHECK(worst_error(matmul(a, w), reference::matmul(doubles(a), doubles(w), 30, 37, 7)) <=
          (kRealIsDouble ? 1e-13 : 1e-5));
    CHECK(same_bits(linear(a, w, bias), add(matmul(a, w), bias)));
    CHECK(same_bits(linear(a, w), matmul(a, w)));
    CHECK(same_bits(linear_transposed(a, transpose(w, 0, 1), bias), linear(a, w, bias)));
}
