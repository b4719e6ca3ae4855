// Warm-up: a deep post-norm model with and without it, and what the first steps do to it.
#include <map>
#include <ostream>

#include "autograd/base/check.h"
#include "nn/schedule.h"
#include "tests/chapters/print.h"
#include "tests/chapters/sections.h"
#include "tests/chapters/stack.h"
#include "tests/figures/figure.h"

namespace plaingrad::chapters {

using namespace autograd;

namespace {

constexpr int64_t kDepth = 8, kSteps = 400, kWarmup = 100;
constexpr double kRate = 3e-3;

// The rate rises to its highest over so many steps, then falls along half a cosine.
nn::CosineSchedule schedule(int64_t warmup) { return {kRate, kSteps, warmup}; }

// The losses of the run of this seed; computed once.
const std::vector<double>& run(Around how, int64_t warmup, uint64_t seed) {
    static std::map<std::tuple<Around, int64_t, uint64_t>, std::vector<double>> runs;
    std::vector<double>& losses = runs[{how, warmup, seed}];
    if (losses.empty()) {
        const MirrorModel model(how, kDepth, Rng(seed));
        losses = losses_of(
            nn::parameters(model), kSteps, kRate, [&](const Rng& rng) { return mirror_loss(model, rng); },
            seed, schedule(warmup));
    }
    return losses;
}

void results(std::ostream& out) {
    Rows rows = {{"8 layers, highest rate 0.003, 400 steps", "no warm-up", "100 steps of warm-up"}};
    for (const Around how : {Around::post, Around::pre}) {
        std::vector<double> cold, warm;
        for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
            cold.push_back(last_mean(run(how, 0, seed)));
            warm.push_back(last_mean(run(how, kWarmup, seed)));
        }
        rows.push_back({how == Around::post ? "post-norm" : "pre-norm", of_seeds(cold), of_seeds(warm)});
        claim(how == Around::pre || mean_of(warm) < 0.1 * mean_of(cold), "the post-norm model needs warm-up");
        claim(how == Around::post || mean_of(cold) < 0.1, "the pre-norm model does not");
    }
    table(out, rows);
}

// How much the vectors of 128 positions differ after the last layer, and the gradient of the first layer.
void collapse(std::ostream& out) {
    Rows rows = {
        {"before step", "spread, no warm-up", "gradient, no warm-up", "spread, warm-up", "gradient, warm-up"},
        {"1"},
        {"5"},
        {"10"},
        {"100"}};
    for (const int64_t warmup : {int64_t{0}, kWarmup}) {
        const MirrorModel model(Around::post, kDepth, Rng(1));
        nn::Adam adam(nn::parameters(model), {.beta2 = 0.98, .eps = 1e-9});
        std::size_t row = 1;
        for (int64_t step = 1; step <= 100; ++step) {
            adam.zero_grad();
            mirror_loss(model, Rng(1).fork(static_cast<uint64_t>(step))).backward();
            if (std::to_string(step) == rows[row][0]) {
                const Tensor x = model.symbols(random_tokens(16, kMirrorLength, kMirrorSymbols, Rng(77)));
                const Tensor y = model.stack(model.positions(x, kEval));
                rows[row].push_back(digits(rms(y - mean(y, {0, 1}, true)), 2));
                rows[row++].push_back(
                    digits(rms(model.stack.layers[0].feed_forward.linear2.weight->grad()), 2));
            }
            adam.step(schedule(warmup)(step));
        }
    }
    table(out, rows);
    const auto at = [&](std::size_t row, std::size_t column) { return std::stod(rows[row][column]); };
    claim(at(2, 1) < 0.5 * at(2, 3) && at(2, 2) < 0.5 * at(2, 4),
          "a few full steps make the vectors of all positions alike");
    claim(at(4, 1) > 5 * at(2, 1) && at(4, 2) < 0.5 * at(4, 4),
          "later they differ again, but the first layer's gradient stays small");
}

// Means of ten steps each: single batches jump.
figures::Series smooth(const std::string& name, const std::vector<double>& losses) {
    figures::Series line = {.name = name, .y = {}};
    for (std::size_t n = 10; n <= losses.size(); n += 10) {
        line.x.push_back(static_cast<double>(n));
        line.y.push_back(last_mean({losses.begin(), losses.begin() + static_cast<std::ptrdiff_t>(n)}, 10));
    }
    return line;
}

std::string draw_warmup() {
    const figures::LineChart chart = {
        .x = {.name = "step"},
        .y = {.name = "loss", .log = true},
        .series = {smooth("post-norm, no warm-up", run(Around::post, 0, 1)),
                   smooth("post-norm, 100 steps of warm-up", run(Around::post, kWarmup, 1)),
                   smooth("pre-norm, no warm-up", run(Around::pre, 0, 1))}};
    return figures::svg("Eight layers, with and without warm-up",
                        "Without warm-up the post-norm model stays near the loss of guessing; with it, it "
                        "learns; the pre-norm model learns without.",
                        {chart});
}

const Adds kHere({{"nn.warmup", Effort::training, results}, {"nn.warmup.collapse", Effort::quick, collapse}},
                 {{"nn/figures/warmup.svg", Effort::training, draw_warmup}});

}  // namespace

}  // namespace plaingrad::chapters
