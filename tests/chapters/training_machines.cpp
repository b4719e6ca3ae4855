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

void assumptions(std::ostream& out) {
    const bench::SimulationSettings s;
    const bench::Job job;
    const double base = static_cast<double>(measured().profile(kBase).size()),
                 big = static_cast<double>(measured().profile(kBig).size());
    out << join(
        "the paper's two models: base with ", fixed(1e-6 * base, 0), " million weights, big with ",
        fixed(1e-6 * big, 0), " million\n", s.cores, " cores a node, one process of ", s.cores,
        " threads on each; ", number(8e-9 * s.network.bandwidth), " Gbit/s, ",
        number(1e6 * s.network.latency), " µs\n", s.cores, " threads compute ", s.cores,
        " times as fast as one (if not, efficiencies below are too low)\ncopies, sums and Adam use the "
        "memory bandwidth of at most ",
        job.memory_threads,
        " threads\nthe network carries what all nodes send at once\nparts are of equal size, padding "
        "included; their times differ by ",
        fixed(100 * measured().spread(kBase), 1), " % (standard deviation)\nweak scaling: ", s.tokens,
        " tokens on each node, as the paper's whole batch\nstrong scaling: ", 32 * s.tokens,
        " tokens in all\n");
}

// What parts that differ twice as much, and a network of half the bandwidth, each add to a step, as a share
// of it.
struct Added {
    double by_deviation, by_network;
};
Added added(Scaling scaling, std::size_t point) {
    const bench::SimulationSettings usual;
    bench::SimulationSettings uneven, slow;
    uneven.spread_times = 2;
    slow.network.bandwidth /= 2;
    const auto seconds = [&](const bench::SimulationSettings& s) {
        return scaling_of(measured(), kBase, scaling, s)[point].step.seconds;
    };
    const double now = seconds(usual);
    return {seconds(uneven) / now - 1, seconds(slow) / now - 1};
}

void what_decides(std::ostream& out) {
    Rows rows = {{"nodes", "weak: twice the deviation", "half the bandwidth", "strong: twice the deviation",
                  "half the bandwidth"}};
    const auto text = [](double share) { return "+" + fixed(100 * share, 1) + " %"; };
    for (std::size_t i = 6; i <= 10; ++i) {  // 64 nodes and more
        const Added weak = added(Scaling::weak, i), strong = added(Scaling::strong, i);
        claim(weak.by_network > 2 * weak.by_deviation && strong.by_network > 2 * strong.by_deviation,
              "on many nodes half the bandwidth costs more than twice the deviation of parts");
        if (i % 2 == 0)
            rows.push_back({std::to_string(int64_t{1} << i), text(weak.by_deviation), text(weak.by_network),
                            text(strong.by_deviation), text(strong.by_network)});
    }
    out << "\nWhat makes a step longer, and by how much:\n\n";
    table(out, rows, "nnnnn");
}

// The time of the whole training: the paper's batch of 25,000 tokens, shared out among the nodes.
void paper_training(std::ostream& out) {
    const std::vector<ScalingPoint> base = points(kBase, Scaling::paper), big = points(kBig, Scaling::paper);
    const auto days = [](const ScalingPoint& p, int64_t steps) {
        return digits(static_cast<double>(steps) * p.step.seconds / 86'400);
    };
    out << "\nThe paper's training on 4.5 million pairs, " << bench::SimulationSettings().tokens
        << " tokens a step in all; days:\n\n";
    Rows rows = {{"nodes", "base, 100,000 steps", "efficiency", "big, 300,000 steps", "efficiency"}};
    for (std::size_t i = 0; i <= 6; i += 2)
        rows.push_back({std::to_string(base[i].nodes), days(base[i], bench::kStepsOfBase),
                        percent(base[i].efficiency), days(big[i], bench::kStepsOfBig),
                        percent(big[i].efficiency)});
    table(out, rows, "nnnnn");
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
    what_decides(out);
    paper_training(out);
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
    return {.sections = {{"nn.machines.assumptions", Effort::quick, assumptions},
                         {"nn.machines.base", Effort::quick, base_model}},
            .figures = {{"nn/figures/scaling.svg", Effort::quick, draw_efficiency}}};
}

}  // namespace plaingrad::chapters
