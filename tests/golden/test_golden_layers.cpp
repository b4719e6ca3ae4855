// Layers, losses and attention agree with PyTorch.
#include "nn/attention.h"
#include "nn/embedding.h"
#include "nn/feed_forward.h"
#include "nn/norm.h"
#include "nn/optim.h"
#include "tests/golden/golden.h"

using namespace plaingrad;  // NOLINT
using namespace nn;         // NOLINT
using namespace tests;      // NOLINT

namespace {

Case function(Tensor (*f)(const Tensor&)) {
    return [=](const Golden& golden, Results& results) {
        const Tensor x = golden.input("x");
        results.output("y", f(x));
        results.input_gradient("x", x);
    };
}

Case cross_entropy(Real smoothing) {
    return [=](const Golden& golden, Results& results) {
        const Tensor x = golden.input("x");
        results.loss(autograd::cross_entropy(x, golden.ids("targets"), {.label_smoothing = smoothing}));
        results.input_gradient("x", x);
    };
}

Case clip(double limit) {
    return [=](const Golden& golden, Results& results) {
        std::vector<NamedParameter> parameters;
        for (const std::string name : {"a", "b"}) {
            const Tensor gradient = golden.tensor("input/" + name);
            const Tensor w = leaf(Tensor::zeros(gradient.shape()));
            w.backward(gradient);
            parameters.push_back({name, w});
        }
        const double norm = grad_norm(parameters);
        const Tensor scale(static_cast<Real>(clip_scale(norm, limit)));
        results.put("loss/norm", Tensor(static_cast<Real>(norm)));
        for (const NamedParameter& p : parameters)
            results.put("gradient/" + p.name, p.tensor.grad() * scale);
    };
}

const auto kApply = [](const auto& module, const Tensor& x) { return module(x); };
const auto kEvaluate = [](const auto& module, const Tensor& x) { return module(x, Mode::eval()); };

const Cases kLayers = {
    {"linear", layer(
                   +[] { return Linear(5, 7, Rng(1)); }, kApply)},
    {"linear_no_bias", layer(
                           +[] { return Linear(5, 7, Rng(1), {.bias = false}); }, kApply)},
    {"layer_norm_1e-5", layer(
                            +[] { return Norm(5); }, kApply)},
    {"layer_norm_1e-12", layer(
                             +[] { return Norm(5, {.eps = Real(1e-12)}); }, kApply)},
    {"feed_forward", layer(
                         +[] { return FeedForward(5, 13, Rng(1)); }, kEvaluate)},
    {"gelu_erf", function([](const Tensor& x) { return autograd::gelu(x); })},
    {"gelu_tanh", function([](const Tensor& x) { return autograd::gelu_tanh(x); })},
    {"softmax", function([](const Tensor& x) { return autograd::softmax(x); })},
    {"log_softmax", function([](const Tensor& x) { return autograd::log_softmax(x); })},
    {"cross_entropy", cross_entropy(0)},
    {"cross_entropy_smoothed", cross_entropy(Real(0.1))},
    {"clip_below", clip(1000)},
    {"clip_above", clip(3)},
    {"embedding",
     [](const Golden& golden, Results& results) {
         const Embedding module(7, 5, Rng(1));
         golden.load(module);
         results.output("y", module(golden.ids("ids")));
         results.gradients(models::state_dict(module));
     }},
};

// T = 5, S = 6 for cross-attention; of the keys 5 and 3 are real if there is padding.
Case self_attention(const Mask& mask, bool bias = true) {
    return [=](const Golden& golden, Results& results) {
        const MultiHeadAttention module(12, 3, Rng(1), {.bias = bias});
        golden.load(module);
        const Tensor x = golden.input("x");
        results.output("y", module(x, {mask, Mode::eval()}));
        results.input_gradient("x", x);
        results.gradients(models::state_dict(module));
    };
}
Case cross_attention(const Mask& mask) {
    return [=](const Golden& golden, Results& results) {
        const CrossAttention module(12, 3, Rng(1));
        golden.load(module);
        const Tensor x = golden.input("x"), memory = golden.input("memory");
        results.output("y", module(x, memory, {mask, Mode::eval()}));
        results.input_gradient("x", x);
        results.input_gradient("memory", memory);
        results.gradients(models::state_dict(module));
    };
}

const Cases kAttention = {
    {"self", self_attention(Mask::none())},
    {"self_padding", self_attention(Mask::key_counts({5, 3}))},
    {"self_causal", self_attention(Mask::causal())},
    {"self_causal_padding", self_attention(Mask::key_counts({5, 3}).and_causal())},
    {"self_no_bias", self_attention(Mask::none(), false)},
    {"cross", cross_attention(Mask::none())},
    {"cross_padding", cross_attention(Mask::key_counts({5, 3}))},
};

}  // namespace

TEST_CASE("PyTorch agrees: layers and losses", "[golden]") { check_agreement("layers", kLayers); }
TEST_CASE("PyTorch agrees: attention", "[golden]") { check_agreement("attention", kAttention); }
TEST_CASE("planted faults in golden files are noticed: layers", "[golden]") {
    check_faults_are_noticed("layers", kLayers);
    check_faults_are_noticed("attention", kAttention);
}
