// Label smoothing; from gradient descent to Adam, in a valley; the corrections of Adam's first steps;
// clipping.
#include <algorithm>
#include <cmath>
#include <functional>
#include <ostream>

#include "autograd/base/check.h"
#include "autograd/base/portable_math.h"
#include "models/families/transformer.h"
#include "nn/optim.h"
#include "tests/chapters/experiment.h"
#include "tests/chapters/print.h"
#include "tests/chapters/sections.h"
#include "tests/figures/figure.h"

namespace plaingrad::chapters {

using namespace autograd;

namespace {

// A model of n numbers.
struct Numbers {
    Numbers(int64_t n, Real first) : w(Tensor::full({1, n}, first)) {}
    void visit(nn::Visitor& v) const { v("w", w); }
    nn::Parameter w;
};

// The losses before each step.
std::vector<double> descend(nn::Optimizer& optimizer, int steps, const std::function<Tensor()>& loss_now) {
    std::vector<double> losses;
    for (int i = 0; i < steps; ++i) {
        optimizer.zero_grad();
        const Tensor loss = loss_now();
        losses.push_back(value(loss));
        loss.backward();
        optimizer.step();
    }
    return losses;
}

// The logits of one position whose target is word 0 of ten.
void smoothing(std::ostream& out) {
    constexpr int64_t kWords = 10;
    const Numbers hard(kWords, 0), soft(kWords, 0);
    nn::Sgd of_hard(nn::parameters(hard), {.lr = 1}), of_soft(nn::parameters(soft), {.lr = 1});
    Rows rows = {{"steps", "gap without smoothing", "p(target)", "gap with s = 0.1", "p(target)"}};
    int done = 0;
    const Tokens target(1, 1, {0});
    for (const int steps : {10, 100, 1000, 10000}) {
        descend(of_hard, steps - done, [&] { return cross_entropy(hard.w, target); });
        descend(of_soft, steps - done,
                [&] { return cross_entropy(soft.w, target, {.label_smoothing = Real(0.1)}); });
        done = steps;
        rows.push_back({std::to_string(steps)});
        for (const Numbers* logits : {&hard, &soft})
            rows.back().insert(rows.back().end(), {fixed(value(logits->w, 0) - value(logits->w, 1)),
                                                   fixed(value(softmax(logits->w)), 4)});
    }
    const double best = 0.9 + 0.1 / kWords, other = 0.1 / kWords, gap = portable::log(best / other);
    table(out, rows);
    out << "\nWhere the smoothed loss is smallest: p(target) = 1 - s + s/V = " << fixed(best)
        << ", the others s/V = " << fixed(other) << ", gap ln(" << fixed(best) << " / " << fixed(other)
        << ") = " << fixed(gap) << ".\n";
    claim(rows[4][3] == fixed(gap), "the gap ends where the formula says");
}

// f(w) = (w1² + 100 w2²) / 2: a hundred times as steep across as along.
std::vector<figures::Series> valley_runs() {
    std::vector<figures::Series> runs;
    const auto run = [&](const std::string& name, const auto& make) {
        const Numbers at(2, 1);
        auto optimizer = make(nn::parameters(at));
        const auto loss = [&] { return sum(at.w * at.w * Tensor::from({1, 2}, {Real(0.5), 50})); };
        runs.push_back({.name = name, .y = descend(optimizer, 201, loss)});
        for (int i = 0; i < 201; ++i)
            runs.back().x.push_back(i);
    };
    const auto sgd = [](const nn::SgdOptions& options) {
        return [=](const auto& parameters) { return nn::Sgd(parameters, options); };
    };
    run("SGD, rate 0.021", sgd({.lr = 0.021}));
    run("SGD, rate 0.018", sgd({.lr = 0.018}));
    run("SGD, rate 0.018, momentum 0.8", sgd({.lr = 0.018, .momentum = 0.8}));
    run("Adam, rate 0.05", [](const auto& parameters) { return nn::Adam(parameters, {.lr = 0.05}); });
    return runs;
}

void valley(std::ostream& out) {
    Rows rows = {{"loss after steps", "0", "10", "50", "200"}};
    for (const figures::Series& run : valley_runs()) {
        rows.push_back({run.name});
        for (const std::size_t i : {0u, 10u, 50u, 200u})
            rows.back().push_back(digits(run.y[i]));
    }
    table(out, rows);
}

std::string draw_valley() {
    const figures::Axis loss = {.name = "loss", .log = true, .low = 1e-9, .high = 1e3};
    return figures::svg(
        "Four ways down a valley",
        "At the highest rate gradient descent diverges; below, it is slow along the valley; momentum "
        "and Adam are faster. Losses beyond the axis are drawn at its edge.",
        {figures::LineChart{.x = {.name = "step"}, .y = loss, .series = valley_runs()}});
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

// RMS over 50 batches of the gradients of some parts of a new model.
void gradient_sizes(std::ostream& out) {
    constexpr int64_t kWidth = 64, kWords = 1000, kBatches = 50;
    const models::Transformer model(
        {.src_vocabulary = kWords + models::kFirstFreeId,
         .vocabulary = kWords + models::kFirstFreeId,
         .n_layers = 2,
         .n_decoder_layers = 2,
         .block = {.d_model = kWidth, .n_heads = 4, .d_ff = 256, .dropout = {0, 0, 0, 0}}},
        Rng(1));
    const std::vector<std::string> names = {"embedding of the commonest word", "embedding of word 10",
                                            "embedding of word 100", "W_Q of the first encoder layer",
                                            "W_V of the first encoder layer"};
    std::vector<double> squares(names.size(), 0);
    for (uint64_t batch = 0; batch < kBatches; ++batch) {
        const auto words = [&](const char* which) {
            return words_of_a_text(16, 10, kWords, Rng(2).fork(batch).fork(which));
        };
        nn::zero_grad(model);
        model.loss(words("src"), words("tgt"), words("out"), kEval).backward();
        const Tensor embedding = model.src_embedding.tokens.table->grad(),
                     projection = model.encoder.layers[0].self_attention.in_proj.weight->grad();
        const Tensor grads[] = {embedding[models::kFirstFreeId], embedding[models::kFirstFreeId + 9],
                                embedding[models::kFirstFreeId + 99], slice(projection, 1, 0, kWidth),
                                slice(projection, 1, 2 * kWidth, 3 * kWidth)};
        for (std::size_t i = 0; i < names.size(); ++i)
            squares[i] += value(mean(grads[i] * grads[i])) / kBatches;
    }
    Rows rows = {{"parameter", "RMS of its gradient"}};
    for (std::size_t i = 0; i < names.size(); ++i)
        rows.push_back({names[i], digits(std::sqrt(squares[i]), 2)});
    table(out, rows);
    claim(squares[0] > 100 * squares[2], "gradients differ by more than an order of magnitude");
}

// Adam's first three steps on gradients of one weight, by the formulas.
void adam_by_hand(std::ostream& out) {
    const Numbers one(1, 1);
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
        descend(adam, 1, [&] { return sum(one.w * static_cast<Real>(g)); });
        rows.push_back({std::to_string(t), fixed(g, 1), fixed(m, 4), digits(v), fixed(mh, 4), fixed(vh, 4),
                        fixed(w, 4), fixed(value(one.w), 4)});
        claim(rows.back()[6] == rows.back()[7], "Adam computes its formula");
    }
    table(out, rows);
}

// The size of a step over the rate, for gradients that are all 1: m / √v, where m and v are running means of
// ones that begin at 0.
void bias_correction(std::ostream& out) {
    const auto mean_of_ones = [](double beta, int t) { return 1 - portable::pow(beta, t); };
    Rows rows = {{"step over rate, all gradients equal"}, {"β2 = 0.999"}, {"β2 = 0.98"}};
    for (const int t : {1, 2, 5, 10, 100, 1000, 5000}) {
        const double m = mean_of_ones(0.9, t);
        rows[0].push_back("t = " + std::to_string(t));
        rows[1].push_back(fixed(m / std::sqrt(mean_of_ones(0.999, t))));
        rows[2].push_back(fixed(m / std::sqrt(mean_of_ones(0.98, t))));
    }
    table(out, rows);
}

// The gradients of two weights are 1 in each step, but 100 in the tenth. How far Adam moves them, over the
// rate.
void clipping(std::ostream& out) {
    Rows rows = {{"size of Adam's step over the rate"}, {"not clipped"}, {"clipped at norm 2"}};
    for (const bool clipped : {false, true}) {
        const Numbers two(2, 1);
        nn::Adam adam(nn::parameters(two), {.lr = 1, .beta2 = 0.98});
        for (int t = 1; t <= 200; ++t) {
            adam.zero_grad();
            sum(two.w * Real(t == 10 ? 100 : 1)).backward();
            const double before = value(two.w);
            adam.step(1, clipped ? nn::clip_scale(nn::grad_norm(adam.parameters()), 2) : 1);
            if (t != 9 && t != 10 && t != 11 && t != 20 && t != 50 && t != 100 && t != 200)
                continue;
            rows[clipped ? 2 : 1].push_back(fixed(before - value(two.w)));
            if (!clipped)
                rows[0].push_back("step " + std::to_string(t));
        }
    }
    table(out, rows);
}

const Adds kHere({{"nn.smoothing", Effort::quick, smoothing},
                  {"nn.optim.valley", Effort::quick, valley},
                  {"nn.optim.sizes", Effort::quick, gradient_sizes},
                  {"nn.optim.adam", Effort::quick, adam_by_hand},
                  {"nn.optim.bias", Effort::quick, bias_correction},
                  {"nn.clip.outlier", Effort::quick, clipping}},
                 {{"nn/figures/valley.svg", Effort::quick, draw_valley}});

}  // namespace

}  // namespace plaingrad::chapters
