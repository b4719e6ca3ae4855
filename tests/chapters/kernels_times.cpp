// What the staircase of the matrix product gains, and what the same bits cost.
#include <cmath>
#include <ostream>

#include "autograd/inspect.h"
#include "autograd/ops.h"
#include "tests/bench/measure.h"
#include "tests/chapters/command.h"
#include "tests/chapters/print.h"
#include "tests/chapters/sections.h"

namespace plaingrad::chapters {

using namespace autograd;

namespace {

// The benchmarks are programs of their own: this one is compiled for every machine, the staircase for the one
// at hand.
void staircase(std::ostream& out) {
    Rows rows = {{"step", "GFLOP/s", "times the step before", "of the peak of its threads"}};
    double before = 0, peak = 0;
    for (const auto& values :
         rows_of(output_of("build/bench/bench_staircase --csv"), "step,gflops,share_of_peak")) {
        const double now = std::stod(values[1]);
        rows.push_back({values[0], digits(now), before > 0 ? digits(now / before) : "",
                        share_of_peak(std::stod(values[2]), 1)});
        before = now;
        peak = now / std::stod(values[2]);  // the last step has all threads
    }
    rows.push_back({"peak of all threads", digits(peak), "", ""});
    table(out, rows);
}

void step_staircase(std::ostream& out) {
    Rows rows = {{"stair", "what is new", "µs a step", "times the stair before", "loss of step 3"}};
    Rows to_compare;
    double all = 1;
    for (const auto& values :
         rows_of(output_of("build/bench/bench_step_staircase --csv"), "stair,microseconds,gain,loss,what")) {
        const bool is_stair = rows.size() == 1 || !values[2].empty();  // the first has no gain
        const double gain = values[2].empty() ? 1 : std::stod(values[2]);
        (is_stair ? rows : to_compare)
            .push_back({values[0], values[4], grouped(std::llround(std::stod(values[1]))),
                        values[2].empty() ? "" : digits(gain), values[3]});
        all *= gain;
    }
    rows.push_back({"all stairs", "", "", grouped(std::llround(all)), ""});
    rows.insert(rows.end(), to_compare.begin(), to_compare.end());
    table(out, rows, "ttnnn");
}

// The kernels that take a hundredth or more of a training step of a small GPT: 6 layers, 384 wide, batches of
// 8 × 256 characters.
void training_step(std::ostream& out) {
    Rows rows = {{"kernel", "calls", "ms", "of the step", "GFLOP/s"}};
    for (const auto& values : rows_of(output_of("build/bench/bench_profile --workload char --csv"),
                                      "kernel,calls,ms,share,gflops")) {
        const double share = std::stod(values[3]), gflops = std::stod(values[4]);
        if (share >= 0.01 && !values[0].starts_with("  "))  // the products one by one are indented
            rows.push_back({values[0], fixed(std::stod(values[1]), 0), digits(std::stod(values[2])),
                            fixed(100 * share, 0) + " %", gflops > 0 ? digits(gflops) : ""});
    }
    table(out, rows);
}

// Numbers a nanosecond.
template <class F>
double speed(int64_t n, const F& f) {
    std::vector<double> samples;
    for (int i = 0; i < 7; ++i)
        samples.push_back(1e-9 * bench::rate([&] {
                              f();
                              return static_cast<double>(n);
                          }));
    return bench::median(samples);
}

void cost(std::ostream& out) {
    constexpr int64_t kCount = 4096;
    bench::Numbers x(kCount), y(kCount);
    for (std::size_t i = 0; i < kCount; ++i)
        x[i] = Real(0.001) * static_cast<Real>(i % 100);
    volatile Real result = 0;
    const double chain = speed(kCount, [&] {
        Real sum = 0;
        for (std::size_t i = 0; i < kCount; ++i)
            sum += x[i];
        result = sum;
    });
    const double lanes = speed(kCount, [&] {
        kernels::cpu().sum({1, kCount, 1}, 1, x.data(), {y.data()});
        result = y[0];
    });
    const double library = speed(kCount, [&] {  // the C library's, whose bits differ between machines
        for (std::size_t i = 0; i < kCount; ++i)
            y[i] = std::exp(x[i]);
        result = y[7];
    });
    const double ours = speed(kCount, [&] {
        kernels::cpu().unary(kernels::Unary::exp, kCount, x.data(), y.data());
        result = y[7];
    });
    table(out, {{"4096 numbers", "the loop as one writes it", "with the same bits everywhere"},
                {"their sum, numbers / ns", digits(chain), digits(lanes)},
                {"exp of each, numbers / ns", digits(library), digits(ours)}});
}

void instruction_sets(std::ostream& out) {
    constexpr int64_t kSize = 256;
    const Tensor a = Tensor::randn({kSize, kSize}, Rng(1)), b = Tensor::randn({kSize, kSize}, Rng(2));
    const std::string best = instruction_set();
    Rows rows = {{"instruction set", "product of 256 × 256, GFLOP/s", "softmax, numbers / ns",
                  "sum of the product's elements"}};
    for (const char* const* name = kernels::available(); *name != nullptr; ++name) {
        kernels::use(*name);
        const double product = 2 * kSize * speed(kSize * kSize, [&] { matmul(a, b); });
        const double exps = speed(kSize * kSize, [&] { softmax(a); });
        rows.push_back({*name, digits(product), digits(exps), digits(value(sum(matmul(a, b))), 9)});
        claim(rows.back()[3] == rows[1][3], "all instruction sets give the same bits");
    }
    kernels::use(best.c_str());
    table(out, rows);
}

const Adds kHere({{"kernels.staircase", Effort::timed, staircase},
                  {"kernels.step_staircase", Effort::timed, step_staircase},
                  {"kernels.training_step", Effort::timed, training_step},
                  {"kernels.cost", Effort::timed, cost},
                  {"kernels.instruction_sets", Effort::timed, instruction_sets}});

}  // namespace

}  // namespace plaingrad::chapters
