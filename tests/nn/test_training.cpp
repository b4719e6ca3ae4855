// The training loop: every step, what is not finite, resuming; and the log of a run.
#include "nn/training.h"

#include <cmath>
#include <set>

#include "tests/autograd/values.h"
#include "tests/catch.h"

using namespace plaingrad;  // NOLINT
using namespace nn;         // NOLINT
using namespace tests;      // NOLINT

namespace {

constexpr AdamOptions kPaper = {.beta2 = 0.98, .eps = 1e-9};

// A model of two numbers whose gradient is 1 everywhere: each step makes them smaller.
struct Tiny {
    Parameter x{Tensor::from({2}, {5, -5})};
    std::vector<int64_t> steps;
    std::vector<std::vector<Real>> weights;  // before each step
    std::vector<uint64_t> streams;

    Tensor operator()(int64_t step, const Mode& mode) {
        steps.push_back(step);
        weights.push_back(x->to_vector());
        streams.push_back(mode.training ? mode.rng.state() : 0);
        return autograd::sum(x.tensor());
    }
    std::vector<double> train(const TrainingOptions& options, const AdamOptions& of = kPaper) {
        Adam adam({{"x", x}}, of);
        return nn::train(adam, std::ref(*this), options);
    }
};

TrainingOptions steps(int64_t n) {
    TrainingOptions options;
    options.steps = n;
    options.learning_rate = [](int64_t) { return 0.5; };
    return options;
}

}  // namespace

TEST_CASE("training: every step, with its number, its rate and its own random stream", "[nn][training]") {
    Tiny tiny, other, again;
    TrainingOptions options = steps(5);
    options.learning_rate = [](int64_t step) { return step == 3 ? 0.0 : 0.5; };
    const std::vector<double> losses = tiny.train(options);
    CHECK(tiny.steps == std::vector<int64_t>{1, 2, 3, 4, 5});
    REQUIRE(losses.size() == 5);
    for (std::size_t i = 0; i < 5; ++i)
        CHECK(losses[i] == static_cast<double>(tiny.weights[i][0] + tiny.weights[i][1]));
    for (std::size_t i = 1; i < 5; ++i)
        CHECK((tiny.weights[i][0] < tiny.weights[i - 1][0]) == (i != 3));
    CHECK(tiny.x->to_vector()[0] < tiny.weights[4][0]);
    const std::set<uint64_t> streams(tiny.streams.begin(), tiny.streams.end());
    CHECK((streams.size() == 5 && !streams.contains(0)));
    again.train(options);
    CHECK(again.streams == tiny.streams);
    options.seed = 1;
    other.train(options);
    CHECK(other.streams[0] != tiny.streams[0]);
    CHECK(Tiny().train(steps(0)).empty());
}

// With beta1 = beta2 = 0 and a large eps, Adam's step is lr g / eps: it shows g.
TEST_CASE("training: each step has the gradient of its own loss, clipped", "[nn][training]") {
    for (const double clip : {0.25, 0.0}) {
        TrainingOptions options = steps(3);
        options.clip = clip;
        options.learning_rate = [](int64_t) { return 1e3; };
        Tiny tiny;
        tiny.train(options, {.beta1 = 0, .beta2 = 0, .eps = 1e3});
        const double length = clip > 0 ? clip : std::sqrt(2.0);
        tiny.weights.push_back(tiny.x->to_vector());
        for (std::size_t step = 1; step <= 3; ++step) {
            const std::vector<Real>&before = tiny.weights[step - 1], &now = tiny.weights[step];
            CHECK(std::hypot(static_cast<double>(before[0] - now[0]),
                             static_cast<double>(before[1] - now[1])) == Approx(length).epsilon(2e-3));
        }
    }
}

TEST_CASE("training: a loss that is not a number ends it before any weight changes", "[nn][training]") {
    const Parameter x(Tensor::from({2}, {1, 2}));
    for (const Real bad : {kNan, Real(HUGE_VAL), -Real(HUGE_VAL)}) {
        const auto error = [&](int64_t wrong) {
            Adam adam({{"x", x}});
            const auto loss = [&](int64_t step, const Mode&) {
                return autograd::sum(x.tensor()) * (step == wrong ? bad : 0);
            };
            return error_of([&] { train(adam, loss, steps(9)); });
        };
        CHECK(contains(error(3), "[train] step 3: the loss is"));
        CHECK(contains(error(3), "; a lower learning rate may help"));
        // Before any step has changed them.
        CHECK(contains(error(1), "; the data, or the weights that it begins with, are broken"));
        CHECK(x->to_vector() == std::vector<Real>{1, 2});
    }
}

TEST_CASE("training: an error names what is not finite", "[nn][training]") {
    const Tiny good, bad;
    Adam adam({{"good", good.x}, {"bad", bad.x}});
    const auto loss = [&](int64_t step, const Mode&) {
        const Tensor factor(step == 3 ? Real(HUGE_VAL) : 1);
        return autograd::add(autograd::sum(good.x), autograd::mul(autograd::sum(bad.x), factor));
    };
    const std::string error = error_of([&] { train(adam, loss, steps(5)); });
    CHECK(error.starts_with("[train] step 3: "));
    CHECK(contains(error, "first in that of bad"));
}

TEST_CASE("training: resumes with the same bits", "[nn][training][bits]") {
    const auto loss_of = [](const Tensor& x) {
        return [x](int64_t, const Mode& mode) {
            const Tensor noise = autograd::dropout(x, Real(0.5), mode.rng);
            return autograd::sum(autograd::mul(noise, noise));
        };
    };
    Tiny whole, parts;
    Adam one({{"x", whole.x}}), first({{"x", parts.x}}), second({{"x", parts.x}});
    train(one, loss_of(whole.x), steps(7));
    train(first, loss_of(parts.x), steps(4));
    copy_values(first.state(), second.state());
    second.set_steps(first.steps(), first.steps_of_each());
    CHECK(train(second, loss_of(parts.x), steps(7)).size() == 3);
    CHECK(same_bits(whole.x->to_vector(), parts.x->to_vector()));
    CHECK(second.steps() == 7);
}

TEST_CASE("training: what may not be negative is refused", "[nn][training]") {
    Tiny tiny;
    TrainingOptions shorter = steps(-1), clipped = steps(3), unknown = steps(3);
    clipped.clip = -1;
    unknown.clip = HUGE_VAL - HUGE_VAL;
    for (const TrainingOptions& options : {shorter, clipped, unknown})
        CHECK(contains(error_of([&] { tiny.train(options); }), "[train] neither steps nor clip"));
    CHECK(tiny.steps.empty());
}

TEST_CASE("training: the log has a row for each step, and continues after a resume", "[nn][training]") {
    TrainingLog log;
    log.add(
        {.step = 1, .loss = 2.5, .tokens = 100, .learning_rate = 1e-3, .grad_norm = 0.25, .seconds = 0.5});
    log.add({.step = 2,
             .loss = 1.25,
             .tokens = 100,
             .learning_rate = 2e-3,
             .grad_norm = 4,
             .seconds = 0.75,
             .validation = 3.0});
    const std::string text =
        "step,loss,validation loss,learning rate,gradient norm,seconds,tokens/s\n"
        "1,2.5,,0.001,0.25,0.500,200\n"
        "2,1.25,3,0.002,4,0.750,400\n";
    CHECK(log.text() == text);
    TrainingLog resumed(text, 2);
    CHECK(resumed.text() == text);
    resumed.add({.step = 3, .tokens = 50, .seconds = 0.25});  // since it was resumed
    CHECK(resumed.text() == text + "3,0,,0,0,0.250,200\n");
    CHECK(TrainingLog(resumed.text(), 2).text() == text);  // step 3 is done once more
    CHECK(TrainingLog(text, 0).text() == TrainingLog().text());
    // Of several calls the seconds of each count from 0.
    TrainingLog calls;
    calls.add({.step = 1, .tokens = 100, .seconds = 10});
    calls.add({.step = 2, .tokens = 100, .seconds = 0.1});
    CHECK(calls.text().ends_with("\n2,0,,0,0,0.100,1000\n"));
}
