// --check: each of its questions gets its expected answer for a healthy model, and another one where a fault
// was planted.
#include "apps/kit/run.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <sstream>

#include "apps/kit/picture.h"
#include "tests/apps/run.h"
#include "tests/models/small.h"

using namespace plaingrad;  // NOLINT
using namespace tests;      // NOLINT
using autograd::Real;
using autograd::Rng;
using autograd::Tensor;
using autograd::Tokens;

namespace {

// A small model that learns to reverse four symbols, and what --check needs to know. A test changes a part.
struct Subject {
    static Tokens symbols(int64_t i) {
        std::vector<int32_t> ids;
        for (uint64_t k = 0; k < 16 * 4; ++k)
            ids.push_back(4 + static_cast<int32_t>(Rng(7).fork(static_cast<uint64_t>(i)).below(k, 7)));
        return Tokens(16, 4, ids, models::kPad);
    }
    static models::Batch batch(int64_t i) {
        std::vector<models::Pair> pairs;
        const Tokens all = symbols(i);
        for (auto row = all.ids().begin(); row != all.ids().end(); row += 4)
            pairs.push_back({{row, row + 4}, {std::reverse_iterator(row + 4), std::reverse_iterator(row)}});
        return models::make_batch(pairs);
    }

    const models::Transformer model{small("paper"), Rng(1)};
    models::RunModel run_model = models::run_model(model);
    kit::RunPlan plan = {.objective =
                             kit::objective_of(model, [](int64_t i) { return kit::examples_of(batch(i)); })};
    double learning_rate = 0.01;

    // The lines of the questions that were not answered as expected, without what they usually mean.
    std::string odd() const {
        std::ostringstream printed;
        const auto back = [](std::streambuf* before) { std::cout.rdbuf(before); };
        {
            const std::unique_ptr<std::streambuf, decltype(back)> before(std::cout.rdbuf(printed.rdbuf()),
                                                                         back);
            const models::RunFolder nowhere("p", {});
            const auto rate = [this](int64_t) { return learning_rate; };
            well = kit::check(kit::Run(nowhere, run_model, {.learning_rate = rate}, plan));
        }
        std::istringstream lines(all = printed.str());
        std::string questions;
        for (std::string line; std::getline(lines, line);)
            if (line.starts_with("ODD"))
                questions += line.substr(5, line.find(':') - 5) + ";";
        return questions;
    }
    mutable std::string all;
    mutable bool well = false;
};

}  // namespace

TEST_CASE("check: a healthy model, whose weights it does not change", "[apps][check]") {
    const Subject s;
    const std::vector<float> before = nn::parameters(s.model)[0].tensor.to_vector();
    CHECK(s.odd() == "");
    CHECK(s.well);
    CHECK(nn::parameters(s.model)[0].tensor.to_vector() == before);
    CHECK_FALSE(nn::parameters(s.model)[0].tensor.has_grad());
    check_says(s.all, {"first loss", "one batch by heart", "without its input", "the future", "padding",
                       "learning rate"});
}

TEST_CASE("check: a planted fault makes its question odd", "[apps][check]") {
    Subject s;
    kit::Objective& objective = s.plan.objective;
    const auto logits = objective.logits;
    const auto without_mask = [&](const auto& in, const nn::Mode& mode) {
        const Tensor x = logits(in, mode);
        return x + Real(0.1) * mean(x, {1}, true);
    };
    objective.loss = [&](const kit::Examples& e, const nn::Mode& mode) {
        return cross_entropy(objective.logits(e.inputs, mode), e.targets);
    };
    std::string expected;
    SECTION("the first logits are too large") {
        objective.logits = [&](const auto& in, const nn::Mode& mode) { return 40 * logits(in, mode); };
        expected = "first loss;";
    }
    SECTION("training computes another loss: here without the causal mask") {
        objective.loss = [&](const kit::Examples& e, const nn::Mode& mode) {
            return cross_entropy(without_mask(e.inputs, mode), e.targets);
        };
        expected = "first loss;";
    }
    SECTION("a loss that is not a number") {
        objective.logits = [&](const auto& in, const nn::Mode& mode) {
            return logits(in, mode) * Tensor::full({}, NAN);
        };
        expected = "first loss;one batch by heart;without its input;the future;padding;learning rate;";
    }
    SECTION("a rate at which nothing is learned, or one that is too large") {
        s.learning_rate = GENERATE(1e-7, 30.0);
        expected = "one batch by heart;learning rate;";
    }
    SECTION("answers come from elsewhere: here from the number of the row") {
        const Tensor known = Tensor::zeros({4, 3, 11}).require_grad();
        s.run_model.parameters.push_back({"known", known});
        objective.logits = [&, known](const auto& in, const nn::Mode& mode) {
            return logits(in, mode) + (in[1].length() == 3 ? 50 * known : Tensor::zeros({}));
        };
        expected = "without its input;";
    }
    SECTION("no causal mask") {
        objective.logits = without_mask;
        expected = "the future;padding;";
    }
    SECTION("an input that is not shifted") {
        objective.examples = [](int64_t i) {
            const Tokens read = kit::examples_of(Subject::batch(i)).inputs[1];
            return kit::Examples{{read, read}, read};
        };
        expected = "the future;";
    }
    SECTION("padding that is seen") {
        objective.logits = [&](const auto& in, const nn::Mode& mode) {
            return logits({Tokens(in[0].batch(), in[0].length(), in[0].ids()), in[1]}, mode);
        };
        expected = "padding;";
    }
    CHECK(s.odd() == expected);
    INFO(s.all);
    CHECK_FALSE(s.well);
    // Below each of them is what that usually means: one line, a sentence or more.
    int64_t odd = 0, explained = 0;
    for (const std::string& line : lines_of(s.all)) {
        odd += line.starts_with("ODD ");
        explained += line.starts_with("     ") && line[5] >= 'A' && line[5] <= 'Z' && line.ends_with('.');
    }
    CHECK(explained == odd);
}

TEST_CASE("check: a question that cannot be asked says why, and finds no fault", "[apps][check]") {
    Subject s;
    const auto examples = s.plan.objective.examples;
    const auto each_is = [&](const auto& cut) {
        s.plan.objective.examples = [=](int64_t) {
            const kit::Examples e = examples(1);
            return kit::Examples{autograd::mapped(e.inputs, cut), cut(e.targets)};
        };
    };
    std::string answer;
    SECTION("a model that may read all that there is") {
        s.plan.objective.causal = false;
        answer = "the future: not asked; every position may read all that there is\n";
    }
    SECTION("texts of one symbol") {
        each_is([](const Tokens& t) { return t.slice(0, 1); });
        answer = "the future: not asked; the texts are too short\n";
    }
    SECTION("a single example") {
        each_is([](const Tokens& t) {
            return Tokens(1, t.length(), {t.ids().begin(), t.ids().begin() + t.length()}, t.pad());
        });
        answer = "without its input: not asked; there is only one example\n";
    }
    CHECK(s.odd() == "");
    check_says(s.all, {answer});
    CHECK(s.well);
}

TEST_CASE("check: the programs ask, end with the answer, and leave nothing behind", "[apps][check]") {
    const Place here;
    here.write("pairs", "a b\tb a\nc d\td c\ne f g\tg f e\n");
    here.write("text", repeated("The lamp was lit at dusk, the sea was calm. ", 120));
    const std::string small = " --d-model 16 --heads 2 --layers 1 ", reverse = "reverse_task" + small;
    const Result well = here.must(reverse + "--check --save run");
    CHECK(count_of("\n", well.out) == 7);  // the last has a curve
    CHECK_FALSE(contains(well.out, "ODD"));
    CHECK_FALSE(std::filesystem::exists(here / "run"));
    const Result odd = here(reverse + "--check --lr 1e-8");
    CHECK(odd.status == 1);
    check_says(odd.out, {"ODD  learning rate"});
    CHECK(here("reverse_task --steps 2 --save run").status == 1);  // it learned little
    CHECK(here("reverse_task --resume run --check").status == 2);
    for (const std::string& command :
         Words{reverse + "--precision bf16", "tasks reverse", "toy_translate", "classify",
               "translate train pairs" + small, "generate train text --d-model 16 --context 16"})
        here.must(command + " --check");
}

namespace {

// A model of one number, the logit of the right answer; all others are 0. Of 16 texts half have one answer,
// and half another. A test says what training costs.
struct Told : Subject {
    Told() {
        run_model.parameters = {{"logit", logit}};
        learning_rate = 0.1;
        plan.objective.examples = [this](int64_t step) {
            asked = step;
            const auto texts = [](int32_t id) {
                std::vector<int32_t> ids;
                for (int32_t i = 0; i < 16 * 5; ++i)
                    ids.push_back(id + i / 5 % 2);
                return Tokens(16, 5, ids, models::kPad);
            };
            return kit::Examples{{texts(6)}, texts(4)};
        };
        plan.objective.logits = [this](const auto& in, const nn::Mode&) {
            std::vector<Real> right;
            for (int64_t i = 0; i < in[0].batch() * in[0].length() * 11; ++i)
                right.push_back(Real(i % 11 == 4 + i / (11 * in[0].length()) % 2));
            return logit * Tensor::from({in[0].batch(), in[0].length(), 11}, right);
        };
        plan.objective.loss = [this](const kit::Examples& e, const nn::Mode& mode) {
            return mode.training && training_loss
                       ? training_loss(asked)
                       : cross_entropy(plan.objective.logits(e.inputs, mode), e.targets);
        };
    }
    // So that a first loss is this.
    void costs(double loss) { *logit.mutable_data() = Real(std::log(10 / (std::exp(loss) - 1))); }
    // The batches of the trial of rates cost this, and then much more, which ends it.
    void falls(const std::vector<double>& losses) {
        training_loss = [this, losses](int64_t step) {
            const auto i = static_cast<std::size_t>(step - 1);
            return full(i < losses.size() ? losses[i] : 1e3);
        };
    }
    Tensor full(double loss) const { return Real(0) * logit + Tensor::full({}, Real(loss)); }

    bool is_odd(const std::string& question) const {
        odd();
        check_says(all, {question + ": "});
        return contains(all, "ODD  " + question + ": ");
    }
    const Tensor logit = Tensor::full({}, 1).require_grad();
    std::function<Tensor(int64_t step)> training_loss = {};
    int64_t asked = 0;  // the step of the last examples
};

}  // namespace

TEST_CASE("check: a first loss may be 2.5 more than a guess costs", "[apps][check]") {
    const double guess = std::log(11.0);
    for (const auto& [loss, is_odd] : {std::pair(guess + 2.49, false), std::pair(guess + 2.51, true)}) {
        Told s;
        s.costs(loss);
        CHECK(s.is_odd("first loss") == is_odd);
    }
}

TEST_CASE("check: a rate from a thousandth to twice that up to which the loss fell", "[apps][check]") {
    for (const auto& [rate, is_odd] : {std::pair(2e-6, false), std::pair(2.01e-6, true),
                                       std::pair(1.01e-9, false), std::pair(0.99e-9, true)}) {
        Told s;
        s.falls({1});  // and not after the lowest rate, 1e-6
        s.learning_rate = rate;
        CHECK(s.is_odd("learning rate") == is_odd);
        CHECK(contains(s.all, "the loss fell until 0.0000010\n"));
    }
}

TEST_CASE("check: the curve of the rates is that of the mean losses", "[apps][check]") {
    Told s;
    s.falls({4, 1, 1});  // means 4, 3.1, 2.47: 0.3 of each loss, and 0.7 of the mean before it
    s.odd();
    const auto check_curve = [&](const std::vector<double>& heights) {
        std::string curve;
        for (const double height : heights)
            curve += kit::bar(height, 0, 1, kit::stdout_ink());
        check_says(s.all, {"\n" + std::string(20, ' ') + curve + "\n"});
    };
    check_curve({1.0, 0.63 / 1.53, 0.0, 1.0});  // the last one is much higher, and cut
    s.falls({1});                               // no loss is below the first
    s.odd();
    check_curve({1, 1});
}

TEST_CASE("check: it learns with the paper's Adam, and the rates that it tries", "[apps][check]") {
    Told s;
    *s.logit.mutable_data() = 0;
    const auto almost_flat = [&](double loss) { return Real(1e-9) * s.logit + s.full(loss); };
    std::vector<Real> learned, tried;  // the weight before each step
    s.plan.objective.loss = [&](const kit::Examples&, const nn::Mode& mode) {
        if (mode.training) {
            tried.push_back(s.logit.item());
            return almost_flat(s.asked < 2 ? 1 : 1e3);
        }
        learned.push_back(s.logit.item());
        return almost_flat(learned.size() < 3 ? 1 : 0);
    };
    s.odd();
    // A gradient as small as Adam's eps, 1e-9, moves the weight by half of the rate.
    REQUIRE(learned.size() > 2);  // the first of them was only asked for its loss
    CHECK(learned[1] == 0);
    CHECK(learned[2] == Approx(-0.5 * 0.1 / 20).epsilon(0.001));  // the first of 20 steps of warmup
    REQUIRE(tried.size() == 3);                                   // the first of them was to measure its time
    CHECK(tried[1] == 0);
    CHECK(tried[2] == Approx(-0.5 * 1e-6).epsilon(0.001));
}
