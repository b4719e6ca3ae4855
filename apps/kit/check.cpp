#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <string_view>

#include "apps/kit/picture.h"
#include "apps/kit/program.h"
#include "apps/kit/run.h"
#include "autograd/base/list.h"
#include "autograd/ops.h"
#include "nn/checkpoint/file.h"

namespace plaingrad::kit {

extern const std::string_view help_texts;  // help_texts.txt, compiled in by the Makefile

namespace {

using autograd::join;
using autograd::Real;
using autograd::Tensor;
using autograd::Tokens;
using Clock = std::chrono::steady_clock;

constexpr int64_t kExamples = 32, kPositions = 32;  // of the examples that are looked at
constexpr int64_t kWarmup = 20, kMostSteps = 1000;  // steps of one training,
constexpr double kSeconds = 5;                      // which ends after this time

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// The first `rows`, cut after `length` positions or filled with padding; with new_id(row, position) as ids.
template <class NewId>
Tokens changed(const Tokens& tokens, int64_t rows, int64_t length, const NewId& new_id) {
    std::vector<int32_t> ids;
    for (int64_t b = 0; b < rows; ++b)
        for (int64_t t = 0; t < length; ++t)
            ids.push_back(t < tokens.length() ? new_id(b, t) : tokens.pad());
    return Tokens(rows, length, ids, tokens.pad());
}
Tokens resized(const Tokens& tokens, int64_t rows, int64_t length) {
    return changed(tokens, rows, length, [&](int64_t b, int64_t t) { return tokens.at(b, t); });
}

// The beginnings of a few examples, two positions shorter than the longest: so they can be padded.
Examples few_of(const Examples& all) {
    const auto cut = [&](const Tokens& tokens) {
        return resized(tokens, std::min(kExamples, tokens.batch()),
                       std::clamp<int64_t>(tokens.length() - 2, 1, kPositions));
    };
    return {autograd::mapped(all.inputs, cut), cut(all.targets)};
}

// Whether logits (B, T, V), or (B, V), have the same bits at the first `positions`.
bool same(const Tensor& a, const Tensor& b, int64_t positions) {
    const int64_t B = a.size(0), n = (a.rank() == 3 ? positions : 1) * a.size(-1);
    bool all = true;
    for (int64_t i = 0; i < B; ++i)
        all = all && std::memcmp(a.data() + i * a.numel() / B, b.data() + i * b.numel() / B,
                                 static_cast<std::size_t>(n) * sizeof(Real)) == 0;
    return all;
}

// The lowest mean loss that is possible: the entropy of the targets for which a model sees the same.
template <class Seen>
double least_loss(const Tokens& targets, const Seen& seen) {
    std::map<std::vector<int32_t>, std::map<int32_t, double>> times;
    for (int64_t b = 0; b < targets.batch(); ++b)
        for (int64_t t = 0; t < targets.length(); ++t)
            if (targets.at(b, t) != targets.pad())
                ++times[seen(b, t)][targets.at(b, t)];
    double sum = 0, count = 0;
    for (const auto& [what, ids] : times) {
        double here = 0;
        for (const auto& [id, n] : ids)
            here += n;
        for (const auto& [id, n] : ids)
            sum -= n * std::log(n / here);
        count += here;
    }
    return sum / count;
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
        return plan.objective.logits(inputs, nn::Mode::eval());
    }
    double loss() const { return static_cast<double>(cross_entropy(logits(few.inputs), few.targets).item()); }

    Answer first_loss() {
        const autograd::NoGrad no_grad;
        constexpr double kVaries = 2.5;  // random logits cost half their variance more, with few ids, too
        const int64_t V = logits(few.inputs).size(-1);
        const double first = loss(), guess = std::log(static_cast<double>(V));
        const auto trained = static_cast<double>(plan.objective.loss(few, nn::Mode::eval()).item());
        if (!(std::abs(first - trained) <= 1e-3))
            return {join(number(trained, 3), " in training, but the logits say ", number(first, 3)), false};
        return {join(number(first, 3), "; a guess among ", V, " ids costs ln ", V, " = ", number(guess, 3)),
                (plan.pretrained || first >= 0.5 * guess) && first <= guess + std::max(0.5 * guess, kVaries)};
    }

    static void step(nn::Adam& adam, const Tensor& loss, double rate) {
        adam.zero_grad();
        loss.backward();
        adam.step(rate, nn::clip_scale(nn::grad_norm(adam.parameters()), 1));
    }

    // Learns these examples, until the loss is `enough` or after `most` steps. Returns the last loss.
    double learn(const Examples& examples, double enough, int64_t most) {
        nn::Adam adam(model.parameters, {.beta2 = 0.98, .eps = 1e-9});
        const auto start = Clock::now();
        double last = INFINITY;
        for (steps = 0; steps < most && !(last <= enough) && since(start) < kSeconds; ++steps) {
            const Tensor mean = plan.objective.loss(examples, nn::Mode::eval());
            last = static_cast<double>(mean.item());
            step(adam, mean, plan.learning_rate * std::min(1.0, static_cast<double>(steps + 1) / kWarmup));
        }
        return last;
    }

    Answer by_heart() {
        // Two examples may begin alike, and go on differently.
        const double least = least_loss(few.targets, [&](int64_t b, int64_t t) {
            std::vector<int32_t> ids = {static_cast<int32_t>(t)};
            for (const Tokens& input : few.inputs)
                for (int64_t i = 0; i < input.length(); ++i)
                    if (&input != &few.inputs.back() || !plan.objective.causal || i <= t)
                        ids.push_back(input.at(b, i));
            return ids;
        });
        const double before = loss(), after = learn(few, least + 0.1 * before, kMostSteps);
        const std::string came =
            join("loss ", number(before, 3), " to ", number(after, 3), " in ", counted(steps, "step"),
                 least > 0.1 ? "; none can be below " + number(least, 3) : "");
        if (steps < kMostSteps && after > least + 0.2 * before && after < 0.8 * before)
            return {came + "; it was still falling when the time was up"};
        return {came, after <= least + 0.2 * before};
    }

    Answer without_input() {
        const auto blank = [](const Tokens& input) {
            return changed(input, input.batch(), input.length(), [&](auto...) { return input.at(0, 0); });
        };
        const auto place = [](int64_t, int64_t t) { return std::vector{static_cast<int32_t>(t)}; };
        const double least = least_loss(few.targets, place),
                     after = learn({autograd::mapped(few.inputs, blank), few.targets}, 0, steps);
        if (least < 0.1)
            return {"not asked; these examples have one answer"};
        return {join("loss ", number(after, 3), "; without the input, none can be below ", number(least, 3)),
                after > 0.95 * least};
    }

    Answer future() {
        const Tokens& last = few.inputs.back();
        const int64_t T = last.length(), at = T / 2;
        if (!plan.objective.causal || T < 2)
            return {plan.objective.causal ? "not asked; these texts are too short"
                                          : "every position may read the whole text"};
        std::vector<Tokens> inputs = few.inputs;
        inputs.back() = changed(last, last.batch(), T, [&](int64_t b, int64_t t) {
            const int32_t id = last.at(b, t), first = last.at(b, 0);
            return t != at || id == last.pad() ? id : id != first ? first : last.at(b, 1);
        });
        if (last.ids() == few.targets.ids())
            return {"the input is what it should predict", false};
        const bool equal = same(logits(few.inputs), logits(inputs), at);
        return {join("a changed token changes ", equal ? "no bit of " : "", "what is predicted before it"),
                equal};
    }

    Answer padding() {
        const auto longer = [](const Tokens& t) { return resized(t, t.batch(), t.length() + 2); };
        const Tensor padded = logits(autograd::mapped(few.inputs, longer));
        const bool equal = same(logits(few.inputs), padded, few.targets.length());
        return {equal ? "changes no bit of the answers" : "changes the answers", equal};
    }

    Answer saved() {
        const Tensor before = logits(few.inputs);
        std::string folder = std::filesystem::temp_directory_path() / "plaingrad-check-XXXXXX";
        autograd::check(mkdtemp(folder.data()) != nullptr, folder,
                        ": this folder cannot be made: ", std::strerror(errno),
                        "; set TMPDIR to one for temporary files");
        std::error_code none;
        const std::shared_ptr<void> at_the_end(nullptr,
                                               [&](void*) { std::filesystem::remove_all(folder, none); });
        const std::string file = nn::checkpoint::in_folder(folder, "model");
        models::save_checkpoint(file, model.state);
        for (const nn::NamedParameter& p : model.parameters)
            std::fill_n(p.tensor.mutable_data(), p.tensor.numel(), Real(NAN));
        models::load_weights(file, model.state);
        const bool equal = same(before, logits(few.inputs), few.targets.length());
        return {equal ? "the same bits" : "other answers", equal};
    }

    // Smith 2017, "Cyclical Learning Rates for Training Neural Networks", §3.3: the rate grows from step to
    // step, and the loss tells where it becomes too large.
    Answer learning_rates() {
        constexpr double kLowest = 1e-6, kHighest = 1;
        constexpr int64_t kLeast = 12, kFinest = 60;
        const auto start = Clock::now();
        plan.try_batch(1);
        const auto affordable = static_cast<int64_t>(kSeconds / since(start));
        if (affordable < kLeast)
            return {"not asked; a step takes too long"};
        nn::Adam adam(model.parameters, {.beta2 = 0.98, .eps = 1e-9});
        const auto n = static_cast<double>(std::min(affordable, kFinest));
        double mean = 0, lowest = INFINITY, best = 0;
        std::vector<double> means;
        for (double i = 0; i < n && (i == 0 || mean < 1.5 * means[0]); ++i) {
            const double rate = kLowest * std::pow(kHighest / kLowest, i / (n - 1));
            const Tensor loss = plan.try_batch(1 + static_cast<int64_t>(i));
            mean = (i == 0 ? 1 : 0.3) * static_cast<double>(loss.item()) + (i == 0 ? 0 : 0.7) * mean;
            means.push_back(mean);
            best = mean < lowest ? rate : best;
            lowest = std::min(lowest, mean);
            step(adam, loss, rate);
        }
        std::string curve;
        for (const double x : means)
            curve += bar((x - lowest) / (means[0] - lowest), 0, 1, stdout_ink());
        return {
            join("the highest is ", rounded(plan.learning_rate, 2), "; in a trial from ", rounded(kLowest, 1),
                 " upwards, the loss fell until ", rounded(best, 2), '\n', std::string(20, ' '), curve),
            plan.learning_rate <= 2 * best && plan.learning_rate >= best / 1000};
    }

    const models::RunModel& model;
    const RunPlan& plan;
    const Examples few = few_of(plan.objective.examples(1));
    int64_t steps = 0;  // of the last training
};

constexpr std::pair<const char*, Answer (Check::*)()> kQuestions[] = {
    {"first loss", &Check::first_loss},
    {"one batch by heart", &Check::by_heart},
    {"without its input", &Check::without_input},
    {"the future", &Check::future},
    {"padding", &Check::padding},
    {"saved and loaded", &Check::saved},
    {"learning rate", &Check::learning_rates}};

}  // namespace

Examples part_of(const Examples& batch, const nn::StepPart& at) {
    const std::vector<int32_t> ids = batch.inputs[0].lengths();
    const std::vector<int64_t> lengths(ids.begin(), ids.end());
    Examples part = {{}, models::part_of(batch.targets, lengths, at)};
    for (const Tokens& input : batch.inputs)
        part.inputs.push_back(models::part_of(input, lengths, at));
    return part;
}
Examples examples_of(const models::Batch& batch) { return {{batch.src, batch.read()}, batch.said()}; }
Examples examples_of(const Tokens& texts) {
    const int64_t T = texts.length() - 1;
    return {{texts.slice(0, T)}, texts.slice(1, T + 1)};
}

bool check(const models::RunModel& model, const RunPlan& plan) {
    Check check = {model, plan};
    const auto weights =
        autograd::mapped(model.parameters, [](const auto& p) { return p.tensor.to_vector(); });
    bool well = true;
    for (const auto& [question, ask] : kQuestions) {
        const auto& [came, as_expected] = (check.*ask)();
        nn::zero_grad(model.parameters);
        for (std::size_t i = 0; i < weights.size(); ++i)
            std::copy(weights[i].begin(), weights[i].end(), model.parameters[i].tensor.mutable_data());
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
