// The operations of a Transformer's step: how much each computes for a byte, and what it waits for.
#include <algorithm>
#include <functional>
#include <memory>
#include <ostream>

#include "autograd/base/check.h"
#include "autograd/base/parallel.h"
#include "autograd/ops.h"
#include "nn/optim.h"
#include "tests/bench/measure.h"
#include "tests/chapters/core.h"
#include "tests/chapters/print.h"

namespace plaingrad::chapters {

using namespace autograd;

namespace {

// The paper's base model, for 16 sentences of 64 tokens.
constexpr int64_t B = 16, T = 64, H = 8, kModel = 512, kFf = 2048, V = 8000, kPositions = B * T;

struct Operation {
    std::string name;
    double flops, numbers;  // operations; floats read once and written once
    std::function<std::function<void()>()> prepare;
    double in_place = 0;  // of the numbers: those that are written where they were read

    double bytes() const { return 4 * numbers; }
    double memory() const { return 4 * (numbers - in_place); }  // that it touches, in bytes
    double intensity() const { return flops / bytes(); }
};

// (m, k) @ (k, n)
Operation product(const std::string& name, int64_t m, int64_t k, int64_t n) {
    const auto all = [](int64_t a, int64_t b) { return static_cast<double>(a * b); };
    return {join(name, ", ", m, " × ", k, " @ ", k, " × ", n), 2 * static_cast<double>(m) * all(k, n),
            all(m, k) + all(k, n) + all(m, n), [=] {
                const Tensor a = Tensor::randn({m, k}, Rng(1)), b = Tensor::randn({k, n}, Rng(2));
                return [=] { matmul(a, b); };
            }};
}

Operation attention_of_sentences() {
    const auto numbers = static_cast<double>(kPositions * kModel);
    return {join("attention, ", B, " sentences of ", T), 4 * numbers * T, 4 * numbers, [] {
                const Tensor qkv = Tensor::randn({B, T, 3 * kModel}, Rng(1));
                return [=] { self_attention(qkv, {.n_heads = H}); };
            }};
}

Operation norm() {
    const auto numbers = static_cast<double>(kPositions * kModel);
    return {"layer norm", 8 * numbers, 2 * numbers, [] {
                const Tensor x = Tensor::randn({kPositions, kModel}, Rng(1)), gain = Tensor::ones({kModel}),
                             bias = Tensor::zeros({kModel});
                return [=] { layer_norm(x, gain, bias); };
            }};
}

Operation residual() {
    const auto numbers = static_cast<double>(kPositions * kModel);
    return {"residual connection, x + y", numbers, 3 * numbers, [] {
                const Tensor x = Tensor::randn({kPositions, kModel}, Rng(1)), y = x.clone();
                return [=] { add(x, y); };
            }};
}

Operation adam_step() {
    constexpr double kWeights = 4096.0 * 1024;
    return {"Adam, 4 million weights", 12 * kWeights, 7 * kWeights,
            [] {
                Tensor w = Tensor::randn({4096, 1024}, Rng(1)).require_grad();
                sum(w).backward();
                const auto adam =
                    std::make_shared<nn::Adam>(std::vector<nn::NamedParameter>{{"w", w}}, nn::AdamOptions{});
                return [=] { adam->step(Real(1e-3), 1); };
            },
            3 * kWeights};
}

// What an operation does to each number of a row is counted roughly: multiplication, addition and square root
// as one operation each, the softmax of attention not at all.
std::vector<Operation> operations() {
    return {product("feed-forward", kPositions, kModel, kFf),
            product("one projection", kPositions, kModel, kModel),
            product("output layer", kPositions, kModel, V),
            attention_of_sentences(),
            norm(),
            residual(),
            adam_step(),
            product("one token, feed-forward", 1, kModel, kFf),
            product("eight tokens, feed-forward", 8, kModel, kFf)};
}

void intensity(std::ostream& out) {
    Rows rows = {{"", "million operations", "MiB moved", "operations / byte"}};
    for (const Operation& o : operations())
        rows.push_back({o.name, digits(o.flops / 1e6), digits(o.bytes() / (1 << 20)), digits(o.intensity())});
    table(out, rows);
}

// Bytes read and written in a second by x = x + y, which together take `bytes` of memory; GB/s.
double bandwidth(int64_t bytes) {
    const int64_t n = bytes / 8 / 4096 * 4096;
    bench::Numbers x(static_cast<std::size_t>(n)), y(static_cast<std::size_t>(n));
    const kernels::Loop4 loop = {{1, 1, n / 4096, 4096}, {0, 0, 4096, 1}, {0, 0, 4096, 1}};
    double best = 0;
    for (int sample = 0; sample < 7; ++sample)
        best = std::max(best, 1e-9 * bench::rate([&] {
                                  kernels::cpu().binary(kernels::Binary::add, loop, x.data(), y.data(),
                                                        {x.data()});
                                  return static_cast<double>(3 * 4 * n);
                              }));
    return best;
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
        const auto run = o.prepare();
        const NoGrad no_grad;
        run();
        double measured = 0;  // the best of some, as for the limits
        for (int i = 0; i < 7; ++i)
            measured = std::max(measured, 1e-9 * bench::rate([&] {
                                              run();
                                              return o.flops;
                                          }));
        check_peak(measured, peak);
        const double moving = bandwidth(static_cast<int64_t>(o.memory())),
                     from_memory = o.intensity() * moving;
        const double limit = std::min(peak, from_memory);
        rows.push_back({o.name, digits(o.intensity()), digits(moving), digits(limit),
                        from_memory < peak ? "bytes" : "fma", digits(measured),
                        fixed(100 * measured / limit, 0) + " %"});
    }
    table(out, rows);
}

}  // namespace

Computed kernels_roofline() {
    return {.sections = {{"kernels.intensity", Effort::quick, intensity},
                         {"kernels.machine", Effort::timed, machine},
                         {"kernels.roofline", Effort::timed, roofline}}};
}

}  // namespace plaingrad::chapters
