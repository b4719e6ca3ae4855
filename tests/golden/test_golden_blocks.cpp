// Today's decoder block agrees with PyTorch: RMS norm, SwiGLU, grouped-query attention, rotary positions,
// and a model of all four.
#include "nn/attention.h"
#include "nn/feed_forward.h"
#include "nn/norm.h"
#include "tests/golden/golden.h"
#include "tests/golden/models.h"

using namespace plaingrad;  // NOLINT
using namespace nn;         // NOLINT
using namespace tests;      // NOLINT

namespace {

template <bool bias>
FeedForward swiglu() {
    return FeedForward(5, 13, Rng(1), {.activation = Activation::silu, .gated = true, .bias = bias});
}
const auto kApply = [](const auto& module, const Tensor& x) { return module(x); };
const auto kEvaluate = [](const auto& module, const Tensor& x) { return module(x, Mode::eval()); };

const RotaryOptions kLlama3 = {.scaling = RotaryScaling::llama3, .factor = 8, .original_length = 64};

// Two heads of 16, then 3 numbers that do not turn.
Case rotary(int64_t first, const RotaryOptions& options) {
    return [=](const Golden& golden, Results& results) {
        const Rotary module(first + 5, 16, options);
        const Tensor x = golden.input("x");
        results.output("y", module(x, 2, first));
        results.input_gradient("x", x);
    };
}

MultiHeadAttention grouped() { return MultiHeadAttention(12, 4, Rng(1), {.n_kv_heads = 2, .head_dim = 3}); }
MultiHeadAttention one() {
    return MultiHeadAttention(12, 3, Rng(1), {.n_kv_heads = 1, .head_dim = 5, .bias = false});
}
MultiHeadAttention turned() { return MultiHeadAttention(12, 4, Rng(1), {.n_kv_heads = 2, .head_dim = 6}); }
template <bool turns>
Tensor attend(const MultiHeadAttention& module, const Tensor& x) {
    const Rotary table(5, 6, kLlama3);
    const Pass pass = {.mask = Mask::key_counts({5, 3}).and_causal(),
                       .mode = Mode::eval(),
                       .rotary = turns ? &table : nullptr};
    return module(x, pass);
}

void llama(const Golden& golden, Results& results) {
    const models::LanguageModel model(small_llama(), Rng(1));
    golden.load(model);
    const Tokens ids = golden.ids("ids");
    const Tensor logits = model(ids, Mode::eval());
    results.put("output/logits", rows_of(logits, ids.lengths()));
    results.loss(autograd::cross_entropy(logits, golden.ids("targets")));
    results.gradients(models::state_dict(model));
}

const Cases kBlocks = {
    {"rms_norm_1e-5", layer(
                          +[] { return Norm(5, {.kind = NormKind::rms}); }, kApply)},
    {"rms_norm_1e-12", layer(
                           +[] { return Norm(5, {.kind = NormKind::rms, .eps = Real(1e-12)}); }, kApply)},
    {"swiglu", layer(swiglu<false>, kEvaluate)},
    {"swiglu_bias", layer(swiglu<true>, kEvaluate)},
    {"rotary", rotary(0, {})},
    {"rotary_far", rotary(8000, {})},
    {"rotary_base", rotary(100, {.base = 500000})},
    {"rotary_linear", rotary(1000, {.scaling = RotaryScaling::linear, .factor = 4})},
    {"rotary_llama3", rotary(1000, kLlama3)},
    {"rotary_partial", rotary(100, {.width = 8})},
    {"grouped", layer(grouped, attend<false>)},
    {"grouped_one", layer(one, attend<false>)},
    {"grouped_rotary", layer(turned, attend<true>)},
    {"llama", llama},
};

}  // namespace

TEST_CASE("PyTorch agrees: today's decoder block", "[golden]") { check_agreement("blocks", kBlocks); }
TEST_CASE("planted faults in golden files are noticed: today's decoder block", "[golden]") {
    check_faults_are_noticed("blocks", kBlocks);
}
