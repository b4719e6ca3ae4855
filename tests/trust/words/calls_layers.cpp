// Layers: sizes and options that cannot be built, tensors that do not fit. Optimizers, schedules, the
// training loop.
#include "autograd/ops.h"
#include "nn/attention.h"
#include "nn/dropout.h"
#include "nn/embedding.h"
#include "nn/feed_forward.h"
#include "nn/key_value_cache.h"
#include "nn/linear.h"
#include "nn/norm.h"
#include "nn/parallel/data_parallel.h"
#include "nn/positional_encoding.h"
#include "nn/probe.h"
#include "nn/schedule.h"
#include "nn/training.h"
#include "tests/trust/words/calls.h"
#include "tests/trust/words/small.h"

namespace plaingrad::trust::words {
namespace {

using namespace nn;  // NOLINT

// Two members of one name.
struct Twins {
    Linear one{2, 2, kRng}, other{2, 2, kRng};
    void visit(Visitor& v) const {
        v("layer", one);
        v("layer", other);
    }
};

MultiHeadAttention attention(const MultiHeadOptions& options = {}) { return {8, 2, kRng, options}; }
void attend_with_gradient() {
    KeyValueCache none;
    attention()(t({1, 1, 8}), {.mode = kEval, .cache = &none});
}
void append(const Tensor& next) {
    KeyValueCache two(t({2, 3, 8}));
    two.append(next);
}

struct Model {
    Linear layer{2, 2, kRng};
    std::vector<NamedParameter> all = parameters(layer);
};
Adam adam(const AdamOptions& options) { return {Model().all, options}; }
Sgd sgd(const SgdOptions& options) { return {Model().all, options}; }
const std::function<double(int64_t)> kRate = [](int64_t) { return 0.1; };
void trained(const TrainingOptions& options, Real factor = 1) {
    const Model model;
    Adam optimizer(model.all);
    const auto loss = [&](int64_t, const Mode&) {
        return autograd::sum(model.layer(mul(t({1, 2}), factor)));
    };
    train(optimizer, loss, options);
}
// Of a team of one, which is not cut, or in two parts.
void summed(const StepLoss& loss, int64_t parts = 1) {
    const Model model;
    Gradients gradients(model.all, alone(), parts);
    gradients.backward(loss, {.parts = parts});
    gradients.sum();
}

}  // namespace

Calls calls_of_layers() {
    return {
        CALL(Parameter(Tensor())),
        CALL(Linear(-1, 2, kRng)),
        CALL(Linear(int64_t{1} << 40, int64_t{1} << 40, kRng)),
        CALL(Linear(3, 4, kRng)(t({2, 4}))),
        CALL(KeyValueCache(t({2, 3}))),
        CALL(attend_with_gradient()),
        CALL(PositionalEncoding(Positions::sinusoidal, 5, 8, kRng)(t({2, 3, 1}), kEval)),
        CALL(Embedding(4, 2, kRng)(Tokens(1, 1, {4}))),
        CALL(Norm(4, {.eps = 0})),
        CALL(Norm(4)(t({2, 3}))),
        CALL(Norm(4, {.kind = NormKind::rms})(t({2, 3}))),
        CALL(Norm(4).of_residual(t({2, 4}), t({2, 3}), 0, kRng)),
        CALL(Norm(4).of_residual(t({2, 4}), t({2, 4}), 1, kRng)),
        CALL(Dropout(1, kRng)),
        CALL(Dropout(Real(0.5), kRng)(kNone, Mode::train(kRng))),
        CALL(FeedForward(4, 8, kRng)(t({2, 3}), kEval)),
        CALL(PositionalEncoding(Positions::sinusoidal, 10, 4, kRng)(t({1, 11, 4}), kEval)),
        CALL(PositionalEncoding(Positions::sinusoidal, 10, 4, kRng)(t({1, 1, 4}), kEval, -1)),
        CALL(PositionalEncoding(Positions::learned, 10, 4, kRng)(kNone, kEval)),
        CALL(check_options({.width = 3}, 4)),
        CALL(check_options({.base = 0}, 4)),
        CALL(check_options({.scaling = RotaryScaling::linear, .factor = 0}, 4)),
        CALL(check_options({.scaling = RotaryScaling::llama3, .low_frequency_factor = 0}, 4)),
        CALL(check_options({.scaling = RotaryScaling::llama3, .original_length = 0}, 4)),
        CALL(Rotary(10, 4, {})(t({1, 11, 4}), 1, 0)),
        CALL(Rotary(10, 4, {})(t({1, 2, 4}), 2, 0)),
        CALL(MultiHeadAttention(8, 0, kRng)),
        CALL(CrossAttention(8, 3, kRng)),
        CALL(attention({.n_kv_heads = 3})),
        CALL(attention({.head_dim = -1})),
        CALL(attention()(t({2, 8}), {.mode = kEval})),
        CALL(attention()(t({1, 2, 8}), {.mask = Mask::key_counts({3}), .mode = kEval})),
        CALL(CrossAttention(8, 2, kRng)(t({1, 2, 8}), t({2, 2, 8}), {.mode = kEval})),
        CALL(append(t({3, 1, 8}))),
        CALL(append(t({2, 1, 6}))),
        CALL(all_parameters(Twins())),
        CALL(copy_values(parameters(Linear(2, 3, kRng)), parameters(Linear(3, 2, kRng)))),
        CALL(copy_values(parameters(Linear(2, 3, kRng)), parameters(Linear(2, 3, kRng, {.bias = false})))),
        CALL(copy_values(parameters(Norm(3)), parameters(Linear(3, 3, kRng)))),
        CALL(Probe().of(Linear(2, 2, kRng))),
    };
}

Calls calls_of_training() {
    return {
        CALL(adam({.lr = -1})),
        CALL(adam({.beta1 = 1})),
        CALL(adam({.eps = 0})),
        CALL(adam({.weight_decay = -1})),
        CALL(Adam({{"empty", Tensor()}})),
        CALL(sgd({.lr = -1})),
        CALL(sgd({.momentum = 1})),
        CALL(sgd({.weight_decay = -1})),
        CALL(Sgd({{"empty", Tensor()}})),
        CALL(adam({}).step(-1)),
        CALL(adam({}).step(1, kNan)),
        CALL(adam({}).set_steps(-1, {0, 0})),
        CALL(adam({}).set_steps(3, {1})),
        CALL(clip_scale(1, 0)),
        CALL(WarmupInverseSqrt()(0)),
        CALL(CosineSchedule{.lr = 1, .total = 10}(0)),
        CALL(trained({})),
        CALL(trained({.steps = -1, .learning_rate = kRate})),
        CALL(trained({.steps = 3, .learning_rate = kRate}, std::numeric_limits<Real>::quiet_NaN())),
        CALL(summed({})),
        CALL(summed({}, 2)),
        CALL(summed({.loss = Tensor::full({2}, 1), .tokens = 1})),
        CALL(summed({.loss = Tensor::full({1}, 1), .tokens = 1})),
        CALL(summed({.loss = Tensor::full({1}, 1)}, 2)),
        CALL(Gradients(Model().all, alone(), 0)),
    };
}

}  // namespace plaingrad::trust::words
