// Attention in blocks: the memory of the scores, and a softmax that meets its row piece by piece.
#include <algorithm>
#include <cmath>
#include <limits>
#include <ostream>

#include "autograd/base/portable_math.h"
#include "autograd/plain.h"
#include "autograd/storage.h"
#include "tests/chapters/print.h"
#include "tests/chapters/sections.h"

namespace plaingrad::chapters {

using namespace autograd;

namespace {

constexpr int64_t kHeads = 2, kSize = 64;  // D of each

// KiB that are kept until backward, the inputs not included.
int64_t kept_kib(int64_t length) {
    storage_trim();
    const Tensor qkv = Tensor::randn({1, length, 3 * kHeads * kSize}, Rng(1)).require_grad();
    const int64_t before = storage_statistics().bytes_in_use;
    const Tensor out = self_attention(qkv, {.n_heads = kHeads, .mask = Mask::causal()});
    return (storage_statistics().bytes_in_use - before) / 1024;
}

void memory(std::ostream& out) {
    Rows rows = {{"T = S", "scores of both heads, KiB", "plain form keeps, KiB", "blocks keep, KiB",
                  "scores of a block of 16 queries, KiB"}};
    for (int64_t length = 128; length <= 1024; length *= 2) {
        const int64_t fused = kept_kib(length);
        const Plain guard;
        rows.push_back({grouped(length), grouped(kHeads * length * length * 4 / 1024),
                        grouped(kept_kib(length)), grouped(fused),
                        grouped(16 * std::min<int64_t>(length, 512) * 4 / 1024)});
    }
    table(out, rows);
}

// ---- softmax(scores) v, four keys in two blocks

// What is known after some of the keys: the largest score, Σ exp(score - largest), Σ exp(score - largest) v.
struct Running {
    double largest = -std::numeric_limits<double>::infinity(), sum = 0, weighted = 0, factor = 0;

    void add(const std::vector<double>& scores, const std::vector<double>& values) {
        const double before = largest;
        largest = std::max(largest, *std::max_element(scores.begin(), scores.end()));
        factor = sum > 0 ? portable::exp(before - largest) : 0;
        sum *= factor, weighted *= factor;
        for (std::size_t i = 0; i < scores.size(); ++i) {
            const double e = portable::exp(scores[i] - largest);
            sum += e;
            weighted += e * values[i];
        }
    }
};

void online(std::ostream& out) {
    Running pieces, whole;
    Rows rows = {{"keys", "scores", "values", "m, the largest", "what was before, times", "Σ exp(score − m)",
                  "Σ exp(score − m) v", "their quotient"}};
    const auto row = [&](const char* keys, const char* scores, const char* values, const Running& r) {
        rows.push_back({keys, scores, values, number(r.largest), r.factor > 0 ? fixed(r.factor, 4) : "",
                        fixed(r.sum, 4), fixed(r.weighted, 4), fixed(r.weighted / r.sum, 4)});
    };
    pieces.add({1, 3}, {10, 20});
    row("0, 1", "1, 3", "10, 20", pieces);
    pieces.add({2, 5}, {30, 40});
    row("2, 3", "2, 5", "30, 40", pieces);
    whole.add({1, 3, 2, 5}, {10, 20, 30, 40});
    row("all at once", "1, 3, 2, 5", "10, 20, 30, 40", whole);
    claim(std::abs(pieces.weighted / pieces.sum - whole.weighted / whole.sum) < 1e-12,
          "piece by piece gives the same");
    table(out, rows);
}

const Adds kHere({{"kernels.attention_memory", Effort::quick, memory},
                  {"kernels.online", Effort::quick, online}});

}  // namespace

}  // namespace plaingrad::chapters
