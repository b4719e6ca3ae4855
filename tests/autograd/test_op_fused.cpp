// Fused operations whose sums run in the order of the composition: values and gradients are equal to the bit.
// (Each beside its plain form: test_plain.cpp.)
#include <functional>

#include "autograd/ops.h"
#include "tests/autograd/values.h"
#include "tests/catch.h"

using namespace plaingrad;  // NOLINT
using namespace autograd;   // NOLINT
using namespace tests;      // NOLINT

namespace {

using Inputs = std::vector<Tensor>;
using Function = std::function<Tensor(const Inputs&)>;

// What f returns, and the gradients of its sum.
Inputs results(const Function& f, const Inputs& inputs) {
    Inputs x;
    for (const Tensor& input : inputs)
        x.push_back(leaf(input));
    Inputs found = {f(x)};
    found[0].backward(Tensor::ones(found[0].shape()));
    for (const Tensor& input : x)
        found.push_back(input.grad());
    return found;
}

void check_same_bits(const Inputs& inputs, const Function& fused, const Function& composed) {
    const Inputs a = results(fused, inputs), b = results(composed, inputs);
    for (std::size_t i = 0; i < a.size(); ++i) {
        INFO("number " << i);
        CHECK(same_bits(a[i], b[i]));
    }
}

}  // namespace

TEST_CASE("fused: the residual connection with a layer norm", "[ops][fused]") {
    const Rng rng = Rng(3).fork("dropout");
    const Inputs all = {random({3, 7, 37}, 1), random({3, 7, 37}, 2), random({37}, 3), random({37}, 4)};
    for (const Real p : {Real(0), Real(0.3)})
        check_same_bits(
            all, [&](const Inputs& x) { return residual_norm(x[0], x[1], p, rng, x[2], x[3], Real(1e-3)); },
            [&](const Inputs& x) {
                return layer_norm(x[0] + dropout(x[1], p, rng), x[2], x[3], Real(1e-3));
            });
}

TEST_CASE("fused: gated units", "[ops][fused]") {
    for (const Activation f : {Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu})
        check_same_bits(
            {random({37, 70}, 2)}, [=](const Inputs& x) { return glu(x[0], f); },
            [=](const Inputs& x) { return activation(slice(x[0], 1, 0, 35), f) * slice(x[0], 1, 35, 70); });
}

// 1,100 rows are two whole chunks and a part.
TEST_CASE("fused: the output layer with its loss", "[ops][fused]") {
    for (const int64_t rows : {1, 6, 512, 513, 1100})
        for (const Real smoothing : {Real(0), Real(0.1)})
            for (const Real scale : {Real(1), Real(0.25)}) {
                INFO(rows << " rows, smoothing " << smoothing << ", scale " << scale);
                std::vector<int32_t> ids;
                for (int64_t i = 0; i < rows; ++i)
                    ids.push_back(static_cast<int32_t>(i * 7 % 19));
                const Tokens targets(1, rows, ids);
                const CrossEntropyOptions options = {.ignore = 7, .label_smoothing = smoothing};
                check_same_bits(
                    {random({1, rows, 24}, 1), random({19, 24}, 2)},
                    [&](const Inputs& x) {
                        return linear_cross_entropy(x[0], x[1], {}, targets, options) * scale;
                    },
                    [&](const Inputs& x) {
                        return cross_entropy(linear_transposed(x[0], x[1]), targets, options) * scale;
                    });
            }
}
