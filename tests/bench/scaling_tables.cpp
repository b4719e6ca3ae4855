#include "tests/bench/scaling_tables.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace plaingrad::bench {

namespace {

template <class... T>
std::string formatted(const char* format, const T&... values) {
    char text[256];
    std::snprintf(text, sizeof text, format, values...);
    return text;
}

SimulatedStep simulated(const Measured& m, const MeasuredStep& s) {
    return simulate(m.profile(s.workload), m.core, {.latency = m.core.latency},
                    {.ranks = s.ranks, .tokens = s.tokens, .spread = s.spread});
}

}  // namespace

std::vector<ScalingPoint> scaling_of(const Measured& m, const std::string& model, Scaling scaling,
                                     const SimulationSettings& s) {
    std::vector<ScalingPoint> points;
    const StepProfile& profile = m.profile(model);
    for (int64_t nodes = 1; nodes <= 1024; nodes *= 2) {
        constexpr double kOfStrong = 32;
        const double tokens = static_cast<double>(s.tokens) *
                              (scaling == Scaling::weak ? 1 : kOfStrong / static_cast<double>(nodes));
        ScalingPoint p = {
            .nodes = nodes,
            .step = simulate(
                profile, m.core, s.network,
                {.ranks = nodes, .tokens = tokens, .threads = s.threads, .spread = m.spread(model)})};
        const double alone = points.empty() ? p.step.seconds : points[0].step.seconds;
        p.efficiency = alone / p.step.seconds / (scaling == Scaling::weak ? 1 : static_cast<double>(nodes));
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
        m.machine + "\n\nworkload           processes  measured ms  simulated ms  difference\n";
    for (const MeasuredStep& s : m.steps) {
        if (s.ranks > 2)
            continue;
        const double seconds = simulated(m, s).seconds;
        text += formatted("%-18s %9lld %12.2f %13.2f %+9.1f %%\n", s.workload.c_str(),
                          static_cast<long long>(s.ranks), 1e3 * s.seconds, 1e3 * seconds,
                          100 * (seconds / s.seconds - 1));
    }
    return text;
}

std::string prediction(const Measured& m, const SimulationSettings& s) {
    std::string text =
        formatted("One process of %lld threads on each node, %g Gbit/s, %g us\n",
                  static_cast<long long>(s.threads), 8e-9 * s.network.bandwidth, 1e6 * s.network.latency);
    for (const StepProfile& p : m.profiles)
        for (const Scaling scaling : {Scaling::weak, Scaling::strong}) {
            text +=
                formatted("\n%s, %.1f million weights; parts differ by %.1f %% (deviation); %lld tokens %s\n",
                          p.name.c_str(), 1e-6 * static_cast<double>(p.size()), 100 * m.spread(p.name),
                          static_cast<long long>(s.tokens * (scaling == Scaling::weak ? 1 : 32)),
                          scaling == Scaling::weak ? "on each node" : "in all");
            text +=
                "   nodes     step ms  efficiency  computing  copies  network  slowest  MiB sent  "
                "memory MiB  of it Adam\n";
            for (const ScalingPoint& point : scaling_of(m, p.name, scaling, s)) {
                const SimulatedStep& step = point.step;
                const auto share = [&](double seconds) { return 100 * seconds / step.seconds; };
                text += formatted(
                    "%8lld %11.2f %9.1f %% %8.1f %% %5.1f %% %6.1f %% %6.1f %% %9.1f %11.0f %11.1f\n",
                    static_cast<long long>(point.nodes), 1e3 * step.seconds, 100 * point.efficiency,
                    share(step.compute), share(step.copies), share(step.network), share(step.slowest),
                    step.bytes_sent / (1 << 20), step.memory / (1 << 20), step.optimizer_memory / (1 << 20));
            }
        }
    return text;
}

}  // namespace plaingrad::bench
