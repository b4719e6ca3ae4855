// Sgd, Adam and AdamW against the papers' algorithms in double, and clipping.
#include "nn/optim.h"

#include <limits>
#include <memory>

#include "autograd/plain.h"
#include "tests/autograd/values.h"
#include "tests/catch.h"

using namespace plaingrad;  // NOLINT
using namespace nn;         // NOLINT
using namespace tests;      // NOLINT

namespace {

NamedParameter parameter(const std::string& name, Tensor value) { return {name, value.require_grad()}; }

// Makes g the gradient: d/dw Σ w g.
void set_gradient(const NamedParameter& p, const Tensor& g) {
    p.tensor.zero_grad();
    autograd::sum(p.tensor * g).backward();
}

// Algorithm 1 of Kingma & Ba 2015, with both kinds of weight decay, for one number.
struct Reference {
    double w, m = 0, v = 0;
    void step(const AdamOptions& o, double g, int t) {
        if (!o.decoupled)
            g += o.weight_decay * w;
        else
            w -= o.lr * o.weight_decay * w;
        m = o.beta1 * m + (1 - o.beta1) * g;
        v = o.beta2 * v + (1 - o.beta2) * g * g;
        const double m_hat = m / (1 - std::pow(o.beta1, t)), v_hat = v / (1 - std::pow(o.beta2, t));
        w -= o.lr * m_hat / (std::sqrt(v_hat) + o.eps);
    }
};

// torch.optim.SGD, for one number, written from its documentation.
struct SgdReference {
    double w, buffer = 0;
    void step(const SgdOptions& o, double g, int t) {
        g += o.weight_decay * w;
        if (o.momentum != 0)
            g = buffer = t == 1 ? g : o.momentum * buffer + g;
        w -= o.lr * g;
    }
};

// How far n weights are from those of the algorithm in double, after steps with scaled gradients.
template <class AnOptimizer, class Algorithm, class Options>
double worst_after(int64_t n, int steps, const Options& o, double scale = 1, Tensor* result = nullptr) {
    const NamedParameter w = parameter("w", random({n}, 1, 0.5, 1.5));
    std::vector<Algorithm> reference;
    for (const double x : doubles(w.tensor))
        reference.push_back({x});
    AnOptimizer optimizer({w}, o);
    for (int t = 1; t <= steps; ++t) {
        const Tensor g = random({n}, 1000 + static_cast<uint64_t>(t), -1, 1.2);
        set_gradient(w, g);
        optimizer.step(o.lr, scale);
        for (std::size_t i = 0; i < reference.size(); ++i)
            reference[i].step(o, scale * static_cast<double>(g.data()[i]), t);
    }
    CHECK(optimizer.steps() == steps);
    std::vector<double> expected;
    for (const Algorithm& r : reference)
        expected.push_back(r.w);
    if (result != nullptr)
        *result = w.tensor.detach();
    return worst_error(w.tensor, expected);
}

}  // namespace

TEST_CASE("Adam: a thousand steps, fused or plain, equal the algorithm in double, with each option",
          "[nn][optim]") {
    // In float each step rounds w once: an error of about √1000 half units in the last place.
    const double tolerance = autograd::kRealIsDouble ? 1e-12 : 4e-6;
    bool differs = false;
    for (const AdamOptions& o :
         {AdamOptions{.lr = 1e-4}, AdamOptions{.lr = 1e-4, .beta2 = 0.98, .eps = 1e-9},
          AdamOptions{.lr = 1e-4, .weight_decay = 0.1},
          AdamOptions{.lr = 1e-4, .weight_decay = 0.1, .decoupled = true}, AdamOptions{.lr = 1e-3},
          // A decay per step of 1e-7, which 1 - lr * decay in float would make 1.2e-7.
          AdamOptions{.lr = 1e-5, .weight_decay = 0.01, .decoupled = true}}) {
        Tensor fused, plain;
        CHECK(worst_after<Adam, Reference>(37, 1000, o, 1, &fused) < tolerance);
        const autograd::Plain guard;
        CHECK(worst_after<Adam, Reference>(37, 1000, o, 1, &plain) < tolerance);
        differs = differs || !same_bits(fused, plain);
    }
    CHECK(differs);  // somewhere they have rounded otherwise: so these are two forms
}

TEST_CASE("Adam: the first step is lr, whatever the gradient", "[nn][optim]") {
    const NamedParameter w = parameter("w", Tensor::full({6}, 2));
    Adam adam({w}, {.lr = 0.25, .eps = 1e-12});
    set_gradient(w, Tensor::from({6}, {5, -5, Real(1e-3), -100, Real(1e10), 0}));
    adam.step();
    const std::vector<double> expected = {1.75, 2.25, 1.75, 2.25, 1.75, 2};
    CHECK(worst_error(w.tensor, expected) < 1e-6);
    adam.step(0.5);  // a rate from a schedule; the same gradient again: the same direction
    CHECK(worst_error(w.tensor, std::vector<double>{1.25, 2.75, 1.25, 2.75, 1.25, 2}) < 1e-6);
}

TEST_CASE("Adam: gradients of 0, 1e-20 and 1e20 leave finite weights", "[nn][optim]") {
    for (const bool decoupled : {false, true}) {
        const AdamOptions o = {.lr = 0.25, .decoupled = decoupled};
        const NamedParameter w = parameter("w", Tensor::full({3}, 1));
        Adam adam({w}, o);
        Reference zero{1}, small{1};
        for (int t = 1; t <= 3; ++t) {
            set_gradient(w, Tensor::from({3}, {0, Real(1e-20), Real(1e20)}));
            adam.step();
            zero.step(o, 0, t);
            small.step(o, 1e-20, t);
        }
        CHECK(w.tensor.data()[0] == 1);
        CHECK(static_cast<double>(w.tensor.data()[1]) == Approx(small.w));
        // Beyond the root of the largest float, the square is infinite and the step 0, as in PyTorch.
        CHECK(static_cast<double>(w.tensor.data()[2]) == Approx(autograd::kRealIsDouble ? 0.25 : 1));
    }
}

TEST_CASE("Adam: weight decay, coupled and not, of matrices only and of everything", "[nn][optim]") {
    for (const bool decoupled : {false, true})
        for (const bool matrices_only : {false, true})
            for (const Shape& shape : {Shape{1, 1}, Shape{1}, Shape{1, 1, 1}}) {  // three dims are as two
                AdamOptions o = {.lr = 0.1,
                                 .weight_decay = 0.5,
                                 .decoupled = decoupled,
                                 .decay_matrices_only = matrices_only};
                const NamedParameter w = parameter("w", Tensor::full(shape, 2));
                Adam adam({w}, o);
                if (matrices_only && shape.rank() == 1)
                    o.weight_decay = 0;
                Reference expected{2};
                for (int t = 1; t <= 5; ++t) {
                    set_gradient(w, Tensor::full(shape, t == 2 ? -1 : 1));
                    adam.step();
                    expected.step(o, t == 2 ? -1 : 1, t);
                }
                CHECK(static_cast<double>(w.tensor.item()) == Approx(expected.w).epsilon(1e-6));
            }
}

TEST_CASE("Adam: a tied weight takes one step, with the sum of its gradients", "[nn][optim]") {
    const Parameter first(Tensor::full({3}, 1)), shared = first.share(), other(Tensor::full({3}, 1));
    Adam adam({{"first", first}, {"other", other}, {"shared", shared}}, {.lr = 0.125, .eps = 1e-12});
    CHECK(adam.parameters().size() == 2);
    autograd::sum(first.tensor() * Tensor::from({3}, {1, -3, 1}) + shared.tensor() * 2).backward();
    adam.step();
    CHECK(worst_error(first.tensor(), std::vector<double>{0.875, 1.125, 0.875}) < 1e-5);  // not 0.25 away
    CHECK(same_bits(other.tensor(), Tensor::full({3}, 1)));                               // no gradient
}

TEST_CASE("optimizers: options out of range", "[nn][optim]") {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const auto adam = [](const AdamOptions& o) { return error_of([&] { Adam({}, o); }); };
    const auto sgd = [](const SgdOptions& o) { return error_of([&] { Sgd({}, o); }); };
    for (const double bad : {-1.0, nan, HUGE_VAL}) {
        CHECK(contains(adam({.lr = bad}), "[Adam] lr"));
        CHECK(contains(sgd({.lr = bad}), "[Sgd] lr"));
        CHECK(contains(adam({.weight_decay = bad}), "decay"));
        CHECK(contains(sgd({.weight_decay = bad}), "decay"));
    }
    for (const double bad : {1.0, -0.1, nan}) {
        CHECK(contains(adam({.beta1 = bad}), "betas"));
        CHECK(contains(adam({.beta2 = bad}), "betas"));
        CHECK(contains(sgd({.momentum = bad}), "momentum must be in [0, 1)"));
    }
    CHECK((contains(adam({.eps = 0}), "eps") && contains(adam({.eps = HUGE_VAL}), "eps")));
    CHECK(adam({.lr = 0, .beta1 = 0, .beta2 = 0}) == "");
    CHECK(error_of([] { Adam({{"w", Tensor()}}); }) == "[Adam] parameter w is empty: it was never assigned");
    CHECK(contains(error_of([] { Parameter{Tensor()}; }), "[Parameter] an empty tensor"));
    CHECK(contains(error_of([] { Tensor().require_grad(); }), "[require_grad] this tensor is empty"));
}

TEST_CASE("optimizers: a rate or scale that would destroy the weights is refused", "[nn][optim]") {
    const NamedParameter w = parameter("w", Tensor::full({2}, 1));
    set_gradient(w, Tensor::full({2}, 1));
    Adam adam({w});
    Sgd sgd({w});
    for (Optimizer* optimizer : {static_cast<Optimizer*>(&adam), static_cast<Optimizer*>(&sgd)}) {
        std::vector<double> bad = {std::numeric_limits<double>::quiet_NaN(), HUGE_VAL, -HUGE_VAL};
        if (sizeof(Real) == 4)
            bad.push_back(1e39);  // finite in double only
        for (const double x : bad) {
            CHECK(contains(error_of([&] { optimizer->step(x); }), "learning rate of a step must be finite"));
            CHECK(contains(error_of([&] { optimizer->step(0.1, x); }), "scale"));
        }
        CHECK(contains(error_of([&] { optimizer->step(-1); }), "learning rate of a step must be finite"));
        CHECK(optimizer->steps() == 0);
    }
    CHECK(same_bits(w.tensor, Tensor::full({2}, 1)));
}

TEST_CASE("optimizers: a scale multiplies the gradients, and not what decays the weights", "[nn][optim]") {
    const auto trained = [](const auto& make, double of_gradients, double scale) {
        const NamedParameter w = parameter("w", random({37}, 1, 0.5, 1.5));
        const std::unique_ptr<Optimizer> optimizer = make(w);
        for (uint64_t t = 0; t < 3; ++t) {
            set_gradient(w, random({37}, 10 + t, -1, 1.2) * static_cast<Real>(of_gradients));
            optimizer->step(0.1, scale);
        }
        return w.tensor;
    };
    // To halve is exact, so the bits must be the same.
    const auto check = [&](const auto& make) {
        CHECK(same_bits(trained(make, 1, 0.5), trained(make, 0.5, 1)));
        CHECK_FALSE(same_bits(trained(make, 1, 0.5), trained(make, 1, 1)));
    };
    for (const bool decoupled : {false, true})
        check([&](const NamedParameter& w) {
            return std::make_unique<Adam>(std::vector{w},
                                          AdamOptions{.weight_decay = 0.3, .decoupled = decoupled});
        });
    check([](const NamedParameter& w) {
        return std::make_unique<Sgd>(std::vector{w}, SgdOptions{.momentum = 0.9, .weight_decay = 0.3});
    });
}

// `rare` has a gradient only in every third step, like an expert or a table that a batch does not use. In the
// others it does not change, nor decay.
TEST_CASE("Adam: each parameter's own step count corrects its means, as in PyTorch", "[nn][optim]") {
    const AdamOptions o = {.lr = 0.1, .beta2 = 0.98, .weight_decay = 0.1, .decoupled = true};
    const NamedParameter often = parameter("often", Tensor::full({3}, 1)),
                         rare = parameter("rare", Tensor::full({3}, 1));
    Adam adam({often, rare}, o);
    Reference expected_often{1}, expected_rare{1};
    int rare_steps = 0;
    const auto step = [&](Adam& a, int t) {
        const double g = 1.0 / t - 0.3;
        a.zero_grad();
        set_gradient(often, Tensor::full({3}, static_cast<Real>(g)));
        expected_often.step(o, g, t);
        if (t % 3 == 0) {
            set_gradient(rare, Tensor::full({3}, static_cast<Real>(g)));
            expected_rare.step(o, g, ++rare_steps);
        }
        a.step();
    };
    for (int t = 1; t <= 7; ++t)
        step(adam, t);
    CHECK(adam.steps() == 7);
    CHECK(adam.steps_of_each() == std::vector<int64_t>{7, 2});
    // A resumed run continues with the same counts.
    Adam resumed({often, rare}, o);
    copy_values(adam.state(), resumed.state());
    resumed.set_steps(adam.steps(), adam.steps_of_each());
    for (int t = 8; t <= 10; ++t)
        step(resumed, t);
    CHECK(resumed.steps_of_each() == std::vector<int64_t>{10, 3});
    CHECK(worst_error(often.tensor, std::vector<double>(3, expected_often.w)) < 1e-6);
    CHECK(worst_error(rare.tensor, std::vector<double>(3, expected_rare.w)) < 1e-6);
    CHECK(contains(error_of([&] { resumed.set_steps(5, {5}); }), "each of 2 parameters"));
    CHECK(contains(error_of([&] { resumed.set_steps(5, {5, 6}); }), "from 0 to 5"));
    CHECK(contains(error_of([&] { resumed.set_steps(5, {5, -1}); }), "from 0 to 5"));
    CHECK(contains(error_of([&] { resumed.set_steps(-1, {0, 0}); }), "negative"));
    CHECK(resumed.steps_of_each() == std::vector<int64_t>{10, 3});
}

TEST_CASE("Sgd: many elements equal the algorithm in double, with each option", "[nn][optim]") {
    const int64_t n = 2 * (1 << 14) + 5;  // more than a task has, and a rest
    for (const SgdOptions& o : std::vector<SgdOptions>{{.lr = 0.01},
                                                       {.lr = 0.01, .momentum = 0.9},
                                                       {.lr = 0.01, .weight_decay = 0.1},
                                                       {.lr = 0.01, .momentum = 0.5, .weight_decay = 0.1}}) {
        CHECK(worst_after<Sgd, SgdReference>(n, 20, o, 0.5) < (autograd::kRealIsDouble ? 1e-13 : 1e-6));
        const Sgd sgd({parameter("w", Tensor::zeros({2}))}, o);
        CHECK(sgd.state().size() == (o.momentum > 0 ? 1 : 0));
        CHECK((o.momentum == 0 || sgd.state()[0].name == "velocity.w"));
    }
}

TEST_CASE("grad_norm: over all parameters, in double", "[nn][optim]") {
    const NamedParameter a = parameter("a", Tensor::zeros({2})), b = parameter("b", Tensor::zeros({1, 1}));
    const NamedParameter none = parameter("none", Tensor::zeros({4}));
    const auto set = [&](Real x, Real y, Real z) {
        set_gradient(a, Tensor::from({2}, {x, y}));
        set_gradient(b, Tensor::from({1, 1}, {z}));
    };
    set(2, 3, 6);
    CHECK(grad_norm({a, b, none}) == 7);
    CHECK(grad_norm({none, a, b}) == 7);  // those behind one without a gradient, too
    CHECK(grad_norm({a, {"tied", a.tensor}, b}) == 7);
    CHECK_FALSE(none.tensor.has_grad());
    CHECK(grad_norm({none}) == 0);

    set(Real(3e19), Real(4e19), 0);  // whose squares overflow a float
    CHECK(grad_norm({a, b}) == Approx(5e19));
}

TEST_CASE("clip_scale: down to the limit, 1 at it and below it, and for a norm that is not finite",
          "[nn][optim]") {
    CHECK(clip_scale(5, 2.5) == 0.5);
    CHECK(clip_scale(7, 7) == 1);
    CHECK(clip_scale(6, 7) == 1);
    CHECK(clip_scale(HUGE_VAL, 1) == 1);
    CHECK(clip_scale(static_cast<double>(kNan), 1) == 1);
    CHECK(contains(error_of([&] { clip_scale(1, 0); }), "positive"));
    CHECK(contains(error_of([&] { clip_scale(1, -1); }), "positive"));
}
