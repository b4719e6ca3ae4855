// Training in several processes: what a step takes and what of it is not computing, measured on this machine;
// and what it would take on many machines, computed from that (scaling_model.h).
//
//     mpirun -np 2 build/mpi/bench/bench_scaling steps --workload multi30k
//
// `make bench-scaling` runs all of it, by tests/bench/scaling.sh.
#include <cstdio>
#include <fstream>
#include <sstream>

#include "apps/kit/options.h"
#include "apps/kit/program.h"
#include "autograd/base/check.h"
#include "autograd/inspect.h"
#include "tests/bench/scaling_measuring.h"
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
    bool quick = false;
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
    all.push_back({.name = n + ", 2 MiB", .options = {.bucket = 1 << 19}, .link = link});
    all.push_back({.name = n + ", 4 MiB", .options = {.bucket = 1 << 20}, .link = link});
    return all;
}

void print(const Way& way, const WayTimes& t) {
    const auto share = [&](double seconds) { return 100 * seconds / t.step; };
    std::printf("%-24s %9.2f %8.1f %8.1f %8.1f %8.1f %8.1f %8.1f %9.2f %9.2f %8.2f %9.2f  %016llx\n",
                way.name.c_str(), 1e3 * t.step, 100 * t.not_computing, 100 * t.slower, share(t.copying),
                share(t.starting + t.polling), share(t.waiting), share(t.gathering), 1e3 * t.first_sent,
                1e3 * t.backward_ended, t.bytes / (1 << 20), t.optimizer_bytes / (1 << 20),
                static_cast<unsigned long long>(t.hash));
}

void steps_command(kit::Options& options) {
    StepSettings s;
    options.add("--workload", "NAME", "one of bench_training's, paper_base_37k or paper_big_37k", s.workload);
    options.add("--rounds", "N", "rounds, in which each way takes its turn", s.rounds, {.min = 1});
    options.add("--steps", "N", "steps of a turn", s.steps, {.min = 1});
    options.add("--latency", "US", "slows messages down, by software: microseconds", s.latency);
    options.add("--bandwidth", "GBIT", "the same: Gbit/s of each process; 0: as it is", s.bandwidth);
    options.add("--quick", "leaves out buckets of other sizes, and steps without overlap", s.quick);
    options.add("--record", "FILE", "appends the times to this file", s.record);
    options.add_threads();
    options.is_shared();
    options.parse();
    nn::Team& team = *options.team;
    const Workload w = scaling_workload(s.workload);
    const std::vector<Way> all = ways(team, s);
    const std::vector<WayTimes> times = measure_ways(team, w, all, s.rounds, s.steps);
    if (!team.leads())
        return;
    std::printf("%s, %lld tokens; %d thread%s each, %s", s.workload.c_str(),
                static_cast<long long>(w.tokens()), autograd::thread_count(),
                autograd::thread_count() == 1 ? "" : "s", autograd::instruction_set());
    if (s.latency > 0 || s.bandwidth > 0)
        std::printf("; slowed down by software: %g us, %g Gbit/s", s.latency, s.bandwidth);
    std::printf("\n%-24s %9s %8s %8s %8s %8s %8s %8s %9s %9s %8s %9s\n", "", "step", "not",
                "of it:", "copies", "sending", "waiting", "norm", "first", "backward", "MiB", "MiB of");
    std::printf("%-24s %9s %8s %8s %8s %8s %8s %8s %9s %9s %8s %9s  %s\n", "", "ms", "comp. %", "slower %",
                "%", "%", "%", "%", "sent ms", "ended ms", "sent", "optimizer", "hash of weights");
    for (std::size_t i = 0; i < all.size(); ++i) {
        print(all[i], times[i]);
        const double tokens = static_cast<double>(w.tokens());
        if (i == 0)
            record(s.record, line("step", s.workload, 1, tokens, times[i].step, 0));
        if (i == 2 && s.latency + s.bandwidth == 0)
            record(s.record, line("step", s.workload, team.size(), tokens / static_cast<double>(team.size()),
                                  times[i].step, times[i].spread));
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
    std::string lines =
        line("profile", p.name, p.fixed, p.per_token, p.tokens, p.activation_bytes, p.square, p.adam);
    for (std::size_t b = 0; b < p.elements.size(); ++b)
        lines += line("bucket", p.elements[b], p.ready[b]);
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

void seam_command(kit::Options& options) {
    std::vector<std::string> names;
    int64_t pairs = 100;
    options.rest("NAME...", "workloads", names, {.least = 1});
    options.add("--pairs", "N", "pairs of steps", pairs, {.min = 1});
    options.add_threads();
    options.parse();
    std::printf("the seam with one process: a plain loop, and the same by nn::DataParallel\n");
    for (const std::string& name : names) {
        const Seam seam = measure_seam(scaling_workload(name), pairs);
        std::printf("%-16s %9.3f ms %9.3f ms   %+.2f %%   %s\n", name.c_str(), 1e3 * seam.plain,
                    1e3 * seam.shared, 100 * seam.overhead, seam.same_bits ? "same bits" : "OTHER BITS");
        autograd::check(seam.same_bits, "[bench_scaling] ", name, ": other bits");
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
    options.add("--threads", "N", "of a process; there is one on each machine", s.threads, {.min = 1});
    options.add("--tokens", "N", "of each process (weak scaling), or of 32 of them together (strong)",
                s.tokens, {.min = 1});
    options.parse();
    std::ifstream in(files[0]);
    autograd::check(static_cast<bool>(in), files[0], ": can't be read");
    s.network = {1e-6 * latency, kGigabit * bandwidth};
    const Measured m = read_measured(in, files[0]);
    std::cout << comparison(m) << '\n' << prediction(m, s);
}

}  // namespace

int main(int argc, char** argv) {
    return kit::run_program(
        "bench_scaling", argc, argv,
        {{"", "measures training in several processes, and computes it for many machines",
          [](kit::Options& options) {
              options.parse();
              throw kit::UsageError("which command? --help lists them");
          }},
         {"steps", "steps of the processes that mpirun has started, and of one", steps_command},
         {"profile", "when the gradients of a step are ready", profile_command},
         {"messages", "what messages and copies cost", messages_command},
         {"seam", "what nn::DataParallel costs with one process", seam_command},
         {"simulate", "steps on 1 to 1,024 machines", simulate_command}});
}
