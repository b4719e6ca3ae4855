#include EXERCISE  // the learner's page, or ours
#include "tests/catch.h"
#include "tests/exercises/marking.h"

using namespace plaingrad::exercises;  // NOLINT

static const Marking exercise(8);

static Adam adam(double lr, double beta1, double beta2, double eps) {
    Adam a;
    a.lr = lr, a.beta1 = beta1, a.beta2 = beta2, a.eps = eps;
    return a;
}

// How the reference below is spoilt.
enum class Fault { none, no_correction, eps_inside, ascends, no_square, no_root, betas_swapped, sums };

// One weight after some gradients, by the sums that the running means stand for: m_t = (1-β1) Σ β1^(t-i) g_i.
static double reference(const Row& gradients, double lr, double b1, double b2, double eps,
                        Fault fault = Fault::none) {
    if (fault == Fault::betas_swapped)
        std::swap(b1, b2);
    double w = 0;
    for (std::size_t t = 1; t <= gradients.size(); ++t) {
        double m = 0, v = 0;
        for (std::size_t i = 1; i <= t; ++i) {
            const double g = gradients[i - 1], age = static_cast<double>(t - i);
            m += (fault == Fault::sums ? 1 : 1 - b1) * std::pow(b1, age) * g;
            v += (fault == Fault::sums ? 1 : 1 - b2) * std::pow(b2, age) *
                 (fault == Fault::no_square ? g : g * g);
        }
        if (fault != Fault::no_correction) {
            m /= 1 - std::pow(b1, static_cast<double>(t));
            v /= 1 - std::pow(b2, static_cast<double>(t));
        }
        const double root = fault == Fault::no_root      ? v + eps
                            : fault == Fault::eps_inside ? std::sqrt(v + eps)
                                                         : std::sqrt(v) + eps;
        w += (fault == Fault::ascends ? lr : -lr) * m / root;
    }
    return w;
}

// w must be what the gradients make of a weight that begins at 0. eps is so large that its place matters.
static void expect_steps(const std::string& what, const Row& gradients, double lr, double b1, double b2,
                         double eps) {
    Adam a = adam(lr, b1, b2, eps);
    Row w = {0};
    for (const double g : gradients)
        a.step(w, {g});
    const auto wrong = [&](Fault fault) { return Row{reference(gradients, lr, b1, b2, eps, fault)}; };
    exercise.expect(w.size() == 1 && w[0] == w[0], "the weight is NaN ", what,
                    ": does t begin at 1, and is there a root of a negative number, or 0/0?");
    exercise.expect(w[0] != 0, "the weight has not moved ", what);
    exercise.expect_values(
        "w " + what, w, wrong(Fault::none),
        {{"the bias is not corrected: m and v begin at 0, so divide them by 1 - βᵗ, t = 1 in the first step",
          wrong(Fault::no_correction)},
         {"eps is inside of the root: it is added to √(v/(1-β2ᵗ))", wrong(Fault::eps_inside)},
         {"w goes up the gradient: subtract the step", wrong(Fault::ascends)},
         {"v averages g: it must average g²", wrong(Fault::no_square)},
         {"the step is divided by v: divide by its root", wrong(Fault::no_root)},
         {"β1 and β2 are swapped: β1 belongs to m, β2 to v", wrong(Fault::betas_swapped)},
         {"m and v are sums: the new gradient comes in with weight 1 - β", wrong(Fault::sums)}});
}

TEST_CASE("the first step") {
    expect_steps("after the gradient 2", {2}, 0.5, 0.9, 0.99, 0.3);
    expect_steps("after the gradient -0.1", {-0.1}, 0.5, 0.9, 0.99, 1e-8);
}

TEST_CASE("the first step is the learning rate, however large the gradient") {
    for (const double g : {1e-3, 1.0, 1e3}) {
        Adam a;
        Row w = {5};
        a.step(w, {g});
        exercise.expect(std::fabs(5 - w[0] - 1e-3) < 1e-7, "with gradient ", g, " the first step is ",
                        5 - w[0], "; expected lr = 0.001, whatever the gradient is");
    }
}

TEST_CASE("further steps remember the earlier ones") {
    expect_steps("after the gradients 2, -1", {2, -1}, 0.5, 0.9, 0.99, 0.3);
    Row gradients;
    for (int i = 0; i < 50; ++i)
        gradients.push_back(std::sin(i) + 0.2);
    expect_steps("after 50 gradients", gradients, 0.1, 0.8, 0.95, 1e-8);
}

TEST_CASE("each weight has a mean of its own") {
    Adam a = adam(0.1, 0.9, 0.99, 1e-8);
    Row w = {0, 0, 0};
    for (int i = 0; i < 3; ++i)
        a.step(w, {1, -100, 0});
    exercise.expect(a.t == 3, "t is ", a.t, " after 3 steps; expected 3: it counts steps, not weights");
    exercise.expect_values(
        "w", w,
        {reference({1, 1, 1}, 0.1, 0.9, 0.99, 1e-8), reference({-100, -100, -100}, 0.1, 0.9, 0.99, 1e-8), 0});
}
