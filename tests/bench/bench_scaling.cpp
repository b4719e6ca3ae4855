// Training in several processes: what a step takes and what of it is not computing, measured on this machine;
// and what it would take on many machines, computed from that (scaling_model.h).
//
//     mpirun -np 2 build/mpi/bench/bench_scaling steps --workload multi30k
//
// `make bench-scaling` runs all of it, by tests/bench/scaling.sh.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <sstream>

#include "apps/kit/options.h"
#include "apps/kit/program.h"
#include "autograd/base/check.h"
#include "autograd/inspect.h"
#include "models/text/lines.h"
#include "tests/bench/scaling_measuring.h"
#include "tests/bench/scaling_parts.h"
#include "tests/bench/scaling_tables.h"

using namespace plaingrad;  // NOLINT

namespace {

using namespace bench;

constexpr double kGigabit = 1e9 / 8;  // bytes

// Lines for read_measured, at the end of a file.
void record(const std::string& file, const std::string& lines) {
    if (!file.empty())
        autograd::check(static_cast<bool>(std::ofstream(file, std::ios::app) << lines), file,
                        ": can't be written");
}
template <class... T>
std::string line(const T&... words) {
    std::ostringstream out;
    out.precision(6);
    ((out << words << ' '), ...);
    std::string text = out.str();
    text.back() = '\n';
    return text;
}

void require(nn::Team& team, int64_t processes, const char* command) {
    kit::check_usage(team.size() == processes, command, " needs ", processes, " processes: mpirun -np ",
                     processes, " bench_scaling ", command);
}

// ---- steps

struct StepSettings {
    std::string workload = "multi30k", record;
    int64_t rounds = 5, steps = 4;
    double latency = 0, bandwidth = 0;  // microseconds, Gbit/s
    double network = 0;                 // Gbit/s
    bool quick = false;
    bool is_slowed_by_software() const { return latency > 0 || bandwidth > 0; }
    bool is_slowed() const { return is_slowed_by_software() || network > 0; }
};

std::vector<Way> ways(nn::Team& team, const StepSettings& s) {
    const Link link = {1e-6 * s.latency, kGigabit * s.bandwidth};
    std::vector<Way> all = {{.name = "one process, one part", .by_one = true, .parts = 1}};
    const std::string n = std::to_string(team.size());
    if (team.size() == 1)
        return all;
    all.push_back({.name = "one process, " + n + " parts", .by_one = true});
    all.push_back({.name = n + " processes, 1 MiB", .link = link});
    if (s.quick)
        return all;
    all.push_back({.name = n + ", no overlap", .options = {.overlaps = false}, .link = link});
    if (s.is_slowed())
        return all;
    all.push_back({.name = n + ", 2 MiB", .options = {.bucket = 1 << 19}, .link = link});
    all.push_back({.name = n + ", 4 MiB", .options = {.bucket = 1 << 20}, .link = link});
    return all;
}

void print(const Way& way, const WayTimes& t) {
    const auto share = [&](double seconds) { return 100 * seconds / t.step; };
    std::printf("%-24s %9.2f %12.1f %17.1f %8.1f %8.1f %8.1f %8.1f %9.2f %9.2f %8.2f %9.2f  %016llx\n",
                way.name.c_str(), 1e3 * t.step, 100 * t.not_computing, 100 * t.slower, share(t.copying),
                share(t.starting + t.polling), share(t.waiting), share(t.gathering), 1e3 * t.first_sent,
                1e3 * t.backward_ended, t.bytes / (1 << 20), t.optimizer_bytes / (1 << 20),
                static_cast<unsigned long long>(t.hash));
}

void print_heading() {
    std::printf("\n%-24s %9s %12s %17s %8s %8s %8s %8s %9s %9s %8s %9s\n", "", "step", "not",
                "of which wait-", "copies", "sending", "waiting", "norm", "first", "backward", "MiB",
                "MiB of");
    std::printf("%-24s %9s %12s %17s %8s %8s %8s %8s %9s %9s %8s %9s  %s\n", "", "ms", "computing %",
                "ing for slowest %", "%", "%", "%", "%", "sent ms", "ended ms", "sent", "optimizer",
                "hash of weights");
}

// A way as a line of the file.
std::string step_line(const StepSettings& s, const Way& way, const WayTimes& t, int64_t processes,
                      double tokens, const Network& network) {
    return line("step", s.workload, processes, tokens / static_cast<double>(processes), t.step,
                processes == 1 ? 0 : t.spread, network.latency, network.bandwidth, way.options.overlaps);
}

void steps_command(kit::Options& options) {
    StepSettings s;
    options.add("--workload", "NAME", "one of bench_training's, paper_base_37k or paper_big_37k", s.workload);
    options.add("--rounds", "N", "rounds, in which each way takes its turn", s.rounds, {.min = 1});
    options.add("--steps", "N", "steps of a turn", s.steps, {.min = 1});
    options.add("--latency", "US", "slows messages down, by software: microseconds", s.latency);
    options.add("--bandwidth", "GBIT", "the same: Gbit/s of each process; 0: as it is", s.bandwidth);
    options.add("--network", "GBIT", "what the network has, if it is slow itself (tests/bench/network.sh)",
                s.network);
    options.add("--quick", "leaves out buckets of other sizes, and steps without overlap", s.quick);
    options.add("--record", "FILE", "appends the times to this file", s.record);
    options.add_threads();
    options.is_shared();
    options.parse();
    nn::Team& team = *options.team;
    if (s.network > 0)
        require(team, 2, "steps --network");
    const Workload w = scaling_workload(s.workload);
    const std::vector<Way> all = ways(team, s);
    Network network = {1e-6 * s.latency, kGigabit * (s.network > 0 ? s.network : s.bandwidth)};
    if (s.network > 0)
        network.latency = measure_latency(team);
    if (s.is_slowed() && network.bandwidth == 0)
        network.bandwidth = Network().bandwidth;
    const std::vector<WayTimes> times = measure_ways(team, w, all, s.rounds, s.steps);
    if (!team.leads())
        return;
    std::printf("%s, %lld tokens; %d thread%s each, %s", s.workload.c_str(),
                static_cast<long long>(w.tokens()), autograd::thread_count(),
                autograd::thread_count() == 1 ? "" : "s", autograd::instruction_set());
    if (s.is_slowed_by_software())
        std::printf("; slowed down by software: %g us, %g Gbit/s", s.latency, s.bandwidth);
    else if (s.is_slowed())
        std::printf("; a network of %g Gbit/s; latency, as measured: %.1f us", s.network,
                    1e6 * network.latency);
    print_heading();
    for (std::size_t i = 0; i < all.size(); ++i) {
        print(all[i], times[i]);
        const bool is_slowed_way = s.is_slowed() && (i == 2 || i == 3);
        const bool is_plain_way = !s.is_slowed() && (i == 0 || i == 2);
        if (is_slowed_way || is_plain_way)
            record(s.record, step_line(s, all[i], times[i], i == 0 ? 1 : team.size(),
                                       static_cast<double>(w.tokens()), network));
    }
    for (std::size_t i = 2; i < all.size(); ++i)
        autograd::check(times[i].hash == times[1].hash, "[bench_scaling] ", s.workload, ": '", all[i].name,
                        "' gives other weights than '", all[1].name, "'");
}

// ---- what the simulation needs

void profile_command(kit::Options& options) {
    std::vector<std::string> names;
    std::string file;
    int64_t steps = 7;
    options.rest("NAME", "a workload", names, {1, 1});
    options.add("--steps", "N", "steps of each", steps, {.min = 1});
    options.add("--record", "FILE", "appends the profiles to this file", file);
    options.add_threads();
    options.is_shared();
    options.parse();
    nn::Team& team = *options.team;
    const Workload w = scaling_workload(names[0]);
    const StepProfile p = measure_profile(team, w, nn::DataParallelOptions().bucket, steps);
    const std::string lines = line("profile", p.name, p.fixed, p.per_token, p.tokens, p.activation_bytes,
                                   p.square, p.adam, p.parameters, p.stretches) +
                              buckets_as_lines(p);
    if (!team.leads())
        return;
    record(file, lines);
    std::printf(
        "%-16s %6lld tokens: forward and backward %9.2f ms, first of %zu buckets after %4.1f %%; "
        "norm %.3f, Adam %.3f ns an element\n",
        p.name.c_str(), static_cast<long long>(p.tokens), 1e3 * p.compute(static_cast<double>(p.tokens)),
        p.elements.size(), 100 * p.ready[0], 1e9 * p.square, 1e9 * p.adam);
}

void messages_command(kit::Options& options) {
    std::string file, machine;
    options.add("--record", "FILE", "appends the constants to this file", file);
    options.add("--machine", "TEXT", "the name of this machine, for the file", machine);
    options.add_threads();
    options.is_shared();
    options.parse();
    nn::Team& team = *options.team;
    require(team, 2, "messages");
    Core core;
    measure_copies(team, core);
    if (!team.leads())
        return;
    record(file, line("machine", machine + ",", autograd::instruction_set()) +
                     line("core", core.copy, core.message, core.message_byte, core.latency));
    std::printf(
        "messages: %.1f us from process to process, %.2f us of work each, %.2f GB/s; additions %.3f ns "
        "an element\n",
        1e6 * core.latency, 1e6 * core.message, 1e-9 / core.message_byte, 1e9 * core.copy);
}

void overhead_command(kit::Options& options) {
    std::vector<std::string> names;
    int64_t pairs = 100;
    options.rest("NAME...", "workloads", names, {.least = 1});
    options.add("--pairs", "N", "pairs of steps", pairs, {.min = 1});
    options.add_threads();
    options.parse();
    std::printf("what nn::DataParallel costs in a single process, compared with a plain loop\n");
    std::printf("%-16s %12s %12s %8s\n", "", "plain loop", "DataParallel", "longer");
    for (const std::string& name : names) {
        const Overhead o = measure_overhead(scaling_workload(name), pairs);
        std::printf("%-16s %9.3f ms %9.3f ms %+6.2f %%   %s\n", name.c_str(), 1e3 * o.plain, 1e3 * o.shared,
                    100 * o.share, o.same_bits ? "same bits" : "OTHER BITS");
        autograd::check(o.same_bits, "[bench_scaling] ", name, ": other bits");
    }
}

// The number of words, and <eos>.
int64_t length_of(const std::string& line) {
    std::istringstream words(line);
    return 1 + std::distance(std::istream_iterator<std::string>(words), {});
}

void imbalance_command(kit::Options& options) {
    std::vector<std::string> files;
    options.rest("SOURCE TARGET", "two files of sentences, a line each; none: random lengths", files, {0, 2});
    options.parse();
    kit::check_usage(files.size() != 1, "imbalance needs two files, or none: got ", files.size());
    std::vector<models::text::PairLength> lengths = random_lengths(29'000);
    if (!files.empty()) {
        const std::vector<std::string> source = models::text::read_lines(files[0]),
                                       target = models::text::read_lines(files[1]);
        autograd::check(source.size() == target.size(), files[0], " has ", source.size(), " lines, ",
                        files[1], " has ", target.size(), ": they must be translations, line by line");
        lengths.clear();
        for (std::size_t i = 0; i < source.size(); ++i)
            lengths.push_back({length_of(source[i]), length_of(target[i])});
    }
    std::printf("%zu pairs of %s; how much more the largest part of a batch has than their mean\n",
                lengths.size(), files.empty() ? "random lengths" : "sentences, in words");
    std::printf("%12s %6s %10s %22s\n", "batch tokens", "parts", "tokens", "tokens and padding");
    for (const int64_t tokens : {4096, 25'000})
        for (const int64_t parts : {2, 4, 8, 16}) {
            const Imbalance i = measure_imbalance(lengths, tokens, parts);
            std::printf("%12lld %6lld %8.2f %% %20.2f %%\n", static_cast<long long>(tokens),
                        static_cast<long long>(parts), 100 * i.tokens, 100 * i.padded);
        }
}

// ---- the simulation

void simulate_command(kit::Options& options) {
    std::vector<std::string> files;
    SimulationSettings s;
    double latency = 20, bandwidth = 25;
    options.rest("FILE", "what `make bench-scaling` has measured", files, {1, 1});
    options.add("--latency", "US", "between machines: microseconds", latency);
    options.add("--bandwidth", "GBIT", "of each machine: Gbit/s", bandwidth, {.min = 1e-3});
    options.add("--cores", "N", "of each machine", s.cores, {.min = 1});
    options.add("--processes", "N", "on each machine, which share its cores", s.processes, {.min = 1});
    options.add("--tokens", "N", "of each machine (weak scaling), or of 32 of them together (strong)",
                s.tokens, {.min = 1});
    options.parse();
    kit::check_usage(s.processes <= s.cores, "--processes ", s.processes, " need as many cores: got --cores ",
                     s.cores);
    std::ifstream in(files[0]);
    autograd::check(static_cast<bool>(in), files[0], ": can't be read");
    s.network = {1e-6 * latency, kGigabit * bandwidth};
    const Measured m = read_measured(in, files[0]);
    std::cout << comparison(m) << '\n' << prediction(m, s);
}

}  // namespace

int main(int argc, char** argv) {
    return kit::run_program("bench_scaling", argc, argv, [] {
        return kit::Commands{
            {"", "measures training in several processes, and computes it for many machines",
             [](kit::Options& options) {
                 options.parse();
                 throw kit::UsageError("which command? --help lists them");
             }},
            {"steps", "steps of the processes that mpirun has started, and of one", steps_command},
            {"profile", "when the gradients of a step are ready", profile_command},
            {"messages", "what messages and copies cost", messages_command},
            {"overhead", "what nn::DataParallel costs in a single process", overhead_command},
            {"imbalance", "how unequal the parts of real text are", imbalance_command},
            {"simulate", "steps on 1 to 1,024 machines", simulate_command}};
    });
}
