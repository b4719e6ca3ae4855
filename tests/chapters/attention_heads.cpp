// Why several heads: a task of which each position needs two things, with one head and with more.
#include <ostream>

#include "nn/attention.h"
#include "nn/embedding.h"
#include "nn/positional_encoding.h"
#include "nn/probe.h"
#include "tests/chapters/experiment.h"
#include "tests/chapters/nn.h"
#include "tests/chapters/print.h"
#include "tests/figures/figure.h"

namespace plaingrad::chapters {

using namespace autograd;

namespace {

constexpr int64_t kSymbols = 8, kLength = 8, kWidth = 32, kBatch = 32, kSteps = 400;
constexpr double kRate = 3e-3;

// One attention, whose output must say each position's left and right neighbour.
struct Neighbours {
    Neighbours(int64_t n_heads, const Rng& rng)
        : symbols(kSymbols, kWidth, rng.fork("symbols"), nn::Init::pytorch),
          positions(nn::Positions::learned, kLength, kWidth, rng.fork("positions"), nn::Init::pytorch),
          attention(kWidth, n_heads, rng.fork("attention")),
          left(kWidth, kSymbols, rng.fork("left")),
          right(kWidth, kSymbols, rng.fork("right")) {}
    void visit(nn::Visitor& v) const {
        v("symbols", symbols);
        v("positions", positions);
        v("attention", attention);
        v("left", left);
        v("right", right);
    }
    Tensor attended(const Tokens& ids, nn::Probe* probe = nullptr) const {
        const nn::Mode mode = nn::Mode::eval(probe);
        return attention(positions(symbols(ids), mode), {.mode = mode});  // (B, T, d_model)
    }

    nn::Embedding symbols;
    nn::PositionalEncoding positions;
    nn::MultiHeadAttention attention;
    nn::Linear left, right;
};

// Each id's neighbour; the ends have none, and padding stands for it.
Tokens neighbour(const Tokens& ids, int64_t offset) {
    std::vector<int32_t> of;
    for (int64_t b = 0; b < ids.batch(); ++b)
        for (int64_t t = 0; t < ids.length(); ++t) {
            const int64_t s = t + offset;
            of.push_back(s >= 0 && s < ids.length() ? ids.at(b, s) : static_cast<int32_t>(kSymbols));
        }
    return {ids.batch(), ids.length(), of, static_cast<int32_t>(kSymbols)};
}

Tensor neighbour_loss(const Neighbours& model, const Tokens& ids) {
    const Tensor y = model.attended(ids);  // (B, T, d_model)
    const Tensor of_left = cross_entropy(model.left(y), neighbour(ids, -1));
    return of_left + cross_entropy(model.right(y), neighbour(ids, 1));
}

Neighbours trained(int64_t n_heads, uint64_t seed) {
    Neighbours model(n_heads, Rng(seed));
    losses_of(
        nn::parameters(model), kSteps, kRate,
        [&](const Rng& rng) { return neighbour_loss(model, random_tokens(kBatch, kLength, kSymbols, rng)); },
        seed);
    return model;
}

struct Score {
    double loss, right;
};
Score score(const Neighbours& model) {
    const NoGrad no_grad;
    const Tokens ids = random_tokens(200, kLength, kSymbols, Rng(99));
    const Tensor y = model.attended(ids);
    const double l = accuracy(model.left(y), neighbour(ids, -1)),
                 r = accuracy(model.right(y), neighbour(ids, 1));
    return {static_cast<double>(neighbour_loss(model, ids).item()), (l + r) / 2};
}

const std::vector<int64_t> kHeads = {1, 2, 4, 8};

void heads(std::ostream& out) {
    Rows rows = {{"heads", "D of a head", "parameters of the attention", "loss", "neighbours right"}};
    std::vector<double> means;
    for (const int64_t n : kHeads) {
        std::vector<double> losses, rights;
        int64_t parameters = 0;
        for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
            const Neighbours model = trained(n, seed);
            parameters = nn::parameter_count(model.attention);
            const Score s = score(model);
            losses.push_back(s.loss);
            rights.push_back(100 * s.right);
        }
        means.push_back(mean_of(losses));
        rows.push_back({std::to_string(n), std::to_string(kWidth / n), std::to_string(parameters),
                        of_seeds(losses), fixed(mean_of(rights), 1) + " %"});
    }
    table(out, rows);
    claim(means[1] < 0.01 * means[0], "two heads do what one can not");
}

// The weights of the trained attention with one head and with two, for one sequence.
std::string draw_heads() {
    std::vector<kit::HeatMap> maps;
    for (const int64_t n : {1, 2}) {
        const Neighbours model = trained(n, 1);
        nn::Probe seen;
        model.attended(random_tokens(1, kLength, kSymbols, Rng(7)), &seen);
        const Tensor weights = seen.of(model.attention);  // (1, H, T, T)
        for (int64_t h = 0; h < n; ++h) {
            kit::HeatMap map = {.title = n == 1 ? "the only head" : autograd::join("head ", h + 1, " of 2"),
                                .rows = labels(1, kLength),
                                .columns = labels(1, kLength),
                                .values = {},
                                .row_axis = "query",
                                .column_axis = "key"};
            for (const Real w : reshape(weights[0][h], {-1}).to_vector())
                map.values.push_back(static_cast<double>(w));
            maps.push_back(map);
        }
    }
    return figures::svg(
        "Two things to look for, one head and two",
        "The only head spreads its weight over both neighbours of each position; of two heads, "
        "each looks at one side.",
        maps, 3);
}

// Forward and backward of an attention of the base model's width.
void times(std::ostream& out) {
    constexpr int64_t d = 512;
    Rows rows = {{"heads"}, {"D of a head"}, {"milliseconds"}, {"times one head"}};
    double first = 0;
    for (const int64_t n : {1, 2, 4, 8, 16}) {
        const nn::MultiHeadAttention attention(d, n, Rng(1));
        Tensor x = Tensor::randn({8, 64, d}, Rng(2)).require_grad();
        const double now = milliseconds([&] { mean(attention(x, {.mode = kEval})).backward(); });
        first = n == 1 ? now : first;
        rows[0].push_back(std::to_string(n));
        rows[1].push_back(std::to_string(d / n));
        rows[2].push_back(digits(now));
        rows[3].push_back(fixed(now / first));
    }
    table(out, rows);
}

}  // namespace

Computed attention_heads() {
    return {.sections = {{"nn.heads", Effort::training, heads}, {"nn.heads.times", Effort::timed, times}},
            .figures = {{"nn/figures/heads.svg", Effort::training, draw_heads}}};
}

}  // namespace plaingrad::chapters
