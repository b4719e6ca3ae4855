// Three ways to compare a query with a key, on a task that is nothing but looking up: scaled dot products,
// dot products, and a small network (Bahdanau et al. 2015).
#include <cmath>
#include <ostream>

#include "nn/embedding.h"
#include "nn/linear.h"
#include "tests/chapters/experiment.h"
#include "tests/chapters/nn.h"
#include "tests/chapters/print.h"

namespace plaingrad::chapters {

using namespace autograd;

namespace {

enum class Compare { scaled, dot, network };

constexpr int64_t kNames = 32, kThings = 16, kPairs = 8, kBatch = 64;
constexpr int64_t kSteps = 300;
constexpr double kRate = 3e-3;

// Eight pairs (name, thing), then a name: which thing is its?
struct Recall {
    Recall(Compare compare_, int64_t d, const Rng& rng)
        : names(kNames, d, rng.fork("names"), nn::Init::pytorch),
          things(kThings, d, rng.fork("things"), nn::Init::pytorch),
          q_proj(d, d, rng.fork("q")),
          k_proj(d, d, rng.fork("k")),
          v_proj(d, d, rng.fork("v")),
          out(d, kThings, rng.fork("out")),
          u(d, 1, rng.fork("u"), {.bias = false}),
          compare(compare_) {}
    void visit(nn::Visitor& v) const {
        v("names", names);
        v("things", things);
        v("q", q_proj);
        v("k", k_proj);
        v("v", v_proj);
        v("out", out);
        if (compare == Compare::network)
            v("u", u);
    }
    // q (B, 1, d), k (B, S, d) -> (B, 1, S)
    Tensor scores(const Tensor& q, const Tensor& k) const {
        if (compare == Compare::network)
            return transpose(u(tanh(q + k)), 1, 2);  // (B, S, d), then (B, S, 1), then (B, 1, S)
        const Tensor products = matmul(q, k, true);  // (B, 1, S)
        return compare == Compare::dot ? products : products / std::sqrt(static_cast<Real>(q.size(2)));
    }
    // asked (B, 1), name and thing of the pairs (B, S) -> (B, 1, things)
    Tensor operator()(const Tokens& asked, const Tokens& name, const Tokens& thing) const {
        const Tensor named = names(name), given = things(thing);   // (B, S, d)
        const Tensor pairs = named + given;                        // (B, S, d)
        const Tensor q = q_proj(names(asked)), k = k_proj(pairs);  // (B, 1, d), (B, S, d)
        const Tensor weights = softmax(scores(q, k));              // (B, 1, S)
        return out(matmul(weights, v_proj(pairs)));                // (B, 1, things)
    }

    nn::Embedding names, things;
    nn::Linear q_proj, k_proj, v_proj, out, u;
    Compare compare;
};

// The loss of a batch whose names differ within each row.
Tensor recall_loss(const Recall& model, const Rng& rng) {
    std::vector<int32_t> name, asked, answer;
    const Tokens thing = random_tokens(kBatch, kPairs, kThings, rng.fork("things"));
    for (int64_t b = 0; b < kBatch; ++b) {
        const std::vector<int64_t> order = rng.fork(static_cast<uint64_t>(b)).permutation(kNames);
        for (std::size_t s = 0; s < kPairs; ++s)
            name.push_back(static_cast<int32_t>(order[s]));
        const int64_t which = rng.fork("which").below(static_cast<uint64_t>(b), kPairs);
        asked.push_back(static_cast<int32_t>(order[static_cast<std::size_t>(which)]));
        answer.push_back(thing.at(b, which));
    }
    const Tensor logits = model({kBatch, 1, asked}, {kBatch, kPairs, name}, thing);  // (B, 1, things)
    return cross_entropy(logits, {kBatch, 1, answer});
}

std::vector<double> losses_of_seeds(Compare compare, int64_t d) {
    std::vector<double> losses;
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
        const Recall model(compare, d, Rng(seed));
        losses.push_back(last_mean(losses_of(
            nn::parameters(model), kSteps, kRate, [&](const Rng& rng) { return recall_loss(model, rng); },
            seed)));
    }
    return losses;
}

void comparisons(std::ostream& out) {
    Rows rows = {{"d", "q·k / √d", "q·k", "uᵀ tanh(q + k)"}};
    for (const int64_t d : {16, 64}) {
        const std::vector<double> scaled = losses_of_seeds(Compare::scaled, d),
                                  dot = losses_of_seeds(Compare::dot, d),
                                  network = losses_of_seeds(Compare::network, d);
        rows.push_back({std::to_string(d), of_seeds(scaled), of_seeds(dot), of_seeds(network)});
        claim(mean_of(scaled) < mean_of(dot), "dot products learn faster when they are scaled");
        claim(d == 16 || mean_of(dot) > 10 * mean_of(scaled), "a wider model needs the scale more");
        claim(d == 16 || mean_of(network) < 0.1 * mean_of(dot), "the network needs no scale");
    }
    table(out, rows);
    out << "\nMean loss of the last 20 of " << kSteps << " steps of Adam at " << kRate << ", in batches of "
        << kBatch << "; " << kPairs << " pairs of " << kNames << " names and " << kThings << " things.\n";
}

// What the scores of one head cost.
constexpr int64_t kLength = 128, kWidth = 64;
void cost(std::ostream& out) {
    const int64_t pairs = kLength * kLength;
    const std::string sums = std::to_string(pairs * kWidth);
    table(out, {{"scores of " + std::to_string(kLength) + " queries and keys, d = " + std::to_string(kWidth),
                 "multiply-adds", "tanh", "numbers kept for backward"},
                {"q·k / √d", sums, "0", std::to_string(pairs)},
                {"uᵀ tanh(q + k)", sums, sums, sums}});
}

void times(std::ostream& out) {
    const Rng rng(1);
    const Tensor q = Tensor::randn({8, kLength, kWidth}, rng.fork("q")),
                 k = Tensor::randn({8, kLength, kWidth}, rng.fork("k"));
    const Tensor u = Tensor::randn({kWidth, 1}, rng.fork("u"));
    const double dot = milliseconds([&] { matmul(q, k, true); });
    const double network = milliseconds([&] { matmul(tanh(unsqueeze(q, 2) + unsqueeze(k, 1)), u); });
    table(out, {{"scores of 8 sentences, ms", "q·k / √d", "uᵀ tanh(q + k)", "ratio"},
                {"forward", digits(dot), digits(network), digits(network / dot, 2)}});
}

}  // namespace

Computed attention_recall() {
    return {.sections = {{"nn.recall", Effort::training, comparisons},
                         {"nn.recall.cost", Effort::quick, cost},
                         {"nn.recall.times", Effort::timed, times}}};
}

}  // namespace plaingrad::chapters
