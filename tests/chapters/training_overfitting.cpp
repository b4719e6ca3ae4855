// Overfitting: what a model learns from a short text by heart, and what stops it.
#include <algorithm>
#include <map>
#include <ostream>

#include "autograd/base/check.h"
#include "autograd/base/portable_math.h"
#include "autograd/graph.h"
#include "models/families/one_stack.h"
#include "nn/optim.h"
#include "tests/chapters/experiment.h"
#include "tests/chapters/print.h"
#include "tests/chapters/sections.h"
#include "tests/figures/figure.h"

namespace plaingrad::chapters {

using namespace autograd;

namespace {

constexpr int64_t kDigits = 10, kLength = 16, kBatch = 32, kSteps = 1000, kEvery = 50, kNew = 4096;
constexpr double kRate = 2e-3;

// In three of four places a digit is the sum of the two before it, mod 10; elsewhere it is random.
std::vector<int32_t> text(int64_t n, const Rng& rng) {
    std::vector<int32_t> digits;
    for (int64_t i = 0; i < n; ++i) {
        const auto draw = static_cast<uint64_t>(2 * i);
        const auto before = digits.end();
        const bool ruled = i >= 2 && rng.below(draw, 4) > 0;
        digits.push_back(
            static_cast<int32_t>(ruled ? (before[-1] + before[-2]) % kDigits : rng.below(draw + 1, kDigits)));
    }
    return digits;
}

// The probabilities that a model gives which knows the rule, and its loss: the lowest that is possible on a
// new text.
constexpr double kRight = 0.75 + 0.25 / kDigits, kWrong = 0.25 / kDigits;
double entropy() { return -kRight * portable::log(kRight) - (kDigits - 1) * kWrong * portable::log(kWrong); }

void example(std::ostream& out) {
    const std::vector<int32_t> digits = text(24, Rng(1));
    for (const int32_t digit : digits)
        out << ' ' << digit;
    out << "\n    ";
    for (std::size_t i = 2; i < digits.size(); ++i)
        out << (digits[i] == (digits[i - 1] + digits[i - 2]) % kDigits ? "  " : " ^");
    out << "\n\np(the sum)        = 0.75 + 0.25 / 10 = " << fixed(kRight, 3)
        << "\np(another digit)  = 0.25 / 10 = " << fixed(kWrong, 3) << "\nlowest loss       = -"
        << fixed(kRight, 3) << " ln " << fixed(kRight, 3) << " - 9 · " << fixed(kWrong, 3) << " ln "
        << fixed(kWrong, 3) << " = " << fixed(entropy()) << '\n';
}

// The loss of the windows that begin at these places. Their first digit alone says nothing of the second.
Tensor loss_of(const models::LanguageModel& model, const std::vector<int32_t>& text,
               const std::vector<int64_t>& places, const nn::Mode& mode) {
    constexpr int32_t kIgnored = kDigits;  // no digit
    std::vector<int32_t> ids, targets;
    for (const int64_t place : places)
        for (int64_t t = 0; t < kLength; ++t) {
            ids.push_back(text[static_cast<std::size_t>(place + t)]);
            targets.push_back(t == 0 ? kIgnored : text[static_cast<std::size_t>(place + t + 1)]);
        }
    const auto B = static_cast<int64_t>(places.size());
    const Tensor logits = model(Tokens(B, kLength, ids), mode);                       // (B, T, V)
    return cross_entropy(logits, Tokens(B, kLength, targets), {.ignore = kIgnored});  // ()
}

struct Setting {
    int64_t size;  // of the text to learn from
    double dropout = 0, decay = 0;
    auto operator<=>(const Setting&) const = default;
};

// Losses every kEvery steps: the mean of these steps, and that of the new text.
struct Curve {
    std::vector<double> steps, training, validation;
    std::size_t best() const {
        return static_cast<std::size_t>(std::min_element(validation.begin(), validation.end()) -
                                        validation.begin());
    }
};

Curve train(const Setting& setting, uint64_t seed) {
    const auto p = static_cast<Real>(setting.dropout);
    const models::LanguageModel model({.vocabulary = kDigits,
                                       .max_length = kLength,
                                       .n_layers = 2,
                                       .block = {.d_model = 64,
                                                 .n_heads = 4,
                                                 .d_ff = 256,
                                                 .norm = models::NormPlacement::pre,
                                                 .dropout = {p, p, 0, 0}}},
                                      Rng(seed));
    nn::Adam adam(nn::parameters(model), {.lr = kRate, .weight_decay = setting.decay, .decoupled = true});
    const std::vector<int32_t> learned = text(setting.size + 1, Rng(seed).fork("text")),
                               unseen = text(kNew + 1, Rng(seed).fork("new text"));
    std::vector<int64_t> all_places;
    for (int64_t place = 0; place < kNew; place += kLength)
        all_places.push_back(place);
    Curve curve;
    double sum = 0;
    for (int64_t step = 1; step <= kSteps; ++step) {
        const Rng rng = Rng(seed).fork(static_cast<uint64_t>(step));
        std::vector<int64_t> places;
        for (uint64_t b = 0; b < kBatch; ++b)
            places.push_back(static_cast<int64_t>(rng.below(b, setting.size - kLength + 1)));
        adam.zero_grad();
        const Tensor loss = loss_of(model, learned, places, nn::Mode::train(rng));
        loss.backward();
        adam.step();
        sum += static_cast<double>(loss.item());
        if (step % kEvery == 0) {
            const NoGrad no_grad;
            curve.steps.push_back(static_cast<double>(step));
            curve.training.push_back(sum / kEvery);
            curve.validation.push_back(static_cast<double>(loss_of(model, unseen, all_places, kEval).item()));
            sum = 0;
        }
    }
    return curve;
}

// Computed once.
const Curve& curve_of(const Setting& setting, uint64_t seed) {
    static std::map<std::pair<Setting, uint64_t>, Curve> curves;
    Curve& curve = curves[{setting, seed}];
    if (curve.steps.empty())
        curve = train(setting, seed);
    return curve;
}

constexpr Setting kShort = {4000}, kDropout = {4000, 0.2}, kDecay = {4000, 0, 1};

void results(std::ostream& out) {
    Rows rows = {
        {"digits of text", "training loss", "validation loss", "lowest validation loss", "after step"}};
    struct Means {
        double training, last, lowest;
    };
    const auto row = [&](const std::string& name, const Setting& setting) -> Means {
        std::vector<double> training, last, lowest;
        std::string when;
        for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
            const Curve& curve = curve_of(setting, seed);
            training.push_back(curve.training.back());
            last.push_back(curve.validation.back());
            lowest.push_back(curve.validation[curve.best()]);
            when += (seed > 1 ? ", " : "") + number(curve.steps[curve.best()]);
        }
        rows.push_back({name, fixed(mean_of(training)), of_seeds(last, 3), of_seeds(lowest, 3), when});
        return {mean_of(training), mean_of(last), mean_of(lowest)};
    };
    const Means least = row("1000", {1000}), few = row("4000", kShort), most = row("64000", {64000}),
                dropout = row("4000, dropout 0.2", kDropout), decay = row("4000, weight decay 1", kDecay);
    table(out, rows);
    const double guess = portable::log(double{kDigits});
    out << "\nAfter " << kSteps << " steps of Adam at " << kRate
        << ". The lowest loss that is possible on new text is " << fixed(entropy()) << "; guessing gives ln "
        << kDigits << " = " << fixed(guess) << ".\n";
    claim(least.training < 0.6 * entropy() && few.training < entropy() && most.training > entropy(),
          "a training loss below the entropy is memory, and a long text is not memorised in so many steps");
    claim(least.last > guess && few.last > few.lowest + 0.2, "memory is worse than a guess");
    claim(dropout.last < few.lowest + 0.05 && decay.last < few.lowest - 0.05,
          "dropout stops it, and weight decay does more");
}

std::string draw() {
    const auto line = [](const std::string& name, const Setting& setting, bool training = false) {
        const Curve& curve = curve_of(setting, 1);
        return figures::Series{
            .name = name, .y = training ? curve.training : curve.validation, .x = curve.steps};
    };
    const figures::LineChart chart = {.x = {.name = "step"},
                                      .y = {.name = "loss"},
                                      .series = {line("training", kShort, true),
                                                 line("validation", kShort),
                                                 line("validation, dropout 0.2", kDropout),
                                                 line("validation, weight decay 1", kDecay),
                                                 {.name = "lowest possible", .y = {entropy()}}}};
    return figures::svg("Learning 4000 digits, validated on others",
                        "The training loss falls below what is possible on new text; the validation loss "
                        "falls, turns and rises. With dropout or weight decay it does not rise.",
                        {chart});
}

const Adds kHere({{"nn.overfitting.text", Effort::quick, example},
                  {"nn.overfitting", Effort::training, results}},
                 {{"nn/figures/overfitting.svg", Effort::training, draw}});

}  // namespace

}  // namespace plaingrad::chapters
