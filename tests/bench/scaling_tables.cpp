#include "tests/bench/scaling_tables.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace plaingrad::bench {

namespace {

constexpr int64_t kOfStrong = 32;  // nodes that share what strong scaling computes

template <class... T>
std::string formatted(const char* format, const T&... values) {
    char text[256];
    std::snprintf(text, sizeof text, format, values...);
    return text;
}

SimulatedStep simulated(const Measured& m, const MeasuredStep& s) {
    const bool is_slowed = s.is_slowed();
    return simulate(m.profile(s.workload), m.core,
                    networks(m.core, is_slowed ? s.network : Network{.latency = m.core.latency}),
                    {.ranks = s.ranks,
                     .tokens = s.tokens,
                     .ranks_on_node = is_slowed ? 1 : s.ranks,
                     .overlaps = s.overlaps,
                     .spread = is_slowed ? m.spread(s.workload) : s.spread});
}

}  // namespace

std::vector<ScalingPoint> scaling_of(const Measured& m, const std::string& model, Scaling scaling,
                                     const SimulationSettings& s) {
    std::vector<ScalingPoint> points;
    const StepProfile& profile = m.profile(model);
    for (int64_t nodes = 1; nodes <= 1024; nodes *= 2) {
        const auto n = static_cast<double>(nodes);
        const double tokens =  // of all processes
            static_cast<double>(s.tokens) *
            (scaling == Scaling::weak ? n : static_cast<double>(scaling == Scaling::strong ? kOfStrong : 1));
        const int64_t ranks = nodes * s.processes;
        ScalingPoint p = {.nodes = nodes,
                          .step = simulate(profile, m.core, networks(m.core, s.network),
                                           {.ranks = ranks,
                                            .tokens = tokens / static_cast<double>(ranks),
                                            .threads = std::max<int64_t>(1, s.cores / s.processes),
                                            .ranks_on_node = s.processes,
                                            .spread = s.spread_times * m.spread(model)})};
        const double alone = points.empty() ? p.step.seconds : points[0].step.seconds;
        p.efficiency = alone / p.step.seconds / (scaling == Scaling::weak ? 1 : n);
        points.push_back(p);
    }
    return points;
}

double largest_error(const Measured& m) {
    double most = 0;
    for (const MeasuredStep& s : m.steps)
        if (s.ranks <= 2)
            most = std::max(most, std::abs(simulated(m, s).seconds / s.seconds - 1));
    return most;
}

std::string comparison(const Measured& m) {
    std::string text =
        m.machine +
        "\n\n                            network                 step, ms             of it, %\n"
        "workload    processes   Gbit/s      us   overlap  measured simulated   error  spread\n";
    for (const MeasuredStep& s : m.steps) {
        if (s.ranks > 2)
            continue;
        const SimulatedStep step = simulated(m, s);
        const std::string network =
            s.is_slowed() ? formatted("%8.3g %7.0f", 8e-9 * s.network.bandwidth, 1e6 * s.network.latency)
                          : "       -       -";
        text += formatted("%-12s %8lld %s %9s %9.2f %9.2f %+5.1f %% %7.1f\n", s.workload.c_str(),
                          static_cast<long long>(s.ranks), network.c_str(),
                          s.ranks == 1 ? "-"
                          : s.overlaps ? "yes"
                                       : "no",
                          1e3 * s.seconds, 1e3 * step.seconds, 100 * (step.seconds / s.seconds - 1),
                          100 * step.slowest / step.seconds);
    }
    return text;
}

namespace {

std::string title(const Measured& m, const StepProfile& p, Scaling scaling, const SimulationSettings& s) {
    return formatted("\n%s, %.1f million weights; parts differ by %.1f %% (deviation); %lld tokens %s\n",
                     p.name.c_str(), 1e-6 * static_cast<double>(p.size()),
                     100 * s.spread_times * m.spread(p.name),
                     static_cast<long long>(s.tokens * (scaling == Scaling::strong ? kOfStrong : 1)),
                     scaling == Scaling::weak ? "on each node" : "in all");
}

std::string row(const ScalingPoint& point) {
    const SimulatedStep& step = point.step;
    const auto share = [&](double seconds) { return 100 * seconds / step.seconds; };
    return formatted("%8lld %11.2f %9.1f %% %8.1f %% %5.1f %% %6.1f %% %6.1f %% %9.1f %11.0f %11.1f",
                     static_cast<long long>(point.nodes), 1e3 * step.seconds, 100 * point.efficiency,
                     share(step.compute), share(step.copies), share(step.network), share(step.slowest),
                     step.bytes_sent / (1 << 20), step.memory / (1 << 20), step.optimizer_memory / (1 << 20));
}

}  // namespace

std::string prediction(const Measured& m, const SimulationSettings& s) {
    std::string text =
        formatted("%lld process%s on each node of %lld cores, %g Gbit/s, %g us\n",
                  static_cast<long long>(s.processes), s.processes == 1 ? "" : "es",
                  static_cast<long long>(s.cores), 8e-9 * s.network.bandwidth, 1e6 * s.network.latency);
    for (const StepProfile& p : m.profiles)
        for (const Scaling scaling : {Scaling::weak, Scaling::strong, Scaling::paper}) {
            const bool is_big = p.name == "paper_big_37k";
            const bool is_paper = is_big || p.name == "paper_base_37k";
            if (scaling == Scaling::paper && !is_paper)
                continue;
            text += title(m, p, scaling, s);
            text +=
                "   nodes     step ms  efficiency  computing  copies  network  slowest  MiB sent"
                "  memory MiB  of it Adam";
            const int64_t steps = is_big ? kStepsOfBig : kStepsOfBase;
            if (scaling == Scaling::paper)
                text += formatted("  days for %lld,000 steps", static_cast<long long>(steps / 1000));
            text += '\n';
            for (const ScalingPoint& point : scaling_of(m, p.name, scaling, s)) {
                text += row(point);
                if (scaling == Scaling::paper)
                    text += formatted(" %12.2f", static_cast<double>(steps) * point.step.seconds / 86'400);
                text += '\n';
            }
        }
    return text;
}

}  // namespace plaingrad::bench
