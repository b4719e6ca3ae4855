// The operations of a Transformer's step: how much each computes for a byte, and what it waits for.
#include <algorithm>
#include <functional>
#include <ostream>

#include "autograd/base/check.h"
#include "autograd/base/parallel.h"
#include "autograd/ops.h"
#include "nn/optim.h"
#include "tests/bench/measure.h"
#include "tests/chapters/print.h"
#include "tests/chapters/sections.h"

namespace plaingrad::chapters {

using namespace autograd;

namespace {

// The paper's base model, for 16 sentences of 64 tokens.
constexpr int64_t B = 16, T = 64, kModel = 512, kFf = 2048, kPositions = B * T;
constexpr double kNumbers = kPositions * kModel;

struct Operation {
    std::string name;
    double flops, numbers;  // operations; floats read once and written once
    std::function<void()> run;
    double in_place = 0;  // of the numbers: those that are written where they were read

    double bytes() const { return 4 * numbers; }
    double memory() const { return 4 * (numbers - in_place); }  // that it touches, in bytes
    double intensity() const { return flops / bytes(); }
};

// (m, kModel) @ (kModel, kFf)
Operation product(const std::string& name, int64_t m) {
    const Tensor a = Tensor::ones({m, kModel}), b = Tensor::ones({kModel, kFf});
    return {join(name, ", ", m, " × ", kModel, " @ ", kModel, " × ", kFf),
            static_cast<double>(2 * m * kModel * kFf), static_cast<double>(m * (kModel + kFf) + kModel * kFf),
            [=] { matmul(a, b); }};
}

// What an operation does to each number of a row is counted roughly: multiplication, addition and square root
// as one operation each, the softmax of attention not at all.
std::vector<Operation> operations() {
    const Tensor qkv = Tensor::ones({B, T, 3 * kModel}), x = Tensor::ones({kPositions, kModel}),
                 y = x.clone(), gain = Tensor::ones({kModel}), bias = Tensor::zeros({kModel});
    const Tensor w = Tensor::ones({4096, 1024}).require_grad();
    const auto weights = static_cast<double>(w.numel());
    sum(w).backward();
    const auto adam =
        std::make_shared<nn::Adam>(std::vector<nn::NamedParameter>{{"w", w}}, nn::AdamOptions{});
    return {product("feed-forward", kPositions),
            {join("attention, ", B, " sentences of ", T), 4 * kNumbers * T, 4 * kNumbers,
             [=] { self_attention(qkv, {.n_heads = 8}); }},
            {"layer norm", 8 * kNumbers, 2 * kNumbers, [=] { layer_norm(x, gain, bias); }},
            {"residual connection, x + y", kNumbers, 3 * kNumbers, [=] { add(x, y); }},
            {"Adam, 4 million weights", 12 * weights, 7 * weights, [=] { adam->step(Real(1e-3), 1); },
             3 * weights},
            product("one token, feed-forward", 1),
            product("eight tokens, feed-forward", 8)};
}

void intensity(std::ostream& out) {
    Rows rows = {{"", "million operations", "MiB moved", "operations / byte"}};
    for (const Operation& o : operations())
        rows.push_back({o.name, digits(o.flops / 1e6), digits(o.bytes() / (1 << 20)), digits(o.intensity())});
    table(out, rows);
}

// The best of some: whatever else runs can only make it slower.
double best_rate(const std::function<double()>& work) {
    double best = 0;
    for (int sample = 0; sample < 7; ++sample)
        best = std::max(best, 1e-9 * bench::rate(work));
    return best;
}

// Bytes read and written in a second by x = x + y, which together take `bytes` of memory; GB/s.
double bandwidth(int64_t bytes) {
    const int64_t n = bytes / 8 / 4096 * 4096;
    bench::Numbers x(static_cast<std::size_t>(n)), y(static_cast<std::size_t>(n));
    const kernels::Loop4 loop = {{1, 1, n / 4096, 4096}, {0, 0, 4096, 1}, {0, 0, 4096, 1}};
    return best_rate([&] {
        kernels::cpu().binary(kernels::Binary::add, loop, x.data(), y.data(), {x.data()});
        return static_cast<double>(3 * 4 * n);
    });
}

void machine(std::ostream& out) {
    const int threads = thread_count();
    const double peak = bench::fma_peak();
    set_thread_count(1);
    const double alone = bench::fma_peak();
    Rows rows = {{"", "one thread", join(threads, " threads")}};
    rows.push_back({"fused multiply-adds, GFLOP/s", digits(alone), digits(peak)});
    std::vector<std::string> last;
    for (const auto& [name, bytes] : {std::pair<const char*, int64_t>{"32 KiB", 1 << 15},
                                      {"1 MiB", 1 << 20},
                                      {"16 MiB", 1 << 24},
                                      {"512 MiB", int64_t(1) << 29}}) {
        set_thread_count(1);
        const double one = bandwidth(bytes);
        set_thread_count(threads);
        const double all = bandwidth(bytes);
        rows.push_back({join("x = x + y within ", name, ", GB/s"), digits(one), digits(all)});
        last = {join("operations in the time of moving one float within ", name), digits(4 * alone / one),
                digits(4 * peak / all)};
    }
    rows.push_back(last);
    table(out, rows);
}

// Beside each measurement: what this machine could compute while it moves as many bytes.
void roofline(std::ostream& out) {
    const double peak = bench::fma_peak();
    Rows rows = {{"", "operations / byte", "x = x + y in as much memory, GB/s", "limit, GFLOP/s", "set by",
                  "measured", "of the limit"}};
    for (const Operation& o : operations()) {
        const NoGrad no_grad;
        o.run();
        const double measured = best_rate([&] {
            o.run();
            return o.flops;
        });
        claim(measured <= 1.05 * peak, "nothing is faster than the peak");
        const double moving = bandwidth(static_cast<int64_t>(o.memory())),
                     from_memory = o.intensity() * moving;
        const double limit = std::min(peak, from_memory);
        rows.push_back({o.name, digits(o.intensity()), digits(moving), digits(limit),
                        from_memory < peak ? "bytes" : "fma", digits(measured),
                        fixed(100 * measured / limit, 0) + " %"});
    }
    table(out, rows);
}

const Adds kHere({{"kernels.intensity", Effort::quick, intensity},
                  {"kernels.machine", Effort::timed, machine},
                  {"kernels.roofline", Effort::timed, roofline}});

}  // namespace

}  // namespace plaingrad::chapters
