// Fused operations whose sums run in the composition's order: values and gradients are equal to the bit.
// (Those that are only nearly equal: test_plain.cpp.)
#include <functional>

#include "autograd/plain.h"
#include "tests/autograd/values.h"
#include "tests/catch.h"

using namespace plaingrad;  // NOLINT
using namespace autograd;   // NOLINT
using namespace tests;      // NOLINT

namespace {

using Inputs = std::vector<Tensor>;
using Function = std::function<Tensor(const Inputs&)>;

// The gradients of Σ weight f(inputs), after an earlier contribution to each where `twice`.
Inputs gradients(const Function& f, const Inputs& inputs, bool twice, Tensor* value) {
    Inputs x, found;
    for (const Tensor& input : inputs)
        x.push_back(leaf(input));
    for (const Tensor& input : x)
        if (twice)
            sum(mul(input, input)).backward();
    *value = f(x);
    value->backward(Tensor::full(value->shape(), 1));
    for (const Tensor& input : x)
        found.push_back(input.grad());
    return found;
}

// also_added: where an earlier gradient comes first, the sums still run in one order.
void check_same_bits(const char* name, const Inputs& inputs, const Function& fused, const Function& composed,
                     bool also_added = true) {
    for (const bool twice : {false, also_added}) {
        INFO(name << (twice ? ", added to a gradient" : ""));
        Tensor a, b;
        const Inputs da = gradients(fused, inputs, twice, &a), db = gradients(composed, inputs, twice, &b);
        CHECK(same_bits(a, b));
        for (std::size_t i = 0; i < da.size(); ++i) {
            INFO("gradient " << i);
            CHECK(same_bits(da[i], db[i]));
        }
    }
}

// The same of an op and its plain form.
void check_same_bits(const char* name, const Inputs& inputs, const Function& f) {
    check_same_bits(name, inputs, f, [&](const Inputs& x) {
        const Plain guard;
        return f(x);
    });
}

}  // namespace

TEST_CASE("fused: the residual connection, with and without a layer norm", "[ops][fused]") {
    const Rng rng = Rng(3).fork("dropout");
    for (const Real p : {Real(0), Real(0.3)}) {
        const Inputs xy = {random({3, 7, 37}, 1), random({3, 7, 37}, 2)};
        check_same_bits("residual", xy, [&](const Inputs& x) { return residual(x[0], x[1], p, rng); });
        const Inputs all = {xy[0], xy[1], random({37}, 3), random({37}, 4)};
        check_same_bits(
            "residual_norm", all,
            [&](const Inputs& x) { return residual_norm(x[0], x[1], p, rng, x[2], x[3], Real(1e-3)); },
            [&](const Inputs& x) {
                return layer_norm(x[0] + dropout(x[1], p, rng), x[2], x[3], Real(1e-3));
            });
    }
}

TEST_CASE("fused: an element dropped from a sub-layer has no effect, even if it is NaN", "[ops][fused]") {
    const Tensor x = random({1, 64}, 1), y = Tensor::full({1, 64}, kNan);
    const Tensor out = residual(x, y, Real(0.5), Rng(1)),
                 kept = dropout(Tensor::full({1, 64}, 1), Real(0.5), Rng(1));
    for (int64_t i = 0; i < 64; ++i)
        CHECK((kept.data()[i] == 0 ? out.data()[i] == x.data()[i] : std::isnan(out.data()[i])));
}

TEST_CASE("fused: linear with an activation", "[ops][fused]") {
    for (const Activation f : {Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu}) {
        INFO(static_cast<int>(f));
        const Inputs all = {random({2, 7, 37}, 1), random({37, 70}, 2), random({70}, 3), random({70, 21}, 4),
                            random({21}, 5)};
        check_same_bits("feed_forward", all,
                        [=](const Inputs& x) { return feed_forward(x[0], x[1], x[2], x[3], x[4], f); });
        check_same_bits("glu", {all[1]}, [=](const Inputs& x) { return glu(x[0], f); });
        check_same_bits("feed_forward, gated", {all[0], all[1], all[2], random({35, 21}, 4), all[4]},
                        [=](const Inputs& x) { return feed_forward(x[0], x[1], x[2], x[3], x[4], f, true); });
    }
}

// 1,100 rows are two whole chunks and a part.
TEST_CASE("fused: the output layer with its loss", "[ops][fused]") {
    for (const int64_t rows : {1, 6, 512, 513, 1100}) {
        std::vector<int32_t> ids;
        for (int64_t i = 0; i < rows; ++i)
            ids.push_back(static_cast<int32_t>(i * 7 % 19));
        const Tokens targets(1, rows, ids);
        const Inputs inputs = {random({1, rows, 24}, 1), random({19, 24}, 2)};
        for (const Real smoothing : {Real(0), Real(0.1)}) {
            const CrossEntropyOptions options = {.ignore = 7, .label_smoothing = smoothing};
            INFO(rows << " rows, smoothing " << smoothing);
            check_same_bits(
                "linear_cross_entropy", inputs,
                [&](const Inputs& x) { return linear_cross_entropy(x[0], x[1], {}, targets, options); },
                [&](const Inputs& x) {
                    return cross_entropy(linear_transposed(x[0], x[1]), targets, options);
                },
                rows <= 512);
            check_same_bits(
                "scaled", inputs,
                [&](const Inputs& x) {
                    return linear_cross_entropy(x[0], x[1], {}, targets, options) * Real(0.25);
                },
                [&](const Inputs& x) {
                    return cross_entropy(linear_transposed(x[0], x[1]), targets, options) * Real(0.25);
                },
                rows <= 512);
        }
    }
}

TEST_CASE("fused: the output layer's loss computes only the gradients that are needed", "[ops][fused]") {
    const Tokens targets(1, 6, {0, 1, 2, 3, 4, 0});
    const Tensor x = random({6, 8}, 1), weight = random({5, 8}, 2), bias = random({5}, 3);
    const Tensor plain = linear_cross_entropy(x, weight, bias, targets);
    CHECK_FALSE(plain.needs_grad());
    {
        const NoGrad no_grad;
        CHECK(same_bits(linear_cross_entropy(leaf(x), leaf(weight), leaf(bias), targets), plain));
    }
    for (const int64_t rows : {600, 1100}) {  // two and three chunks: the bias's sum runs over all of them
        const Tokens many(1, rows, std::vector<int32_t>(static_cast<std::size_t>(rows), 3));
        const Tensor y = random({rows, 8}, 4), one = leaf(bias), two = leaf(bias);
        linear_cross_entropy(y, weight, one, many).backward();
        cross_entropy(linear_transposed(y, weight, two), many).backward();
        CHECK(worst_error(one.grad(), two.grad()) < 1e-6);
    }
    const Tensor only_bias = leaf(bias);
    linear_cross_entropy(x, weight, only_bias, targets).backward();
    const Tensor again = leaf(bias);
    cross_entropy(linear_transposed(x, weight, again), targets).backward();
    CHECK(same_bits(only_bias.grad(), again.grad()));
}
