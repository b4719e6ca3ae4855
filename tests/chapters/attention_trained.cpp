// One attention learns which symbols stand near each position: with one head and more, and with each way to
// say where a token stands.
#include <optional>
#include <ostream>

#include "nn/attention.h"
#include "nn/embedding.h"
#include "nn/positional_encoding.h"
#include "nn/probe.h"
#include "tests/chapters/experiment.h"
#include "tests/chapters/print.h"
#include "tests/chapters/sections.h"

namespace plaingrad::chapters {

using namespace autograd;

namespace {

constexpr int64_t kSymbols = 8, kWidth = 32, kBatch = 32, kSteps = 400;
constexpr double kRate = 3e-3;

struct Task {
    int64_t length;                // of the sequences
    std::vector<int64_t> offsets;  // -1 asks for the left neighbour of each position, 1 for the right one
    int64_t n_heads = 1;
    nn::Positions positions = nn::Positions::learned;
};

struct Model {
    Model(const Task& task_, const Rng& rng)
        : task(task_),
          symbols(kSymbols, kWidth, rng.fork("symbols"), nn::Init::pytorch),
          positions(task.positions, 2 * task.length, kWidth, rng.fork("positions"), nn::Init::pytorch),
          attention(kWidth, task.n_heads, rng.fork("attention")) {
        for (std::size_t i = 0; i < task.offsets.size(); ++i)
            outputs.emplace_back(kWidth, kSymbols, rng.fork("output").fork(i));
        if (task.positions == nn::Positions::rotary)
            rotary.emplace(2 * task.length, kWidth / task.n_heads, nn::RotaryOptions());
    }
    void visit(nn::Visitor& v) const {
        v("symbols", symbols);
        v("positions", positions);
        v("attention", attention);
        v("outputs", outputs);
    }
    Tensor attended(const Tokens& ids, nn::Probe* probe = nullptr) const {  // (B, T, d_model)
        const nn::Mode mode = nn::Mode::eval(probe);
        return attention(positions(symbols(ids), mode),
                         {.mode = mode, .rotary = rotary ? &*rotary : nullptr});
    }
    // Which symbol stands there? Positions before `from` are not asked, nor those beside which nothing
    // stands.
    Tokens answers(const Tokens& ids, int64_t offset, int64_t from) const {
        constexpr int32_t kPad = kSymbols;
        std::vector<int32_t> of;
        for (int64_t b = 0; b < ids.batch(); ++b)
            for (int64_t t = 0; t < ids.length(); ++t) {
                const int64_t s = t + offset;
                of.push_back(t >= from && s >= 0 && s < ids.length() ? ids.at(b, s) : kPad);
            }
        return {ids.batch(), ids.length(), of, kPad};
    }
    Tensor loss(const Tokens& ids) const {
        const Tensor y = attended(ids);
        Tensor sum = Tensor(0);
        for (std::size_t i = 0; i < outputs.size(); ++i)
            sum = sum + cross_entropy(outputs[i](y), answers(ids, task.offsets[i], 0));
        return sum;
    }
    double percent_right(const Tokens& ids, int64_t from = 0) const {
        const Tensor y = attended(ids);
        std::vector<double> shares;
        for (std::size_t i = 0; i < outputs.size(); ++i)
            shares.push_back(100 * accuracy(outputs[i](y), answers(ids, task.offsets[i], from)));
        return mean_of(shares);
    }
    void train(uint64_t seed) const {
        losses_of(
            nn::parameters(*this), kSteps, kRate,
            [&](const Rng& rng) { return loss(random_tokens(kBatch, task.length, kSymbols, rng)); }, seed);
    }

    Task task;
    nn::Embedding symbols;
    nn::PositionalEncoding positions;
    nn::MultiHeadAttention attention;
    std::optional<nn::Rotary> rotary;
    std::vector<nn::Linear> outputs;
};

// How much of its weight a head gives to the left and to the right neighbour of a position: "0.49 + 0.49".
std::string looks(const Model& model) {
    const Tokens ids = random_tokens(100, model.task.length, kSymbols, Rng(7));
    nn::Probe seen;
    model.attended(ids, &seen);
    const Tensor weights = mean(seen.of(model.attention), {0});  // (H, T, T)
    std::string text;
    for (int64_t h = 0; h < model.task.n_heads; ++h) {
        double left = 0, right = 0;
        for (int64_t t = 1; t + 1 < model.task.length; ++t) {
            left += value(weights[h][t], t - 1) / static_cast<double>(model.task.length - 2);
            right += value(weights[h][t], t + 1) / static_cast<double>(model.task.length - 2);
        }
        text += (h > 0 ? "; " : "") + fixed(left) + " + " + fixed(right);
    }
    return text;
}

void heads(std::ostream& out) {
    Rows rows = {{"heads", "D of a head", "parameters of the attention", "loss", "neighbours right",
                  "weight of the left + right neighbour, each head"}};
    const Tokens unseen = random_tokens(200, 8, kSymbols, Rng(99));
    std::vector<double> means;
    for (const int64_t n : {1, 2, 4, 8}) {
        std::vector<double> losses, rights;
        std::string weights;
        int64_t parameters = 0;
        for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
            const Model model({.length = 8, .offsets = {-1, 1}, .n_heads = n}, Rng(seed));
            model.train(seed);
            const NoGrad no_grad;
            losses.push_back(value(model.loss(unseen)));
            rights.push_back(model.percent_right(unseen));
            weights = seed > 1 || n > 2 ? weights : looks(model);
            parameters = nn::parameter_count(model.attention);
        }
        means.push_back(mean_of(losses));
        rows.push_back({std::to_string(n), std::to_string(kWidth / n), std::to_string(parameters),
                        of_seeds(losses), fixed(mean_of(rights), 1) + " %", weights});
    }
    table(out, rows);
    claim(means[1] < 0.01 * means[0], "two heads do what one can not");
}

// Which symbol stands two places before, on sequences as long as in training, and beyond.
void positions(std::ostream& out) {
    Rows rows = {{"positions", "right, at trained positions", "right, beyond them"}};
    std::vector<double> near_of, far_of;
    using enum nn::Positions;
    for (const nn::Positions kind : {none, learned, sinusoidal, rotary}) {
        std::vector<double> near, far;
        for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
            const Model model({.length = 16, .offsets = {-2}, .positions = kind}, Rng(seed));
            model.train(seed);
            const NoGrad no_grad;
            near.push_back(model.percent_right(random_tokens(200, 16, kSymbols, Rng(99))));
            far.push_back(model.percent_right(random_tokens(200, 32, kSymbols, Rng(98)), 16));
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
    out << "\nPercent. " << kSteps << " steps of Adam, rate " << kRate
        << ", sequences of 16 symbols, then of 32; of " << kSymbols << " symbols, guessing gets "
        << 100.0 / kSymbols << " right.\n";
}

const Adds kHere({{"nn.heads", Effort::training, heads},
                  {"nn.positions.trained", Effort::training, positions}});

}  // namespace

}  // namespace plaingrad::chapters
