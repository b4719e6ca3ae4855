// Attention in blocks: the memory of the scores, and a softmax that meets its row piece by piece.
#include <algorithm>
#include <cmath>
#include <limits>
#include <ostream>

#include "autograd/base/check.h"
#include "autograd/base/portable_math.h"
#include "autograd/plain.h"
#include "autograd/storage.h"
#include "tests/bench/measure.h"
#include "tests/chapters/core.h"
#include "tests/chapters/print.h"
#include "tests/figures/figure.h"

namespace plaingrad::chapters {

using namespace autograd;

namespace {

constexpr int64_t kHeads = 2, kSize = 64;  // D of each

struct Kept {
    int64_t plain, fused;  // KiB until backward, the inputs not included
};

int64_t kept_kib(int64_t length) {
    const Tensor qkv = Tensor::randn({1, length, 3 * kHeads * kSize}, Rng(1)).require_grad();
    const int64_t before = storage_statistics().bytes_in_use;
    const Tensor out = self_attention(qkv, {.n_heads = kHeads, .mask = Mask::causal()});
    return (storage_statistics().bytes_in_use - before) / 1024;
}

Kept kept(int64_t length) {
    storage_trim();
    const int64_t fused = kept_kib(length);
    const Plain guard;
    return {kept_kib(length), fused};
}

void memory(std::ostream& out) {
    Rows rows = {{"T = S", "scores of both heads, KiB", "plain form keeps, KiB", "blocks keep, KiB",
                  "scores of a block of 16 queries, KiB"}};
    Kept last = {};
    for (int64_t length = 128; length <= 1024; length *= 2) {
        const Kept now = kept(length);
        rows.push_back({grouped(length), grouped(kHeads * length * length * 4 / 1024), grouped(now.plain),
                        grouped(now.fused), grouped(16 * std::min<int64_t>(length, 512) * 4 / 1024)});
        claim(last.plain == 0 || (now.plain >= 3 * last.plain && now.fused <= 2 * last.fused + 1),
              "the plain form grows with the square, the blocks do not");
        last = now;
    }
    table(out, rows);
}

std::string memory_figure() {
    std::vector<double> lengths, plain, fused;
    for (int64_t length = 64; length <= 1024; length *= 2) {
        const Kept now = kept(length);
        lengths.push_back(static_cast<double>(length));
        plain.push_back(static_cast<double>(now.plain));
        fused.push_back(static_cast<double>(now.fused));
    }
    const figures::Axis x = {.name = "length of the text", .log = true, .ticks = lengths},
                        y = {.name = "KiB until backward", .log = true};
    return figures::svg(
        "What attention keeps",
        "The plain form grows with the square of the length, attention in blocks with the length.",
        {figures::LineChart{
            .x = x, .y = y, .series = {{"plain form", plain, lengths}, {"blocks", fused, lengths}}}});
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

// ---- bits

// One output, in float, with blocks of `block` keys.
float rescaled(const Tensor& scores, const Tensor& values, int64_t first, int64_t n, int64_t block) {
    float largest = -std::numeric_limits<float>::infinity(), sum = 0, weighted = 0;
    for (int64_t begin = 0; begin < n; begin += block) {
        const int64_t end = std::min(n, begin + block);
        float now = largest;
        for (int64_t i = begin; i < end; ++i)
            now = std::max(now, static_cast<float>(scores.data()[first + i]));
        const auto factor =
            sum > 0
                ? static_cast<float>(portable::exp(static_cast<double>(largest) - static_cast<double>(now)))
                : 0.0f;
        sum *= factor, weighted *= factor, largest = now;
        for (int64_t i = begin; i < end; ++i) {
            const auto e = static_cast<float>(
                portable::exp(static_cast<double>(scores.data()[first + i]) - static_cast<double>(now)));
            sum += e;
            weighted += e * static_cast<float>(values.data()[first + i]);
        }
    }
    return weighted / sum;
}

void block_bits(std::ostream& out) {
    constexpr int64_t kRows = 1000, kKeys = 256;
    const Tensor scores = Tensor::randn({kRows, kKeys}, Rng(1)) * 2,
                 values = Tensor::randn({kRows, kKeys}, Rng(2));
    out << "of " << grouped(kRows) << " outputs, each of a row of " << kKeys
        << " scores, this many have other bits than if the row is one block\n";
    for (const int64_t block : {128, 64, 32}) {
        int64_t differ = 0;
        for (int64_t r = 0; r < kRows; ++r)
            differ += rescaled(scores, values, r * kKeys, kKeys, block) !=
                      rescaled(scores, values, r * kKeys, kKeys, kKeys);
        claim(differ > kRows / 10, "rescaling changes bits");
        out << "  in blocks of " << kit::right(std::to_string(block), 3) << " keys: " << differ << '\n';
    }
}

// ---- times

void times(std::ostream& out) {
    Rows rows = {{"T = S", "plain form, ms", "blocks, ms", "ratio"}};
    for (int64_t length = 128; length <= 2048; length *= 4) {
        Tensor qkv = Tensor::randn({1, length, 3 * kHeads * kSize}, Rng(1)).require_grad();
        const Tensor dout = Tensor::ones({1, length, kHeads * kSize});
        const auto milliseconds = [&] {
            return 1e3 /
                   bench::rate(
                       [&] {
                           qkv.zero_grad();
                           self_attention(qkv, {.n_heads = kHeads, .mask = Mask::causal()}).backward(dout);
                           return 1.0;
                       },
                       0.3);
        };
        const double fused = milliseconds();
        const Plain guard;
        const double plain = milliseconds();
        rows.push_back({grouped(length), digits(plain), digits(fused), digits(plain / fused)});
    }
    table(out, rows);
}

}  // namespace

Computed kernels_attention() {
    return {.sections = {{"kernels.attention_memory", Effort::quick, memory},
                         {"kernels.online", Effort::quick, online},
                         {"kernels.block_bits", Effort::quick, block_bits},
                         {"kernels.attention_times", Effort::timed, times}},
            .figures = {{"autograd/kernels/figures/attention_memory.svg", Effort::quick, memory_figure}}};
}

}  // namespace plaingrad::chapters
