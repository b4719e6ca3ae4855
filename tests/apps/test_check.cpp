// --check: each of its questions gets its expected answer for a healthy model, and another one where a fault
// was planted.
#include "apps/kit/check.h"

#include <cmath>
#include <iostream>
#include <sstream>

#include "apps/kit/plan.h"
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
    kit::Plan plan = {.trial = kit::trial_of(model, [](int64_t i) { return kit::examples_of(batch(i)); }),
                      .learning_rate = 0.01,
                      .batch = [this](const nn::StepPart& at, const nn::Mode& mode) {
                          return models::teacher_forcing(model, batch(at.step), mode);
                      }};

    // The lines of the questions that were not answered as expected, without what they usually mean.
    std::string odd() const {
        std::ostringstream printed;
        std::streambuf* const before = std::cout.rdbuf(printed.rdbuf());
        well = kit::check(run_model, plan);
        std::cout.rdbuf(before);
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
    INFO(s.all);
    CHECK(s.well);
    CHECK(nn::parameters(s.model)[0].tensor.to_vector() == before);
    CHECK_FALSE(nn::parameters(s.model)[0].tensor.has_grad());
    for (const char* question : {"first loss", "one batch by heart", "without its input", "the future",
                                 "padding", "saved and loaded", "gradients in double", "learning rate"})
        CHECK(s.all.find(question) != std::string::npos);
}

TEST_CASE("check: a planted fault makes its question odd", "[apps][check]") {
    Subject s;
    const auto logits = s.plan.trial.logits;
    s.plan.trial.loss = [&](const kit::Examples& e, const nn::Mode& mode) {
        return cross_entropy(s.plan.trial.logits(e.inputs, mode), e.targets);
    };
    std::string expected;
    SECTION("the first logits are too large") {
        s.plan.trial.logits = [&](const auto& in, const nn::Mode& mode) { return 40 * logits(in, mode); };
        expected = "first loss;";
    }
    SECTION("training computes another loss: here without the causal mask") {
        s.plan.trial.loss = [&](const kit::Examples& e, const nn::Mode& mode) {
            const Tensor x = logits(e.inputs, mode);
            return cross_entropy(x + Real(0.1) * mean(x, {1}, true), e.targets);
        };
        expected = "first loss;";
    }
    SECTION("a loss that is not a number") {
        s.plan.trial.logits = [&](const auto& in, const nn::Mode& mode) {
            return logits(in, mode) * Tensor::full({}, NAN);
        };
        expected = "first loss;one batch by heart;without its input;";
    }
    SECTION("a rate at which nothing is learned") {
        s.plan.learning_rate = 1e-7;
        expected = "one batch by heart;learning rate;";
    }
    SECTION("a rate that is too large") {
        s.plan.learning_rate = 30;
        expected = "one batch by heart;learning rate;";
    }
    SECTION("answers come from elsewhere: here from the number of the row") {
        const Tensor known = Tensor::zeros({16, 3, 11}).require_grad();
        s.run_model.parameters.push_back({"known", known});
        s.plan.trial.logits = [&, known](const auto& in, const nn::Mode& mode) {
            return logits(in, mode) + (in[1].length() == 3 ? 50 * known : Tensor::zeros({}));
        };
        expected = "without its input;saved and loaded;";  // which it cannot be
    }
    SECTION("no causal mask") {
        s.plan.trial.logits = [&](const auto& in, const nn::Mode& mode) {
            const Tensor x = logits(in, mode);
            return x + Real(0.1) * mean(x, {1}, true);
        };
        expected = "the future;padding;";
    }
    SECTION("an input that is not shifted") {
        s.plan.trial.examples = [](int64_t i) {
            const Tokens read = kit::examples_of(Subject::batch(i)).inputs[1];
            return kit::Examples{{read, read}, read};
        };
        expected = "the future;";
    }
    SECTION("padding that is seen") {
        s.plan.trial.logits = [&](const auto& in, const nn::Mode& mode) {
            return logits({Tokens(in[0].batch(), in[0].length(), in[0].ids()), in[1]}, mode);
        };
        expected = "padding;";
    }
    SECTION("a weight that is not in the file") {
        autograd::Tensor& w = s.run_model.state.entries.back().tensor;
        w = w.clone();  // which loading fills, and not the model's
        expected = "saved and loaded;";
    }
    const std::string found = s.odd();
    INFO(s.all);
    CHECK(found == expected);
    CHECK_FALSE(s.well);
}

TEST_CASE("check: the programs ask, end with the answer, and leave nothing behind", "[apps][check]") {
    const Folder folder;
    const Words small = {"--check", "--d-model", "16", "--heads", "2", "--layers", "1"};
    const auto with = [&](Words words) {
        words.insert(words.end(), small.begin(), small.end());
        return words;
    };
    const Result well = run("reverse_task", with({"--save", folder / "run"}));
    INFO(well.out << well.err);
    CHECK(well.status == 0);
    CHECK(std::count(well.out.begin(), well.out.end(), '\n') == 9);  // the last has a curve
    CHECK(well.out.find("ODD") == std::string::npos);
    CHECK_FALSE(std::filesystem::exists(folder / "run"));
    if (std::filesystem::exists("apps/check_gradients"))
        CHECK(well.out.find("ok   gradients in double") != std::string::npos);

    const Result odd = run("reverse_task", with({"--lr", "1e-8"}));
    CHECK(odd.status == 1);
    CHECK(odd.out.find("ODD  learning rate") != std::string::npos);
    CHECK(run("reverse_task", {"--steps", "2", "--save", folder / "run"}).status == 1);  // it learned little
    CHECK(run("reverse_task", {"--resume", folder / "run", "--check"}).status == 2);
    CHECK(run("reverse_task", with({"--precision", "bf16"})).status == 0);  // its gradients without rounding
    CHECK(run("tasks", {"reverse", "--check"}).status == 0);
    CHECK(run("toy_translate", {"--check"}).status == 0);
    CHECK(run("classify", {"--check"}).status == 0);
    const Words pairs = {"train",   folder.write("p.tsv", "a b\tb a\nc d\td c\ne f g\tg f e\n"),
                         "--check", "--d-model",
                         "16",      "--layers",
                         "1"};
    CHECK(run("translate", pairs).status == 0);
    CHECK(run("char_lm", {"train", "README.md", "--check", "--d-model", "16", "--context", "16"}).status ==
          0);
}
