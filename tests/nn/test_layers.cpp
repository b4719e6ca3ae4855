// Layers: the values they compute, their shapes, and errors.
#include <sstream>

#include "autograd/inspect.h"
#include "nn/attention.h"
#include "nn/embedding.h"
#include "nn/feed_forward.h"
#include "nn/norm.h"
#include "nn/positional_encoding.h"
#include "tests/autograd/values.h"
#include "tests/catch.h"

using namespace plaingrad;  // NOLINT
using namespace nn;         // NOLINT
using namespace tests;      // NOLINT

static void put(const Tensor& parameter, const std::vector<Real>& values) {
    REQUIRE(parameter.numel() == length(values));
    std::copy(values.begin(), values.end(), parameter.mutable_data());
}

TEST_CASE("Linear: x W + b, the weight as (in, out)", "[nn][layers]") {
    const Linear layer(2, 3, Rng(1));
    put(layer.weight, {1, 2, 3, 10, 20, 30});
    put(layer.bias, {Real(0.5), 0, -1});
    const Tensor y = layer(Tensor::from({1, 2, 2}, {1, 1, 2, -1}));
    CHECK(y.shape() == Shape({1, 2, 3}));
    CHECK(y.to_vector() == std::vector<Real>{Real(11.5), 22, 32, Real(-7.5), -16, -25});

    const Linear without(2, 3, Rng(1), {.bias = false});
    CHECK(parameters(without).size() == 1);
    put(without.weight, {1, 2, 3, 10, 20, 30});
    CHECK(without(Tensor::from({1, 2}, {1, 1})).to_vector() == std::vector<Real>{11, 22, 33});
    CHECK(error_of([&] { layer(Tensor::zeros({1, 3})); }) != "");
}

// layer(x) of one row.
static void check_row(const Norm& layer, const std::vector<Real>& x, const std::vector<double>& y,
                      double within = 1e-4) {
    INFO(x[0] << " ...");
    CHECK(worst_error(layer(Tensor::from({1, length(x)}, x)), y) < within);
}

// More values are in tests/ops/.
TEST_CASE("LayerNorm: biased variance, eps inside the root", "[nn][layers]") {
    const Norm layer(4), without(4, {.bias = false});
    CHECK(layer.eps == Real(1e-5));
    // The other variant, unbiased deviation, eps outside, would begin with 1.5.
    check_row(layer, {1, 0, 0, 0}, {1.7320, -0.5773, -0.5773, -0.5773});
    put(layer.gain, {1, 2, 3, 4});
    put(layer.bias, {0, 0, 0, 1});
    check_row(layer, {1, 0, 0, 0}, {1.7320, -1.1547, -1.7320, -1.3094});
    REQUIRE((parameters(without).size() == 1 && parameters(without)[0].name == "gain"));
    put(without.gain, {1, 2, 3, 4});
    check_row(without, {1, 0, 0, 0}, {1.7320, -1.1547, -1.7320, -2.3094});

    for (const Real eps : {Real(0), Real(-1), Real(HUGE_VAL), Real(NAN)})
        CHECK(contains(error_of([&] { Norm(4, {.eps = eps}); }), "[Norm] eps must be positive and finite"));
    check_row(Norm(4, {.eps = 3, .bias = false}), {1, -1, 1, -1}, {.5, -.5, .5, -.5}, 1e-6);  // variance 1
}

TEST_CASE("LayerNorm: a constant row passes a finite gradient", "[nn][layers]") {
    const Norm layer(4);
    Tensor x = Tensor::full({1, 4}, 2);
    x.require_grad();
    autograd::sum(layer(x) * Tensor::from({1, 4}, {1, -1, 2, 0})).backward();
    // (dy - mean(dy)) / sqrt(eps)
    CHECK(worst_error(x.grad(), std::vector<double>{158.11, -474.34, 474.34, -158.11}) < 1e-3);
}

TEST_CASE("Norm: each kind is a function of its own, the same of a tensor and of a sum", "[nn][layers]") {
    const Tensor x = random({2, 3, 4}, 1), y = random({2, 3, 4}, 2);
    std::vector<Tensor> results;
    for (std::size_t kind = 0; kind < std::size(kNormKindNames); ++kind) {
        INFO(kNormKindNames[kind]);
        const Norm layer(4, {.kind = static_cast<NormKind>(kind)});
        const Tensor result = layer(x + y);
        CHECK(worst_error(layer.of_residual(x, y, 0, Rng(1)), result) < 1e-6);
        const Norm wide(4, {.kind = static_cast<NormKind>(kind), .eps = 3});
        CHECK(worst_error(wide.of_residual(x, y, 0, Rng(1)), wide(x + y)) < 1e-6);
        CHECK(worst_error(wide(x + y), result) > 1e-3);
        for (const Tensor& other : results)
            CHECK(worst_error(result, other) > 1e-3);
        results.push_back(result);
    }
}

TEST_CASE("Norm: RMS norm keeps the mean and has no bias", "[nn][layers]") {
    const Norm layer(4, {.kind = NormKind::rms, .eps = Real(1e-6)});
    REQUIRE(parameters(layer).size() == 1);
    put(layer.gain, {1, 2, 3, -1});
    check_row(layer, {1, 7, 5, 5}, {.2, 2.8, 3, -1}, 1e-6);
}

TEST_CASE("Embedding: rows by id, zeros for padding", "[nn][layers]") {
    const Embedding layer(4, 2, Rng(1));
    CHECK(layer.table->shape() == Shape({4, 2}));
    put(layer.table, {9, 9, 1, 2, 3, 4, 5, 6});
    const Tensor y = layer(Tokens(2, 2, {3, 1, 2, 0}, 0));
    CHECK(y.shape() == Shape({2, 2, 2}));
    CHECK(y.to_vector() == std::vector<Real>{5, 6, 1, 2, 3, 4, 0, 0});
    CHECK(layer(Tokens(1, 1, {0})).to_vector() == std::vector<Real>{9, 9});  // no padding declared
    const std::string error = error_of([&] { layer(Tokens(2, 2, {3, 1, 2, 4})); });
    for (const char* part : {"id 4", "row 1, position 1", "vocabulary of 4"})
        CHECK(contains(error, part));
    CHECK(error_of([] { Tokens(1, 2, {1, -1}); }) != "");
}

TEST_CASE("sinusoidal positions: the paper's formula, from any first", "[nn][layers]") {
    const PositionalEncoding layer(Positions::sinusoidal, 100, 6, Rng(1));
    CHECK(layer.max_length == 100);
    const Tensor both = layer(Tensor::zeros({2, 100, 6}), Mode::eval());
    CHECK(both.shape() == Shape({2, 100, 6}));
    CHECK(same_bits(layer.encodings(), both[0]));
    CHECK(same_bits(layer.encodings(), both[1]));
    const std::vector<double> table = doubles(both[0]);
    for (const std::size_t position : {0u, 1u, 2u, 17u, 99u})
        for (std::size_t i = 0; i < 3; ++i) {
            const double angle =
                static_cast<double>(position) / std::pow(10000.0, 2 * static_cast<double>(i) / 6);
            CHECK(table[6 * position + 2 * i] == Approx(std::sin(angle)).margin(1e-6));
            CHECK(table[6 * position + 2 * i + 1] == Approx(std::cos(angle)).margin(1e-6));
        }
    // Literal numbers, as the formula above could have the same mistake.
    CHECK(table[6] == Approx(0.841471));                                       // sin 1
    CHECK(table[7] == Approx(0.540302));                                       // cos 1
    CHECK(table[8] == Approx(0.0463992));                                      // sin 10000^(-1/3)
    CHECK(table[10] == Approx(0.00215443));                                    // sin 10000^(-2/3)
    const Tensor later = layer(Tensor::full({1, 3, 6}, 1), Mode::eval(), 17);  // added
    for (int64_t i = 0; i < 18; ++i)
        CHECK(later.data()[i] == both.data()[17 * 6 + i] + 1);
    const std::vector<double> odd =  // ends with a sine
        doubles(PositionalEncoding(Positions::sinusoidal, 4, 5, Rng(1)).encodings());
    CHECK(odd[5 + 3] == Approx(std::cos(std::pow(10000.0, -0.4))));
    CHECK(odd[5 + 4] == Approx(std::sin(std::pow(10000.0, -0.8))));
}

TEST_CASE("positions: beyond the maximum length, an error says so, also where nothing is added",
          "[nn][layers]") {
    using enum Positions;
    for (const Positions kind : {sinusoidal, learned, rotary, none}) {
        const PositionalEncoding layer(kind, 4, 6, Rng(1));
        const Tensor x = random({1, 1, 6}, 1);
        CHECK(layer(x, Mode::eval(), 3).same_memory(x) == (kind == rotary || kind == none));
        CHECK(parameters(layer).empty() == (kind != learned));
        const auto error = [&](int64_t length, int64_t first) {
            return error_of([&] { layer(Tensor::zeros({1, length, 6}), Mode::eval(), first); });
        };
        CHECK((error(4, 0) == "" && error(1, 3) == ""));
        for (const std::string& said : {error(5, 0), error(1, 4)}) {
            CHECK(contains(said, "position 4"));
            CHECK(contains(said, "length of 4"));
        }
    }
}

TEST_CASE("learned positions: each is a row of the table", "[nn][layers]") {
    const PositionalEncoding layer(Positions::learned, 3, 2, Rng(1));
    CHECK(layer.table->shape() == Shape({3, 2}));
    put(layer.table, {1, 2, 3, 4, 5, 6});
    CHECK(layer(Tensor::full({2, 2, 2}, 10), Mode::eval()).to_vector() ==
          std::vector<Real>{11, 12, 13, 14, 11, 12, 13, 14});
    Probe seen;
    CHECK(layer(Tensor::full({1, 2, 2}, 10), Mode::eval(&seen), 1).to_vector() ==
          std::vector<Real>{13, 14, 15, 16});
    CHECK(seen.of(layer).to_vector() == std::vector<Real>{3, 4, 5, 6});
}

TEST_CASE("FeedForward: two layers with the activation between", "[nn][layers]") {
    const Tensor x = random({2, 3, 5}, 1);
    for (const Activation f : {Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu}) {
        const FeedForward layer(5, 13, Rng(2), {.activation = f, .init = Init::pytorch});
        const Tensor hidden = autograd::matmul(x, layer.linear1.weight) + layer.linear1.bias.tensor();
        const Tensor expected = autograd::matmul(autograd::activation(hidden, f), layer.linear2.weight) +
                                layer.linear2.bias.tensor();
        CHECK(worst_error(layer(x, Mode::eval()), expected) < 1e-5);
        CHECK(parameter_count(layer) == 5 * 13 + 13 + 13 * 5 + 5);
    }
}

TEST_CASE("FeedForward: gated, a product of two layers", "[nn][layers]") {
    const FeedForward layer(2, 2, Rng(2), {.activation = Activation::silu, .gated = true, .bias = false});
    REQUIRE(layer.linear1.weight->shape() == Shape({2, 4}));  // gate | up
    put(layer.linear1.weight, {1, 0, 2, 0, 0, -1, 0, 3});
    put(layer.linear2.weight, {1, 10, 0, 1});
    const auto silu = [](double x) { return x / (1 + std::exp(-x)); };
    const double first = silu(2) * 4, second = silu(-3) * 9;  // of x = (2, 3): gates 2 and -3, up 4 and 9
    CHECK(worst_error(layer(Tensor::from({1, 2}, {2, 3}), Mode::eval()),
                      std::vector<double>{first, 10 * first + second}) < 1e-5);
    // Each of the two begins as a layer of its own would: Xavier's bound has their own width.
    const FeedForward wide(16, 400, Rng(9), {.gated = true});
    const double bound = std::sqrt(6.0 / 416);
    double largest = 0;
    for (const double w : doubles(wide.linear1.weight))
        largest = std::fmax(largest, std::abs(w));
    CHECK((largest <= bound && largest > 0.99 * bound));
    CHECK(parameter_count(wide) == 16 * 800 + 800 + 400 * 16 + 16);
}

// One op keeps less in memory than its parts.
TEST_CASE("FeedForward: one op, unless dropout comes between, also when a probe looks", "[nn][layers]") {
    const Tensor x = random({2, 3, 4}, 1);
    for (const bool gated : {false, true}) {
        const std::string whole = "feed_forward";
        const auto drawn = [&](Real rate, const Mode& mode) {
            const FeedForward layer(4, 6, Rng(1), {.gated = gated, .dropout = rate});
            std::ostringstream out;
            autograd::print_graph(layer(x, mode), out);
            return out.str();
        };
        Probe probe;
        const std::string top = "1 " + whole + " (2, 3, 4)";
        CHECK(drawn(0, Mode::train(Rng(1))).starts_with(top));
        CHECK(drawn(Real(0.5), Mode::eval()).starts_with(top));
        CHECK_FALSE(contains(drawn(Real(0.5), Mode::train(Rng(1))), whole));
        CHECK(drawn(0, Mode::eval(&probe)).starts_with(top));
    }
}

TEST_CASE("probe: sees the hidden values, changes no bit, and says what it has not seen", "[nn][layers]") {
    const FeedForward layer(4, 6, Rng(1), {.dropout = Real(0.5)}), other(4, 6, Rng(2));
    const Tensor x = random({2, 3, 4}, 1);
    Probe seen;
    const Tensor y = layer(x, Mode::eval(&seen));
    CHECK(same_bits(y, layer(x, Mode::eval())));
    const auto expected = [&](const Tensor& in) { return autograd::relu(layer.linear1(in)); };
    const Tensor hidden = seen.of(layer);
    CHECK(same_bits(hidden, expected(x)));
    CHECK(hidden.shape() == Shape({2, 3, 6}));
    layer(x * 2, Mode::eval(&seen));
    CHECK(same_bits(seen.of(layer), expected(x * 2)));  // that of the last pass
    CHECK(same_bits(hidden, expected(x)));              // which changes no value of before
    CHECK_THROWS_WITH(seen.of(other), "[Probe] no pass with this probe went through that FeedForward");
    CHECK_THROWS_WITH(seen.of(layer.linear1), "[Probe] no pass with this probe went through that Linear");
    const MultiHeadAttention attention(4, 2, Rng(1));  // a pass that fails shows nothing
    CHECK_THROWS(attention(x, {.mask = Mask::key_counts({9, 9, 9}), .mode = Mode::eval(&seen)}));
    CHECK_THROWS(seen.of(attention));
    // In training too: gradients and dropout are as without.
    for (const Real rate : {Real(0), Real(0.5)}) {
        const FeedForward trained(4, 6, Rng(1), {.dropout = rate});
        const auto gradient = [&](Probe* probe) {
            zero_grad(trained);
            sum(trained(x, Mode::train(Rng(3), probe))).backward();
            return trained.linear1.weight->grad().clone();
        };
        const Tensor without = gradient(nullptr);
        CHECK(same_bits(without, gradient(&seen)));
        CHECK_FALSE(seen.of(trained).needs_grad());
    }
}
