// How long data-parallel training would take on many machines: the simulation of tests/bench/scaling_model.h,
// from what `make bench-scaling` has measured.
#include <fstream>
#include <ostream>

#include "autograd/base/check.h"
#include "tests/bench/scaling_tables.h"
#include "tests/chapters/nn.h"
#include "tests/chapters/print.h"
#include "tests/figures/figure.h"

namespace plaingrad::chapters {

namespace {

using autograd::join;
using bench::Scaling;
using bench::ScalingPoint;

constexpr const char* kMeasured = "tests/bench/scaling.txt";
constexpr const char* kBase = "paper_base_37k";
constexpr const char* kBig = "paper_big_37k";

const bench::Measured& measured() {
    static const bench::Measured all = [] {
        std::ifstream in(kMeasured);
        autograd::check(static_cast<bool>(in), kMeasured, " can't be read");
        return bench::read_measured(in, kMeasured);
    }();
    return all;
}

std::vector<ScalingPoint> points(const std::string& model, Scaling scaling) {
    return scaling_of(measured(), model, scaling, {});
}

std::string percent(double share) { return fixed(100 * share, 0) + " %"; }

// What the simulation assumes, below its table.
void assumptions(std::ostream& out) {
    const bench::SimulationSettings s;
    out << join("\nThe paper's base model, ",
                fixed(1e-6 * static_cast<double>(measured().profile(kBase).size()), 0),
                " million weights. Each node has ", s.cores, " cores and one process; the network carries ",
                number(8e-9 * s.network.bandwidth), " Gbit/s from each,\nwith ",
                number(1e6 * s.network.latency), " µs of latency. Weak: ", s.tokens,
                " tokens a node, the paper's whole batch; strong: ", 32 * s.tokens, " tokens in all.\n");
}

void base_model(std::ostream& out) {
    const std::vector<ScalingPoint> weak = points(kBase, Scaling::weak),
                                    strong = points(kBase, Scaling::strong);
    Rows rows = {{"nodes", "weak: step, s", "efficiency", "strong: step, s", "efficiency"}};
    for (std::size_t i = 0; i < weak.size(); i += 2)
        rows.push_back({std::to_string(weak[i].nodes), digits(weak[i].step.seconds),
                        percent(weak[i].efficiency), digits(strong[i].step.seconds),
                        percent(strong[i].efficiency)});
    claim(weak[6].efficiency >= 0.85, "64 nodes are worth at least 85 % of 64");
    claim(strong.back().efficiency < 0.5, "a batch that does not grow can't use 1,024 nodes");
    table(out, rows, "nnnnn");
    assumptions(out);
}

figures::Series line(const std::string& name, const std::string& model, Scaling scaling) {
    figures::Series series = {.name = name, .y = {}};
    for (const ScalingPoint& p : points(model, scaling)) {
        series.x.push_back(static_cast<double>(p.nodes));
        series.y.push_back(100 * p.efficiency);
    }
    return series;
}

std::string draw_efficiency() {
    const figures::LineChart chart = {
        .x = {.name = "nodes", .log = true, .ticks = {1, 4, 16, 64, 256, 1024}},
        .y = {.name = "efficiency, %", .low = 0, .high = 100},
        .series = {line("base, weak", kBase, Scaling::weak), line("big, weak", kBig, Scaling::weak),
                   line("Multi30k, weak", "multi30k", Scaling::weak),
                   line("base, strong", kBase, Scaling::strong), line("big, strong", kBig, Scaling::strong),
                   line("Multi30k, strong", "multi30k", Scaling::strong)}};
    return figures::svg("Data-parallel training on many nodes, simulated",
                        "With a batch that grows with the nodes, efficiency falls slowly; with one that does "
                        "not, it collapses once sending takes longer than computing.",
                        {chart});
}

}  // namespace

Computed training_machines() {
    return {.sections = {{"nn.machines.base", Effort::quick, base_model}},
            .figures = {{"nn/figures/scaling.svg", Effort::quick, draw_efficiency}}};
}

}  // namespace plaingrad::chapters
