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

void assumptions(std::ostream& out) {
    const bench::SimulationSettings s;
    const double weights = static_cast<double>(measured().profile(kBase).size());
    out << join("the paper's base model, ", fixed(1e-6 * weights, 0), " million weights\n", s.threads,
                " cores a node, one process on each; ", number(8e-9 * s.network.bandwidth), " Gbit/s, ",
                number(1e6 * s.network.latency), " µs\nequal parts take different time, by ",
                fixed(100 * measured().spread(kBase), 1), " % (standard deviation)\nweak scaling: ", s.tokens,
                " tokens on each node, as the paper's whole batch\nstrong scaling: ", 32 * s.tokens,
                " tokens in all\n");
}

void base_model(std::ostream& out) {
    const std::vector<ScalingPoint> weak = points(kBase, Scaling::weak),
                                    strong = points(kBase, Scaling::strong);
    Rows rows = {
        {"nodes", "weak: step, s", "efficiency", "strong: step, s", "efficiency", "Adam's memory, MiB"}};
    for (std::size_t i = 0; i < weak.size(); i += 2)
        rows.push_back({std::to_string(weak[i].nodes), digits(weak[i].step.seconds),
                        percent(weak[i].efficiency), digits(strong[i].step.seconds),
                        percent(strong[i].efficiency), digits(weak[i].step.optimizer_memory / (1 << 20))});
    claim(weak[6].efficiency >= 0.85, "64 nodes are worth at least 85 % of 64");
    claim(strong.back().efficiency < 0.5, "a batch that does not grow can't use 1,024 nodes");
    table(out, rows, "nnnnnn");
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
    const figures::LineChart chart = {.x = {.name = "nodes", .log = true, .ticks = {1, 4, 16, 64, 256, 1024}},
                                      .y = {.name = "efficiency, %", .low = 0, .high = 100},
                                      .series = {line("base, weak", kBase, Scaling::weak),
                                                 line("big, weak", "paper_big_37k", Scaling::weak),
                                                 line("Multi30k, weak", "multi30k", Scaling::weak),
                                                 line("base, strong", kBase, Scaling::strong),
                                                 line("big, strong", "paper_big_37k", Scaling::strong),
                                                 line("Multi30k, strong", "multi30k", Scaling::strong)}};
    return figures::svg("Data-parallel training on many nodes, simulated",
                        "With a batch that grows with the nodes, efficiency falls slowly; with one that does "
                        "not, it collapses once sending takes longer than computing.",
                        {chart});
}

}  // namespace

Computed training_machines() {
    return {.sections = {{"nn.machines.assumptions", Effort::quick, assumptions},
                         {"nn.machines.base", Effort::quick, base_model}},
            .figures = {{"nn/figures/scaling.svg", Effort::quick, draw_efficiency}}};
}

}  // namespace plaingrad::chapters
