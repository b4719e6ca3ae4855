// Optimizers, schedules, the training loop, teams of processes.
#include <limits>

#include "autograd/ops.h"
#include "nn/checkpoint/utf8.h"
#include "nn/linear.h"
#include "nn/parallel/data_parallel.h"
#include "nn/schedule.h"
#include "nn/training.h"
#include "tests/trust/words/calls.h"

namespace plaingrad::trust::words {
namespace {

using namespace nn;  // NOLINT

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinite = std::numeric_limits<double>::infinity();

struct Model {
    Linear layer{2, 2, Rng(1)};
    std::vector<NamedParameter> all = parameters(layer);
    StepLoss loss(Real factor) const {
        return {.loss = autograd::sum(layer(Tensor::full({1, 2}, factor))), .tokens = 1};
    }
};
Adam adam(const AdamOptions& options) { return {Model().all, options}; }
Sgd sgd(const SgdOptions& options) { return {Model().all, options}; }
void step(double lr, double scale = 1) {
    Adam optimizer = adam({});
    optimizer.step(lr, scale);
}
void set_steps(int64_t steps, const std::vector<int64_t>& of_each) {
    Adam optimizer = adam({});
    optimizer.set_steps(steps, of_each);
}
const std::function<double(int64_t)> kRate = [](int64_t) { return 0.1; };
void trained(const TrainingOptions& options, Real factor = 1) {
    const Model model;
    Adam of_model(model.all);
    train(
        of_model, [&](int64_t, const Mode&) { return model.loss(factor).loss; }, options);
}
// Of a team of one, which is not cut, or in two parts.
void summed(const StepLoss& loss, int64_t parts = 1) {
    const Model model;
    Gradients gradients(model.all, alone(), parts);
    gradients.backward(loss, {.parts = parts});
    gradients.sum();
}
void cut(int64_t parts) { Gradients(Model().all, alone(), parts); }
void all_at_once(const std::string& what) {
    together(alone(), [&] { throw autograd::Error(what); });
}

}  // namespace

Calls calls_of_training() {
    return {
        CALL(adam({.lr = -1})),
        CALL(adam({.lr = kNan})),
        CALL(adam({.lr = kInfinite})),
        CALL(adam({.beta1 = 1})),
        CALL(adam({.beta1 = -0.1})),
        CALL(adam({.beta2 = 1})),
        CALL(adam({.beta2 = kNan})),
        CALL(adam({.eps = 0})),
        CALL(adam({.eps = -1})),
        CALL(adam({.eps = kNan})),
        CALL(adam({.eps = kInfinite})),
        CALL(adam({.weight_decay = -1})),
        CALL(adam({.weight_decay = kNan})),
        CALL(Adam({{"empty", Tensor()}})),
        CALL(sgd({.lr = -1})),
        CALL(sgd({.lr = kNan})),
        CALL(sgd({.momentum = 1})),
        CALL(sgd({.momentum = -0.1})),
        CALL(sgd({.momentum = kNan})),
        CALL(sgd({.weight_decay = -1})),
        CALL(Sgd({{"empty", Tensor()}})),
        CALL(step(-1)),
        CALL(step(kNan)),
        CALL(step(kInfinite)),
        CALL(step(1, kNan)),
        CALL(step(1, kInfinite)),
        CALL(set_steps(-1, {0, 0})),
        CALL(set_steps(3, {1})),
        CALL(set_steps(3, {1, 4})),
        CALL(set_steps(3, {1, -1})),
        CALL(clip_scale(1, 0)),
        CALL(clip_scale(1, -1)),
        CALL(clip_scale(1, kNan)),
        CALL(WarmupInverseSqrt()(0)),
        CALL(WarmupInverseSqrt()(-1)),
        CALL(WarmupInverseSqrt{.warmup = 0}(1)),
        CALL(WarmupInverseSqrt{.d_model = 0}(1)),
        CALL(CosineSchedule{.lr = 1, .total = 10}(0)),
        CALL(CosineSchedule{.lr = 1, .total = 10}(-5)),

        CALL(trained({})),
        CALL(trained({.steps = -1, .learning_rate = kRate})),
        CALL(trained({.steps = 1, .learning_rate = kRate, .clip = -1})),
        CALL(trained({.steps = 1, .learning_rate = kRate, .clip = kNan})),
        CALL(trained({.steps = 1, .learning_rate = [](int64_t) { return -1.0; }})),
        CALL(trained({.steps = 1, .learning_rate = [](int64_t) { return kNan; }})),
        CALL(trained({.steps = 3, .learning_rate = kRate}, std::numeric_limits<Real>::quiet_NaN())),
        CALL(trained({.steps = 3, .learning_rate = kRate}, std::numeric_limits<Real>::infinity())),
        CALL(summed({})),
        CALL(summed({}, 2)),
        CALL(summed({.loss = Tensor::full({2}, 1), .tokens = 1})),
        CALL(summed({.loss = Tensor::full({1}, 1), .tokens = 1})),
        CALL(summed({.loss = Tensor::full({1}, 1)}, 2)),
        CALL(cut(0)),
        CALL(cut(-1)),
        CALL(all_at_once("one line")),
    };
}

}  // namespace plaingrad::trust::words
