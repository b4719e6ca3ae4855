// What the staircase of the matrix product gains, and what the same bits cost.
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ostream>
#include <sstream>

#include "autograd/base/check.h"
#include "autograd/base/parallel.h"
#include "autograd/inspect.h"
#include "autograd/ops.h"
#include "tests/bench/measure.h"
#include "tests/chapters/core.h"
#include "tests/chapters/print.h"

namespace plaingrad::chapters {

using namespace autograd;

namespace {

// The lines that a benchmark prints, their values apart. It is a program of its own: this one is compiled for
// every machine, the staircase for the one at hand.
std::vector<std::vector<std::string>> benchmark(const std::string& name) {
    const char* const folder = std::getenv("PLAINGRAD_BENCH");
    const std::string command = (folder != nullptr ? folder : "build/bench") + ("/" + name) + " --csv";
    FILE* const pipe = popen(command.c_str(), "r");
    check(pipe != nullptr, "[chapters] '", command, "' cannot be started");
    std::string text;
    for (int c; (c = std::fgetc(pipe)) != EOF;)
        text += static_cast<char>(c);
    check(pclose(pipe) == 0, "[chapters] '", command, "' failed; `make ", name, "` builds and runs it");
    std::vector<std::vector<std::string>> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
        std::istringstream values(line);
        lines.emplace_back();
        for (std::string value; std::getline(values, value, ',');)
            lines.back().push_back(value);
    }
    return lines;
}

void staircase(std::ostream& out) {
    std::vector<std::vector<std::string>> rows = {
        {"step", "GFLOP/s", "times the step before", "of the peak of its threads"}};
    double before = 0;
    for (const std::vector<std::string>& line : benchmark("bench_staircase"))
        if (const double now = std::atof(line[1].c_str()); now > 0) {
            rows.push_back({line[0], digits(now), before > 0 ? digits(now / before) : "",
                            fixed(100 * std::atof(line[2].c_str()), 0) + " %"});
            before = now;
        }
    table(out, rows);
}

// The kernels that take a hundredth or more of a training step of a small GPT: 6 layers, 384 wide, batches of
// 8 × 256 characters.
void training_step(std::ostream& out) {
    std::vector<std::vector<std::string>> rows = {{"kernel", "calls", "ms", "of the step", "GFLOP/s"}};
    for (const std::vector<std::string>& line : benchmark("bench_profile --workload char")) {
        const auto value = [&](std::size_t i) { return std::atof(line[i].c_str()); };
        if (line.size() == 5 && !line[0].starts_with("  ") &&
            value(3) >= 0.01)  // not the products one by one
            rows.push_back({line[0], fixed(value(1), 0), digits(value(2)), fixed(100 * value(3), 0) + " %",
                            value(4) > 0 ? digits(value(4)) : ""});
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
    const double library = speed(kCount, [&] {
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
    std::vector<std::vector<std::string>> rows = {{"instruction set", "product of 256 × 256, GFLOP/s",
                                                   "softmax, numbers / ns", "sum of the product's elements"}};
    for (const char* const* name = kernels::available(); *name != nullptr; ++name) {
        kernels::use(*name);
        const double product = 2 * kSize * speed(kSize * kSize, [&] { matmul(a, b); });
        const double exps = speed(kSize * kSize, [&] { softmax(a); });
        rows.push_back(
            {*name, digits(product), digits(exps), digits(static_cast<double>(sum(matmul(a, b)).item()), 9)});
        claim(rows.back()[3] == rows[1][3], "all instruction sets give the same bits");
    }
    kernels::use(best.c_str());
    table(out, rows);
}

}  // namespace

Computed kernels_times() {
    return {.sections = {{"kernels.staircase", Effort::timed, staircase},
                         {"kernels.training_step", Effort::timed, training_step},
                         {"kernels.cost", Effort::timed, cost},
                         {"kernels.instruction_sets", Effort::timed, instruction_sets}}};
}

}  // namespace plaingrad::chapters
