// Four ways to say where a token stands, on sequences as long as in training, and longer.
#include <cmath>
#include <optional>
#include <ostream>

#include "nn/embedding.h"
#include "nn/linear.h"
#include "nn/positional_encoding.h"
#include "tests/chapters/experiment.h"
#include "tests/chapters/nn.h"
#include "tests/chapters/print.h"

namespace plaingrad::chapters {

using namespace autograd;

namespace {

constexpr int64_t kSymbols = 8, kWidth = 64, kTrained = 16, kLonger = 32, kBatch = 32, kSteps = 400;
constexpr double kRate = 3e-3;

// One attention with one head, which must say what stands two places before.
struct Before {
    Before(nn::Positions kind, const Rng& rng)
        : symbols(kSymbols, kWidth, rng.fork("symbols"), nn::Init::pytorch),
          positions(kind, kLonger, kWidth, rng.fork("positions"), nn::Init::pytorch),
          q_proj(kWidth, kWidth, rng.fork("q")),
          k_proj(kWidth, kWidth, rng.fork("k")),
          v_proj(kWidth, kWidth, rng.fork("v")),
          out(kWidth, kSymbols, rng.fork("out")) {
        if (kind == nn::Positions::rotary)
            rotary.emplace(kLonger, kWidth, nn::RotaryOptions());
    }
    void visit(nn::Visitor& v) const {
        v("symbols", symbols);
        v("positions", positions);
        v("q", q_proj);
        v("k", k_proj);
        v("v", v_proj);
        v("out", out);
    }
    Tensor operator()(const Tokens& ids) const {
        const auto turned = [&](const Tensor& y) { return rotary ? (*rotary)(y, 1, 0) : y; };
        const Tensor x = positions(symbols(ids), nn::Mode::eval());  // (B, T, d)
        const Tensor q = turned(q_proj(x)), k = turned(k_proj(x));   // (B, T, d)
        return out(attention(q, k, v_proj(x)));                      // (B, T, symbols)
    }

    nn::Embedding symbols;
    nn::PositionalEncoding positions;
    nn::Linear q_proj, k_proj, v_proj, out;
    std::optional<nn::Rotary> rotary;
};

// What stands two places before each position. The first `from` positions, and those that nothing stands
// before, are not asked: they get padding.
Tokens two_before(const Tokens& ids, int64_t from) {
    std::vector<int32_t> of;
    for (int64_t b = 0; b < ids.batch(); ++b)
        for (int64_t t = 0; t < ids.length(); ++t)
            of.push_back(t >= std::max<int64_t>(from, 2) ? ids.at(b, t - 2) : static_cast<int32_t>(kSymbols));
    return {ids.batch(), ids.length(), of, static_cast<int32_t>(kSymbols)};
}

Before trained(nn::Positions kind, uint64_t seed) {
    Before model(kind, Rng(seed));
    losses_of(
        nn::parameters(model), kSteps, kRate,
        [&](const Rng& rng) {
            const Tokens ids = random_tokens(kBatch, kTrained, kSymbols, rng);
            return cross_entropy(model(ids), two_before(ids, 0));
        },
        seed);
    return model;
}

void compared(std::ostream& out) {
    Rows rows = {{"positions", "right, at trained positions", "right, beyond them"}};
    std::vector<double> near_of, far_of;
    using enum nn::Positions;
    for (const nn::Positions kind : {none, learned, sinusoidal, rotary}) {
        std::vector<double> near, far;
        for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
            const Before model = trained(kind, seed);
            const NoGrad no_grad;
            const Tokens same = random_tokens(200, kTrained, kSymbols, Rng(99)),
                         longer = random_tokens(200, kLonger, kSymbols, Rng(98));
            near.push_back(100 * accuracy(model(same), two_before(same, 0)));
            far.push_back(100 * accuracy(model(longer), two_before(longer, kTrained)));
        }
        near_of.push_back(mean_of(near));
        far_of.push_back(mean_of(far));
        rows.push_back({nn::kPositionsNames[static_cast<int>(kind)], of_seeds(near, 3), of_seeds(far, 3)});
    }
    table(out, rows);
    claim(near_of[0] < 40 && near_of[1] > 95 && near_of[2] > 95 && near_of[3] > 95,
          "positions are needed, and each kind will do");
    claim(far_of[1] < 30 && far_of[2] < 50 && far_of[3] > 95,
          "only rotary positions go beyond what was trained");
    out << "\nPercent. " << kSteps << " steps of Adam, rate " << kRate << ", sequences of " << kTrained
        << " symbols, then of " << kLonger << "; of " << kSymbols << " symbols, guessing gets "
        << 100.0 / kSymbols << " right.\n";
}

}  // namespace

Computed positions_trained() { return {.sections = {{"nn.positions.trained", Effort::training, compared}}}; }

}  // namespace plaingrad::chapters
