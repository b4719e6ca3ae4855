#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string_view>

#include "apps/kit/picture.h"
#include "apps/kit/run.h"
#include "autograd/base/list.h"
#include "autograd/ops.h"

namespace plaingrad::kit {

extern const std::string_view help_texts;  // help_texts.txt, compiled in by the Makefile

namespace {

using Clock = std::chrono::steady_clock;

// Of the examples that are looked at. So few hardly begin alike: where texts do, no model can know how they
// go on.
constexpr int64_t kExamples = 4, kPositions = 32;
constexpr int64_t kWarmup = 20, kMostSteps = 1000;  // steps of one training,
constexpr double kSeconds = 5;                      // which ends after this time

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// The first `rows`, cut after `length` positions or filled with padding; token types, with type 0.
Tokens resized(const Tokens& tokens, int64_t rows, int64_t length) {
    std::vector<int32_t> ids;
    for (int64_t b = 0; b < rows; ++b)
        for (int64_t t = 0; t < length; ++t)
            ids.push_back(t < tokens.length() ? tokens.at(b, t) : std::max(tokens.pad(), 0));
    return Tokens(rows, length, ids, tokens.pad());
}

// The beginnings of a few examples, two positions shorter than the longest: so they can be padded.
Examples few_of(const Examples& all) {
    const auto cut = [&](const Tokens& tokens) {
        return resized(tokens, std::min(kExamples, tokens.batch()),
                       std::clamp<int64_t>(tokens.length() - 2, 1, kPositions));
    };
    return {autograd::mapped(all.inputs, cut), cut(all.targets)};
}

// Whether logits (B, T, V), or (B, V), are the same at the first `positions`.
bool same(const Tensor& a, const Tensor& b, int64_t positions) {
    const auto first = [=](const Tensor& x) {
        return (x.rank() == 3 ? slice(x, 1, 0, positions) : x).to_vector();
    };
    return first(a) == first(b);
}

double highest(const models::RunOptions& options) {
    double rate = 0;
    for (int64_t i = 0; i < 1000; ++i)
        rate = std::max(rate, options.learning_rate(1 + options.steps * i / 1000));
    return rate;
}

// The result, and whether it is as expected; nothing if that was not asked.
struct Answer {
    std::string came;
    std::optional<bool> as_expected = {};
};

// The questions. Some of them change the weights.
struct Check {
    Tensor logits(const std::vector<Tokens>& inputs) const {
        const autograd::NoGrad no_grad;
        return objective.logits(inputs, nn::Mode::eval());
    }
    double loss() const { return static_cast<double>(cross_entropy(logits(few.inputs), few.targets).item()); }

    Answer first_loss() {
        const autograd::NoGrad no_grad;
        constexpr double kVaries = 2.5;  // random logits cost half their variance more, with few ids, too
        const int64_t V = logits(few.inputs).size(-1);
        const double first = loss(), guess = std::log(static_cast<double>(V));
        const auto trained = static_cast<double>(objective.loss(few, nn::Mode::eval()).item());
        if (!(std::abs(first - trained) <= 1e-3))
            return {join(number(trained, 3), " in training, but the logits say ", number(first, 3)), false};
        return {join(number(first, 3), "; a guess among ", V, " ids costs ln ", V, " = ", number(guess, 3)),
                first <= guess + std::max(0.5 * guess, kVaries)};
    }

    static void step(nn::Adam& adam, const Tensor& loss, double rate) {
        adam.zero_grad();
        loss.backward();
        adam.step(rate, nn::clip_scale(nn::grad_norm(adam.parameters()), 1));
    }

    // Learns the few examples, until hardly any loss is left.
    Answer by_heart() {
        nn::Adam adam(run.model.parameters, {.beta2 = 0.98, .eps = 1e-9});
        const auto start = Clock::now();
        const double before = loss();
        double last = INFINITY;
        int64_t steps = 0;
        for (; steps < kMostSteps && !(last <= 0.1 * before) && since(start) < kSeconds; ++steps) {
            const Tensor mean = objective.loss(few, nn::Mode::eval());
            last = static_cast<double>(mean.item());
            step(adam, mean, rate * std::min(1.0, static_cast<double>(steps + 1) / kWarmup));
        }
        const std::string came =
            join("loss ", number(before, 3), " to ", number(last, 3), " in ", counted(steps, "step"));
        if (steps < kMostSteps && last > 0.3 * before && last < 0.8 * before)
            return {came + "; it was still falling when the time was up"};
        return {came, last <= 0.3 * before};
    }

    Answer without_input() {
        const auto blank = [](const Tokens& input) {
            return Tokens(input.batch(), input.length(),
                          std::vector<int32_t>(input.ids().size(), input.at(0, 0)), input.pad());
        };
        by_heart();  // what leaks in is then used
        const Tensor all = logits(autograd::mapped(few.inputs, blank));
        bool equal = true;
        for (int64_t b = 1; b < all.size(0); ++b)
            equal = equal && all[b].to_vector() == all[0].to_vector();
        if (all.size(0) < 2)
            return {"not asked; there is only one example"};
        return {equal ? "all examples get the same answer" : "the answers differ", equal};
    }

    Answer future() {
        const Tokens& last = few.inputs.back();
        const int64_t at = last.length() / 2;
        if (!objective.causal)
            return {"not asked; every position may read all that there is"};
        if (at == 0)
            return {"not asked; the texts are too short"};
        if (last.ids() == few.targets.ids())
            return {"the input is what it should predict", false};
        std::vector<Tokens> inputs = few.inputs;
        inputs.back() = resized(last, last.batch(), at);
        const bool equal = same(logits(few.inputs), logits(inputs), at);
        return {join("what comes later changes ", equal ? "no bit of " : "", "what is predicted before it"),
                equal};
    }

    Answer padding() {
        const auto longer = [](const Tokens& t) { return resized(t, t.batch(), t.length() + 2); };
        const Tensor padded = logits(autograd::mapped(few.inputs, longer));
        const bool equal = same(logits(few.inputs), padded, few.targets.length());
        return {equal ? "changes no bit of the answers" : "changes the answers", equal};
    }

    // Smith 2017, "Cyclical Learning Rates for Training Neural Networks", §3.3: the rate grows from step to
    // step, and the loss tells where it becomes too large.
    Answer learning_rates() {
        constexpr double kLowest = 1e-6, kHighest = 1;
        constexpr int64_t kLeast = 12, kFinest = 60;
        const auto start = Clock::now();
        run.plan.try_batch(1);
        const auto affordable = static_cast<int64_t>(kSeconds / since(start));
        if (affordable < kLeast)
            return {"not asked; a step takes too long"};
        nn::Adam adam(run.model.parameters, {.beta2 = 0.98, .eps = 1e-9});
        const auto n = static_cast<double>(std::min(affordable, kFinest));
        double mean = 0, lowest = INFINITY, best = 0;
        std::vector<double> means;
        for (double i = 0; i < n && (i == 0 || mean < 1.5 * means[0]); ++i) {
            const double tried = kLowest * std::pow(kHighest / kLowest, i / (n - 1));
            const Tensor loss = run.plan.try_batch(1 + static_cast<int64_t>(i));
            mean = (i == 0 ? 1 : 0.3) * static_cast<double>(loss.item()) + (i == 0 ? 0 : 0.7) * mean;
            means.push_back(mean);
            best = mean < lowest ? tried : best;
            lowest = std::min(lowest, mean);
            step(adam, loss, tried);
        }
        std::string curve;
        for (const double x : means)
            curve += bar((x - lowest) / (means[0] - lowest), 0, 1, stdout_ink());
        return {join("the highest is ", rounded(rate, 2), "; in a trial from ", rounded(kLowest, 1),
                     " upwards, the loss fell until ", rounded(best, 2), '\n', std::string(20, ' '), curve),
                rate <= 2 * best && rate >= best / 1000};
    }

    const Run& run;
    const Objective& objective = run.plan.objective;
    const Examples few = few_of(objective.examples(1));
    const double rate = highest(run.options);
};

constexpr std::pair<const char*, Answer (Check::*)()> kQuestions[] = {
    {"first loss", &Check::first_loss},
    {"one batch by heart", &Check::by_heart},
    {"without its input", &Check::without_input},
    {"the future", &Check::future},
    {"padding", &Check::padding},
    {"learning rate", &Check::learning_rates}};

}  // namespace

bool check(const Run& run) {
    Check check = {run};
    const std::vector<nn::NamedParameter>& parameters = run.model.parameters;
    const auto weights = autograd::mapped(parameters, [](const auto& p) { return p.tensor.to_vector(); });
    bool well = true;
    for (const auto& [question, ask] : kQuestions) {
        const auto& [came, as_expected] = (check.*ask)();
        nn::zero_grad(parameters);
        for (std::size_t i = 0; i < weights.size(); ++i)
            std::copy(weights[i].begin(), weights[i].end(), parameters[i].tensor.mutable_data());
        say(join(!as_expected   ? "-    "
                 : *as_expected ? "ok   "
                                : "ODD  ",
                 question, ": ", came),
            STDOUT_FILENO);
        const std::string heading = join("# --check: ", question, "\n");
        const std::size_t at = help_texts.find(heading) + heading.size();
        if (!as_expected.value_or(true))
            say("     " + std::string(help_texts.substr(at, help_texts.find('\n', at) - at)), STDOUT_FILENO);
        flush_output();
        well = well && as_expected.value_or(true);
    }
    return well;
}

}  // namespace plaingrad::kit
