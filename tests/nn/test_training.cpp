// The training loop: every step, validation, patience, the best weights, accumulation, resuming.
#include "nn/training.h"

#include <cmath>

#include "tests/autograd/values.h"
#include "tests/catch.h"
#include "tests/nn/thread_team.h"

using namespace plaingrad;  // NOLINT
using namespace nn;         // NOLINT
using namespace tests;      // NOLINT

namespace {

using Words = std::vector<std::string>;

// A model of one number whose gradient is 1 everywhere: each step makes it smaller.
struct Tiny {
    Parameter x{Tensor::from({2}, {5, -5})};
    std::vector<NamedParameter> parameters = {{"x", x}};
    std::vector<int64_t> steps;
    std::vector<std::vector<Real>> weights;  // before each step
    std::vector<uint64_t> streams;

    StepLoss operator()(const StepPart& at, const Mode& mode) {
        steps.push_back(at.step);
        weights.push_back(x->to_vector());
        streams.push_back(mode.training ? mode.rng.state() : 0);
        return {autograd::sum(x.tensor()), 3};
    }
    TrainingResult train(const TrainingOptions& options, const Watch& watch = {}) {
        return nn::train(parameters, std::ref(*this), options, watch);
    }
};

TrainingOptions steps(int64_t n) {
    TrainingOptions options;
    options.steps = n;
    options.learning_rate = [](int64_t) { return 0.5; };
    return options;
}

// Validates every two steps, with the given losses in order; records the weights.
struct Scripted {
    std::vector<double> losses;
    Tiny tiny = {};
    std::size_t validations = 0;
    std::vector<std::vector<Real>> seen = {};
    TrainingResult result = {};
    Words said = {};

    void run(int64_t n, int64_t patience) {
        TrainingOptions options = steps(n);
        options.validate_every = 2;
        options.patience = patience;
        options.validation_loss = [this] {
            seen.push_back(tiny.x->to_vector());
            return losses.at(validations++);
        };
        result = tiny.train(options, {.on_validation = [this](int64_t step, double loss, bool better) {
                                said.push_back(autograd::join(step, " ", loss, better ? " better" : ""));
                            }});
    }
    std::vector<Real> weights() const { return tiny.x->to_vector(); }
};

}  // namespace

TEST_CASE("training: every step, with its number, its rate and its own random stream", "[nn][training]") {
    Tiny tiny, other, again;
    TrainingOptions options = steps(5);
    options.learning_rate = [](int64_t step) { return step == 3 ? 0.0 : 0.5; };
    TrainingResult result;
    result = tiny.train(options);
    CHECK(tiny.steps == std::vector<int64_t>{1, 2, 3, 4, 5});
    REQUIRE(result.losses.size() == 5);
    for (std::size_t i = 0; i < 5; ++i)
        CHECK(result.losses[i] == static_cast<double>(tiny.weights[i][0] + tiny.weights[i][1]));
    for (std::size_t i = 1; i < 5; ++i)
        CHECK((tiny.weights[i][0] < tiny.weights[i - 1][0]) == (i != 3));
    CHECK(tiny.x->to_vector()[0] < tiny.weights[4][0]);
    CHECK((result.seconds >= 0 && result.best_step == 0 && result.best_validation == HUGE_VAL));

    for (std::size_t i = 0; i < 5; ++i)
        for (std::size_t j = 0; j < i; ++j)
            CHECK((tiny.streams[i] != 0 && tiny.streams[i] != tiny.streams[j]));
    again.train(options);
    CHECK(again.streams == tiny.streams);
    options.seed = 1;
    other.train(options);
    CHECK(other.streams[0] != tiny.streams[0]);

    // The gradient is clipped. With beta1 = beta2 = 0 and a large eps, Adam's step is lr g / eps: it shows g.
    options = steps(1);
    options.clip = 0.25;
    options.adam = {.beta1 = 0, .beta2 = 0, .eps = 1e3};
    options.learning_rate = [](int64_t) { return 1e3; };
    Tiny clipped;
    clipped.train(options);
    const double step0 = 5 - static_cast<double>(clipped.x->data()[0]);
    const double step1 = -5 - static_cast<double>(clipped.x->data()[1]);
    CHECK(std::sqrt(step0 * step0 + step1 * step1) == Approx(0.25).epsilon(1e-3));
    result = Tiny().train(steps(0));
    CHECK(result.losses.empty());
    options = steps(3);
    options.stop = 9;  // the run ends before
    result = Tiny().train(options);
    CHECK(result.losses.size() == 3);
}

TEST_CASE("training: the best weights of all validations are kept", "[nn][training]") {
    Scripted s{.losses = {3, 1, 2, 5}};
    s.run(7, 0);
    CHECK(s.validations == 4);  // after steps 2, 4, 6, and the last
    CHECK(s.result.losses.size() == 7);
    CHECK((s.result.best_step == 4 && s.result.best_validation == 1));
    CHECK(same_bits(s.weights(), s.seen[1]));
    CHECK_FALSE(same_bits(s.weights(), s.seen[3]));
    CHECK(s.said == Words{"2 3 better", "4 1 better", "6 2", "7 5"});

    Scripted last{.losses = {3, 2, 1}};  // the last is the best, and step 6 is validated once
    last.run(6, 0);
    CHECK((last.validations == 3 && last.result.best_step == 6));
    CHECK(same_bits(last.weights(), last.seen[2]));
    Scripted infinite{.losses = {HUGE_VAL, HUGE_VAL}};  // none is the best
    infinite.run(4, 0);
    CHECK((infinite.result.best_step == 0 && same_bits(infinite.weights(), infinite.seen[1])));
}

TEST_CASE("training: ends after so many validations in a row without improvement", "[nn][training]") {
    struct Row {
        std::vector<double> losses;
        int64_t patience, steps, best;
    };
    for (const Row& r :
         {Row{{1, 2, 3, 0}, 2, 6, 2}, Row{{1, 2, 0}, 1, 4, 2}, Row{{1, 1, 1}, 2, 6, 2},
          Row{{3, 4, 2, 3, 1, 2, 3, 0}, 2, 14, 10}, Row{{5, 6, 7, 8, 9, 10, 11, 12, 13, 14}, 0, 20, 2}}) {
        Scripted s{.losses = r.losses};
        s.run(20, r.patience);
        INFO("patience " << r.patience << ", ends after " << r.steps);
        CHECK(static_cast<int64_t>(s.result.losses.size()) == r.steps);
        CHECK(s.result.best_step == r.best);
        CHECK(same_bits(s.weights(), s.seen[static_cast<std::size_t>(r.best / 2 - 1)]));
    }
}

TEST_CASE("training: a loss that is not a number ends it before any weight changes", "[nn][training]") {
    Scripted s{.losses = {1, std::nan("")}};
    CHECK(contains(error_of([&] { s.run(9, 0); }), "step 4: the validation loss is not a number"));
    const Parameter x(Tensor::from({2}, {1, 2}));
    for (const Real bad : {kNan, Real(HUGE_VAL), -Real(HUGE_VAL)}) {
        const auto error = [&](int64_t wrong) {
            return error_of([&] {
                train(
                    {{"x", x}},
                    [&](const StepPart& at, const Mode&) {
                        return StepLoss{autograd::sum(x.tensor()) * (at.step == wrong ? bad : 0), 1};
                    },
                    steps(9));
            });
        };
        CHECK(contains(error(3), "[train] step 3: the loss is"));
        CHECK(contains(error(3), "; a lower learning rate may help"));
        CHECK(contains(
            error(1),
            "; the data, or the weights that it begins with, are broken"));  // no step has changed them
        CHECK(x->to_vector() == std::vector<Real>{1, 2});
    }
}

TEST_CASE("training: an epoch's last batch ends its step, and validation follows", "[nn][training]") {
    Tiny tiny;
    TrainingOptions options = steps(5);
    options.accumulate = 3;
    int64_t batches = 0;
    Words events;
    options.validation_loss = [&] { return events.push_back("validation"), 1.0; };
    train({{"x", tiny.x}},
          [&](const StepPart&, const Mode&) {
              ++batches;  // epochs of five batches: steps of 3 and 2
              return StepLoss{autograd::sum(autograd::mul(tiny.x, tiny.x)), 1, batches % 5 == 0};
          },
          options, {.after_step = [&](const StepReport& r) {
              events.push_back(std::to_string(r.step) + (r.validation ? " validated" : ""));
          }});
    CHECK(batches == 13);
    CHECK(events == Words{"1", "validation", "2 validated", "3", "validation", "4 validated", "validation",
                          "5 validated"});  // the last one is a part of an epoch
}

TEST_CASE("training: an epoch's end is validated, also if there are validations in between",
          "[nn][training]") {
    Tiny tiny;
    TrainingOptions options = steps(7);
    options.validate_every = 2;
    options.validation_loss = [] { return 1.0; };
    std::vector<int64_t> validated;
    train({{"x", tiny.x}},
          [&](const StepPart& at, const Mode&) {
              return StepLoss{autograd::sum(tiny.x.tensor()), 1, at.step % 3 == 0};
          },
          options, {.after_step = [&](const StepReport& r) {
              if (r.validation)
                  validated.push_back(r.step);
          }});
    CHECK(validated == std::vector<int64_t>{2, 3, 4, 6, 7});
}

TEST_CASE("training: a run that its patience has ended goes on only with more of it", "[nn][training]") {
    Tiny tiny;
    Training training(tiny.parameters, AdamOptions());
    TrainingOptions options = steps(20);
    options.validate_every = 2;
    options.patience = 1;
    double loss = 0;
    options.validation_loss = [&] { return loss += 1; };
    CHECK(nn::train(training, std::ref(tiny), options).losses.size() == 4);
    const std::vector<Real> best = tiny.x->to_vector();
    CHECK(nn::train(training, std::ref(tiny), options).losses.empty());
    CHECK(training.adam.steps() == 4);
    CHECK(same_bits(tiny.x->to_vector(), best));
    options.patience = 2;
    CHECK(nn::train(training, std::ref(tiny), options).losses.size() == 2);
}

TEST_CASE("training: resumes with the same bits", "[nn][training][bits]") {
    const auto options = [](int64_t n) {
        TrainingOptions o = steps(n);
        o.validate_every = 2;
        o.restore_best = false;
        o.validation_loss = [] { return 1.0; };
        return o;
    };
    const auto loss_of = [](const Tensor& x) {
        return [x](const StepPart&, const Mode& mode) {
            const Tensor noise = autograd::dropout(x, Real(0.5), mode.rng);
            return StepLoss{autograd::sum(autograd::mul(noise, noise)), 2, false};
        };
    };
    Tiny whole, parts;
    Training one({{"x", whole.x}}, {}), first({{"x", parts.x}}, {}), second({{"x", parts.x}}, {});
    {
        nn::train(one, loss_of(whole.x), options(7));
        train(first, loss_of(parts.x), options(4));
        copy_values(first.adam.state(), second.adam.state());
        second.adam.set_steps(first.adam.steps(), first.adam.steps_of_each());
        second.best_validation = first.best_validation;
        second.best_step = first.best_step;
        second.worse = first.worse;
        train(second, loss_of(parts.x), options(7));
    }
    CHECK(same_bits(whole.x->to_vector(), parts.x->to_vector()));
    CHECK((second.adam.steps() == 7 && second.worse == one.worse && second.best_step == 2));
    CHECK(one.worse == 3);
    CHECK(contains(error_of([&] {
                       second.adam.set_steps(-1, first.adam.steps_of_each());
                       return Tensor();
                   }),
                   "[Adam] the number of steps"));
}

// The best validation is that of step 2. A call that stops before the end of the run leaves the last weights.
TEST_CASE("training: the best weights are restored at the end of the run, not of a call", "[nn][training]") {
    const auto options = [](int64_t stop, int64_t& validations) {
        TrainingOptions o = steps(8);
        o.stop = stop;
        o.validate_every = 2;
        o.validation_loss = [&] { return static_cast<double>(++validations); };
        return o;
    };
    Tiny whole, parts;
    int64_t of_whole = 0, of_parts = 0;
    const std::vector<double> expected = whole.train(options(0, of_whole)).losses;
    Training training(parts.parameters, AdamOptions{.beta2 = 0.98, .eps = 1e-9});
    std::vector<double> losses;
    for (const int64_t stop : {3, 5, 0}) {
        const TrainingResult part = nn::train(training, std::ref(parts), options(stop, of_parts));
        losses.insert(losses.end(), part.losses.begin(), part.losses.end());
    }
    CHECK(losses == expected);
    CHECK(same_bits(parts.x->to_vector(), whole.x->to_vector()));
    CHECK(same_bits(whole.x->to_vector(), whole.weights[2]));  // as before step 3
}

// With beta1 = beta2 = 0 and a large eps, Adam's step is lr g / eps: it shows the gradient's size.
TEST_CASE("training: a step of several batches is as long as one of their mean, and clipped",
          "[nn][training]") {
    for (const auto& [batches, parts] : {std::pair(1, 1), std::pair(3, 1), std::pair(1, 2), std::pair(2, 2)})
        for (const double clip : {0.0, 0.5}) {
            CAPTURE(batches, parts, clip);
            const Parameter x(Tensor::zeros({2}));
            Training training({{"x", x}}, {.beta1 = 0, .beta2 = 0, .eps = 1e6}, alone(), parts);
            TrainingOptions options = steps(1);
            options.learning_rate = [](int64_t) { return 1e6; };
            options.accumulate = batches;
            options.clip = clip;
            train(
                training,
                [&](const StepPart&, const Mode&) {
                    return StepLoss{autograd::sum(x.tensor() * Tensor::from({2}, {3, -4})), 7};
                },
                options);
            const double length = clip > 0 ? clip : 5;
            CHECK(worst_error(x->to_vector(), std::vector<double>{-0.6 * length, 0.8 * length}) < 1e-4);
        }
}

TEST_CASE("training: accumulated batches must have a number of tokens", "[nn][training]") {
    Tiny tiny;
    TrainingOptions options = steps(1);
    options.accumulate = 2;
    const auto loss_of = [&](const StepPart&, const Mode&) {
        return StepLoss{autograd::sum(tiny.x.tensor())};
    };
    const auto train = [&] {
        nn::train(tiny.parameters, loss_of, options);
        return Tensor();
    };
    CHECK(contains(error_of(train), "of how many tokens its loss is the mean: got 0"));
    options.accumulate = 1;
    CHECK(error_of([&] {
              nn::train(
                  tiny.parameters, [](const StepPart&, const Mode&) { return StepLoss(); }, options);
              return Tensor();
          }) == "[train] a step has nothing to learn from: its loss is empty");
    options.clip = -1;
    CHECK(contains(error_of(train), "clip must be"));
    options.clip = HUGE_VAL - HUGE_VAL;
    CHECK(contains(error_of(train), "clip must be"));
}

TEST_CASE("training: an error names what is not finite", "[nn][training]") {
    Tiny good, bad;
    const auto train = [&] {
        nn::train(
            {{"good", good.x}, {"bad", bad.x}},
            [&](const StepPart& at, const Mode&) {
                const Real factor = at.step == 3 ? Real(HUGE_VAL) : 1;
                return StepLoss{
                    autograd::add(autograd::sum(good.x), autograd::mul(autograd::sum(bad.x), Tensor(factor))),
                    1, false};
            },
            steps(5));
        return Tensor();
    };
    std::string error;
    error = error_of(train);
    CHECK(error.starts_with("[train] step 3: "));
    CHECK(contains(error, "first in that of bad"));
}

TEST_CASE("training: Adam is the paper's unless the options say otherwise", "[nn][training]") {
    const auto trained = [](const auto& run) {
        const Parameter x(Tensor::from({2}, {5, -5}));
        const LossOf loss_of = [&](const StepPart&, const Mode&) {
            return StepLoss{autograd::sum(autograd::mul(x, x)), 1};
        };
        run({{"x", x}}, loss_of);
        return x->to_vector();
    };
    using Parameters = std::vector<NamedParameter>;
    TrainingOptions options = steps(4);
    options.clip = 0;  // clipped, all gradients would be equal
    const auto plain = trained([&](const Parameters& p, const LossOf& loss) { train(p, loss, options); });
    const auto with = [&](const AdamOptions& adam) {
        return trained([&](const Parameters& p, const LossOf& loss) {
            Training training(p, adam);
            nn::train(training, loss, options);
        });
    };
    CHECK(same_bits(plain, with({.beta1 = 0.9, .beta2 = 0.98, .eps = 1e-9})));
    CHECK_FALSE(same_bits(plain, with({.beta1 = 0.9, .beta2 = 0.999, .eps = 1e-9})));
}

TEST_CASE("training: what has not been done has no results", "[nn][training]") {
    const TrainingResult result;
    CHECK((result.losses.empty() && result.seconds == 0 && result.best_step == 0));
    const StepReport report;
    CHECK((report.step == 0 && report.seconds == 0 && !report.validation));
    CHECK_FALSE((report.ends_epoch || report.stops));
    const StepGradient gradient;
    CHECK((gradient.loss == 0 && gradient.tokens == 0 && gradient.norm == 0 && !gradient.ends_epoch));
}

TEST_CASE("training: a watch is called for each step, and can stop", "[nn][training]") {
    Tiny tiny;
    TrainingOptions options = steps(20);
    options.learning_rate = [](int64_t step) { return 1.0 / static_cast<double>(step); };
    options.validate_every = 2;
    options.restore_best = false;
    options.validation_loss = [] { return 7.0; };
    std::vector<StepReport> before, after;
    const Watch watch = {.on_step = [&](const StepReport& r) { before.push_back(r); },
                         .after_step = [&](const StepReport& r) { after.push_back(r); },
                         .should_stop = [&] { return before.size() == 3; }};
    const TrainingResult result = tiny.train(options, watch);
    REQUIRE((before.size() == 3 && after.size() == 3 && result.losses.size() == 3));
    for (std::size_t i = 0; i < 3; ++i) {
        const StepReport& r = after[i];
        CHECK((r.step == static_cast<int64_t>(i) + 1 && r.loss == result.losses[i] && r.tokens == 3));
        CHECK(r.learning_rate == 1.0 / static_cast<double>(i + 1));
        CHECK(r.grad_norm == Approx(std::sqrt(2.0)));  // before it is clipped to 1
        CHECK((r.seconds >= before[i].seconds && before[i].seconds >= 0 && !before[i].validation));
        CHECK((!before[i].stops && r.stops == (i == 2)));  // the watch is asked in between
        // Step 3 is the last of this call, not of the run: a validation there would count for `best`, and
        // a run that was stopped and resumed would differ from one that was not.
        CHECK(r.validation.has_value() == (i == 1));
    }
    // One that is due is not left out, even if the run stops there.
    options.validate_every = 3;
    before.clear(), after.clear();
    tiny.train(options, watch);
    REQUIRE(after.size() == 3);
    CHECK(after[2].validation == 7.0);
    TrainingOptions epochs = options;
    epochs.validate_every = 0;
    int64_t validations = 0;
    epochs.validation_loss = [&] { return ++validations, 1.0; };
    before.clear();
    tiny.train(epochs, watch);
    CHECK(
        (before.size() == 3 && validations == 0));  // a run that is resumed later continues within its epoch
}

TEST_CASE("training: a process that is told to stop stops all of them", "[nn][training][team]") {
    std::vector<int64_t> last(2);
    run_team(2, [&](Team& team) {
        Tiny tiny;
        Training training(tiny.parameters, AdamOptions(), team, 2);
        int64_t done = 0;
        nn::train(training, std::ref(tiny), steps(5),
                  {.on_step = [&](const StepReport& r) { done = r.step; },
                   .should_stop = [&] { return team.rank() == 1 && done == 2; }});
        last[static_cast<std::size_t>(team.rank())] = done;
        // If process 0 went on, it would send other words than these: an error. (It would not wait for
        // process 1 before, as that one has both elements of x.)
        gather(team, {static_cast<double>(done)});
    });
    CHECK(last == std::vector<int64_t>{2, 2});
}

TEST_CASE("training: what may not be negative is refused", "[nn][training]") {
    Tiny tiny;
    TrainingOptions impatient = steps(3), backwards = steps(3);
    impatient.patience = -1;
    backwards.validate_every = -1;
    backwards.validation_loss = [] { return 1.0; };
    for (const TrainingOptions& options : {impatient, backwards})
        CHECK(
            contains(error_of([&] { tiny.train(options); }), "[train] neither patience nor validate_every"));
    CHECK(tiny.steps.empty());
}

TEST_CASE("training: a log of several calls counts the seconds of each from 0", "[nn][training]") {
    TrainingLog log;
    log.add({.step = 1, .tokens = 100, .seconds = 10});
    log.add({.step = 2, .tokens = 100, .seconds = 0.1});  // of the next call
    CHECK(log.text().ends_with("\n2,0,,0,0,0.100,1000\n"));
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
}
