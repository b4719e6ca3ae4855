// From gradient descent to Adam, in a valley; the corrections of Adam's first steps; clipping.
#include <algorithm>
#include <cmath>
#include <functional>
#include <ostream>

#include "autograd/base/check.h"
#include "autograd/base/portable_math.h"
#include "models/families/transformer.h"
#include "nn/optim.h"
#include "tests/chapters/experiment.h"
#include "tests/chapters/nn.h"
#include "tests/chapters/print.h"
#include "tests/figures/figure.h"

namespace plaingrad::chapters {

using namespace autograd;

namespace {

constexpr Real kSteep = 100;
// f(w) = (w1² + kSteep w2²) / 2: so many times as steep across as along.
struct Valley {
    Valley() : w(Tensor::from({2}, {1, 1})) {}
    void visit(nn::Visitor& v) const { v("w", w); }
    Tensor loss() const { return sum(w * w * Tensor::from({2}, {Real(0.5), kSteep / 2})); }
    nn::Parameter w;
};

// The losses before each step.
std::vector<double> descend(nn::Optimizer& optimizer, const Valley& valley, int steps) {
    std::vector<double> losses;
    for (int i = 0; i < steps; ++i) {
        optimizer.zero_grad();
        const Tensor loss = valley.loss();
        losses.push_back(static_cast<double>(loss.item()));
        loss.backward();
        optimizer.step();
    }
    return losses;
}

struct Run {
    std::string name;
    std::vector<double> losses;
};
std::vector<Run> valley_runs() {
    constexpr int kSteps = 201;
    std::vector<Run> runs;
    const auto sgd = [&](const std::string& name, const nn::SgdOptions& options) {
        const Valley v;
        nn::Sgd optimizer(nn::parameters(v), options);
        runs.push_back({name, descend(optimizer, v, kSteps)});
    };
    sgd("SGD, rate 0.021", {.lr = 0.021});
    sgd("SGD, rate 0.018", {.lr = 0.018});
    sgd("SGD, rate 0.018, momentum 0.8", {.lr = 0.018, .momentum = 0.8});
    const Valley v;
    nn::Adam adam(nn::parameters(v), {.lr = 0.05});
    runs.push_back({"Adam, rate 0.05", descend(adam, v, kSteps)});
    return runs;
}

void valley(std::ostream& out) {
    Rows rows = {{"loss after steps", "0", "10", "50", "200"}};
    const std::vector<Run> runs = valley_runs();
    for (const Run& run : runs) {
        std::vector<std::string> row = {run.name};
        for (const std::size_t i : {0u, 10u, 50u, 200u})
            row.push_back(digits(run.losses[i]));
        rows.push_back(row);
    }
    table(out, rows);
    claim(runs[0].losses[200] > 1e6 && runs[1].losses[200] < 0.01,
          "a rate of 0.021 is too large, one of 0.018 is not");
    claim(runs[2].losses[200] < 1e-6 * runs[1].losses[200], "momentum is faster in a valley");
}

std::string draw_valley() {
    const figures::Axis loss = {.name = "loss", .log = true, .low = 1e-9, .high = 1e3};
    figures::LineChart chart = {.x = {.name = "step"}, .y = loss, .series = {}};
    for (const Run& run : valley_runs()) {
        figures::Series line = {.name = run.name, .y = run.losses};
        for (std::size_t i = 0; i < run.losses.size(); ++i)
            line.x.push_back(static_cast<double>(i));
        chart.series.push_back(line);
    }
    return figures::svg(
        "Four ways down a valley",
        join("At a rate above ", digits(2 / static_cast<double>(kSteep), 1),
             " gradient descent diverges; below, it is slow along the valley; momentum and Adam "
             "are faster. Losses below ",
             digits(loss.low, 1), " and above ", fixed(loss.high, 0), " are drawn at the edge."),
        {chart});
}

// Ids 4, 5, 6, ..., the commonest first, as words are in a text: word r is 1/r times as frequent as the
// first.
Tokens words_of_a_text(int64_t B, int64_t T, int64_t words, const Rng& rng) {
    std::vector<double> sums = {0};
    for (int64_t r = 1; r <= words; ++r)
        sums.push_back(sums.back() + 1 / static_cast<double>(r));
    std::vector<int32_t> ids;
    for (int64_t i = 0; i < B * T; ++i) {
        const double at = rng.uniform(static_cast<uint64_t>(i)) * sums.back();
        const auto above = std::upper_bound(sums.begin(), sums.end(), at);
        ids.push_back(models::kFirstFreeId + static_cast<int32_t>(above - sums.begin()) - 1);
    }
    return {B, T, ids};
}

// A part of a model's parameters, and the mean over batches of the squares of its gradient.
struct Part {
    std::string name;
    std::function<Tensor()> grad;
    double squares = 0;
};

constexpr int64_t kWidth = 64, kVocabulary = 1000;

std::vector<Part> parts_of(const models::Transformer& model) {
    const auto& layer = model.encoder.layers[0];
    const auto word = [&](int64_t rank) {
        return [&model, rank] {
            return model.src_embedding.tokens.table->grad()[models::kFirstFreeId + rank - 1];
        };
    };
    const auto columns = [&](int64_t first) {
        return [&layer, first] {
            return slice(layer.self_attention.in_proj.weight->grad(), 1, first, first + kWidth);
        };
    };
    return {{"embedding of the commonest word", word(1)},
            {"embedding of word 10", word(10)},
            {"embedding of word 100", word(100)},
            {"W_Q of the first encoder layer", columns(0)},
            {"W_V of the first encoder layer", columns(2 * kWidth)},
            {"gain of its first norm", [&] { return layer.residual1.norm.gain->grad(); }},
            {"bias of the output", [&] { return model.output.bias->grad(); }}};
}

// RMS over 50 batches of the gradients of some parts of a new model.
void gradient_sizes(std::ostream& out) {
    constexpr int64_t kBatches = 50;
    const models::Transformer model(
        {.src_vocabulary = kVocabulary + models::kFirstFreeId,
         .vocabulary = kVocabulary + models::kFirstFreeId,
         .n_layers = 2,
         .n_decoder_layers = 2,
         .block = {.d_model = kWidth, .n_heads = 4, .d_ff = 256, .dropout = {0, 0, 0, 0}}},
        Rng(1));
    std::vector<Part> parts = parts_of(model);
    for (uint64_t batch = 0; batch < kBatches; ++batch) {
        const Rng rng = Rng(2).fork(batch);
        const Tokens src = words_of_a_text(16, 10, kVocabulary, rng.fork("src")),
                     tgt = words_of_a_text(16, 10, kVocabulary, rng.fork("tgt")),
                     said = words_of_a_text(16, 10, kVocabulary, rng.fork("out"));
        nn::zero_grad(model);
        model.loss(src, tgt, said, nn::Mode::eval()).backward();
        for (Part& part : parts)
            part.squares += static_cast<double>(mean(part.grad() * part.grad()).item()) / kBatches;
    }
    Rows rows = {{"parameter", "RMS of its gradient"}};
    std::vector<double> sizes;
    for (const Part& part : parts) {
        sizes.push_back(std::sqrt(part.squares));
        rows.push_back({part.name, digits(sizes.back(), 2)});
    }
    table(out, rows);
    const auto [least, most] = std::minmax_element(sizes.begin(), sizes.end());
    claim(*most > 10 * *least, "gradients differ by more than an order of magnitude");
}

// Adam's first three steps on gradients of one weight, by the formulas.
void adam_by_hand(std::ostream& out) {
    struct One {
        One() : w(Tensor::from({1}, {1})) {}
        void visit(nn::Visitor& v) const { v("w", w); }
        nn::Parameter w;
    } one;
    nn::Adam adam(nn::parameters(one), {.lr = 0.1});
    double m = 0, v = 0, w = 1;
    Rows rows = {{"t", "g", "m", "v", "m/(1 - 0.9^t)", "v/(1 - 0.999^t)", "w by hand", "w, `Adam`"}};
    const double gradients[] = {0.2, 0.2, -0.1};
    for (int t = 1; t <= 3; ++t) {
        const double g = gradients[t - 1];
        m = 0.9 * m + 0.1 * g;
        v = 0.999 * v + 0.001 * g * g;
        const double mh = m / (1 - portable::pow(0.9, t)), vh = v / (1 - portable::pow(0.999, t));
        w -= 0.1 * mh / (std::sqrt(vh) + 1e-8);
        adam.zero_grad();
        sum(one.w * Tensor(static_cast<Real>(g))).backward();
        adam.step();
        rows.push_back({std::to_string(t), fixed(g, 1), fixed(m, 4), digits(v), fixed(mh, 4), fixed(vh, 4),
                        fixed(w, 4), fixed(static_cast<double>(one.w->item()), 4)});
        claim(rows.back()[6] == rows.back()[7], "Adam computes its formula");
    }
    table(out, rows);
}

// How far Adam moves a weight in each step, over the rate. `gradient` is that of step t.
std::vector<double> moves(int steps, const std::function<Real(int t)>& gradient, double beta2,
                          double clip = 0) {
    const Valley one;  // a parameter of two numbers; their gradients are equal
    nn::Adam adam(nn::parameters(one), {.lr = 1, .beta2 = beta2});
    std::vector<double> moved;
    for (int t = 1; t <= steps; ++t) {
        adam.zero_grad();
        sum(one.w * gradient(t)).backward();
        const double before = static_cast<double>(one.w->data()[0]);
        adam.step(1, clip > 0 ? nn::clip_scale(nn::grad_norm(adam.parameters()), clip) : 1);
        moved.push_back(before - static_cast<double>(one.w->data()[0]));
    }
    return moved;
}

// The size of a step over the rate, for gradients that are all 1: m / √v, where m and v are running means of
// ones that begin at 0, and what the library's Adam does with its corrections.
void bias_correction(std::ostream& out) {
    const auto mean_of_ones = [](double beta, int t) { return 1 - portable::pow(beta, t); };
    const std::vector<double> corrected = moves(
        5000, [](int) { return Real(1); }, 0.999);
    Rows rows = {{"step over rate, all gradients equal"},
                 {"β2 = 0.999, uncorrected"},
                 {"β2 = 0.98, uncorrected"},
                 {"corrected"}};
    for (const int t : {1, 2, 5, 10, 100, 1000, 5000}) {
        const double m = mean_of_ones(0.9, t);
        rows[0].push_back("t = " + std::to_string(t));
        rows[1].push_back(fixed(m / std::sqrt(mean_of_ones(0.999, t))));
        rows[2].push_back(fixed(m / std::sqrt(mean_of_ones(0.98, t))));
        rows[3].push_back(fixed(corrected[static_cast<std::size_t>(t) - 1]));
        claim(rows[3].back() == "1.00", "corrected, every step has the size of the rate");
    }
    table(out, rows);
}

// All gradients are 1 but the tenth, which is 100.
void clipping(std::ostream& out) {
    const auto outlier = [](int t) { return Real(t == 10 ? 100 : 1); };
    const std::vector<double> free = moves(200, outlier, 0.98), clipped = moves(200, outlier, 0.98, 2);
    Rows rows = {{"size of Adam's step over the rate"}, {"not clipped"}, {"clipped at norm 2"}};
    for (const std::size_t t : {9u, 10u, 11u, 20u, 50u, 100u, 200u}) {
        rows[0].push_back("step " + std::to_string(t));
        rows[1].push_back(fixed(free[t - 1]));
        rows[2].push_back(fixed(clipped[t - 1]));
    }
    table(out, rows);
    claim(free[49] < 0.5 * clipped[49], "one outlier slows Adam down for many steps unless it is clipped");
}

void clip_by_hand(std::ostream& out) {
    const Valley v;
    sum(v.w * Tensor::from({2}, {3, 4})).backward();
    const double norm = nn::grad_norm(nn::parameters(v));
    const Tensor clipped = v.w->grad() * static_cast<Real>(nn::clip_scale(norm, 1));
    out << "gradient " << vector_text(v.w->grad(), 0) << ", norm √(9 + 16) = " << fixed(norm, 0)
        << "; clipped at 1: " << vector_text(clipped, 1) << "\n";
}

}  // namespace

Computed training_optimizers() {
    return {.sections = {{"nn.optim.valley", Effort::quick, valley},
                         {"nn.optim.sizes", Effort::quick, gradient_sizes},
                         {"nn.optim.adam", Effort::quick, adam_by_hand},
                         {"nn.optim.bias", Effort::quick, bias_correction},
                         {"nn.clip.hand", Effort::quick, clip_by_hand},
                         {"nn.clip.outlier", Effort::quick, clipping}},
            .figures = {{"nn/figures/valley.svg", Effort::quick, draw_valley}}};
}

}  // namespace plaingrad::chapters
