// How long a training step takes, how much of the machine it uses, and how much memory it needs.
//
// Each row of the table is measured in a process of its own, because a process's peak memory never falls.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "apps/kit/options.h"
#include "apps/kit/program.h"
#include "autograd/base/check.h"
#include "autograd/storage.h"
#include "tests/bench/measure.h"
#include "tests/bench/workloads.h"

using namespace plaingrad;  // NOLINT

namespace {

using namespace bench;

constexpr double kEnough = 1.5;  // seconds for a row, unless --steps says otherwise
constexpr int kFewest = 3;       // steps, however long they take

struct Settings {
    std::string precision = "float32";
    std::string workload = "all";
    int64_t threads = 0, steps = 0;
    bool csv = false, turns = false, sizes = false;
};

Settings parse(int argc, char** argv) {
    Settings s;
    std::vector<std::string> names = workload_names();
    names.insert(names.begin(), "all");  // but those that are measured by name
    kit::Options options(
        {"build/bench/bench_training", "measures training steps of the models in tests/bench/workloads.cpp"});
    options.add("--workload", "the workload to measure", s.workload, names);
    options.add("--threads", "N", "number of threads; 0: one thread, then all", s.threads, {.max = 1024});
    options.add("--steps", "N", "steps to measure; 0: as many as fit into a second or two", s.steps);
    options.add_precision(s.precision);
    options.add("--csv", "print comma-separated values", s.csv);
    options.add("--turns", "for each number N read: does N steps, prints the milliseconds of one", s.turns);
    options.add("--sizes", "measures nothing: prints the workloads as peers/shapes.py has them", s.sizes);
    options.parse(argc, argv);
    if (s.turns && s.workload == "all")
        throw kit::UsageError("--turns needs a --workload");
    return s;
}

void print_sizes(const Workload& w) {
    constexpr const char* kFamilies[] = {"encoder_decoder", "decoder", "classifier"};
    std::cout << "    \"" << w.name << "\": Shape(\"" << kFamilies[static_cast<int>(w.family)] << "\", "
              << w.batch << ", " << w.length << ", " << w.vocabulary << ", " << w.d_model << ", " << w.n_heads
              << ", " << w.d_ff << ", " << w.n_layers;
    if (w.dropout > 0)
        std::cout << ", dropout=" << w.dropout;
    if (w.label_smoothing > 0)
        std::cout << ", smoothing=" << w.label_smoothing;
    std::cout << (w.tied ? ", tied=True" : "");
    if (w.classes > 0)
        std::cout << ", classes=" << w.classes;
    std::cout << (w.activation == nn::Activation::gelu_tanh ? ", tanh=True" : "") << "),\n";
}

double milliseconds(Training& training) {
    const double begin = seconds();
    training.step();
    return 1e3 * (seconds() - begin);
}

void print_head(const Settings& s) {
    if (s.csv)
        std::printf(
            "workload,threads,ms_per_step,tokens_per_second,gflops,share_of_peak,peak_gflops,memory_mib,"
            "memory_of_model_mib,system_calls\n");
    else
        std::printf(
            "                         ms    tokens  GFLOP/s   of %4s     memory  without the   memory "
            "asked\n"
            "           threads  a step  a second              peak        MiB      program   for in "
            "steps\n",
            name_of_peak(kit::precision_of(s.precision)));
    std::fflush(stdout);
}

void measure(const Workload& w, const Settings& s) {
    const autograd::Precision precision = kit::precision_of(s.precision);
    double peak = fma_peak(precision);
    const double memory_before = peak_memory();
    Training training(w, precision);
    training.step();
    const int64_t calls_before = autograd::storage_statistics().system_calls;
    const double begin = seconds();
    const auto enough = [&](int64_t steps) {
        return s.steps > 0 ? steps == s.steps : steps >= kFewest && seconds() - begin > kEnough;
    };
    std::vector<double> times;
    while (!enough(static_cast<int64_t>(times.size())))
        times.push_back(milliseconds(training));
    const double memory = peak_memory();
    peak = std::max(peak, fma_peak(precision));

    const double ms = median(times), gflops = 1e-6 * w.flops() / ms;
    const double tokens_per_second = 1e3 * static_cast<double>(w.tokens()) / ms;
    const auto calls = static_cast<long long>(autograd::storage_statistics().system_calls - calls_before);
    const char* format = s.csv ? "%.*s,%d,%.3f,%.0f,%.1f,%.4f,%.1f,%.1f,%.1f,%lld\n"
                               : "%-10.*s %7d %7.2f %9.0f %8.1f %6.1f %% of %.0f %7.1f %12.1f %14lld\n";
    std::printf(format, static_cast<int>(w.name.size()), w.name.data(), autograd::thread_count(), ms,
                tokens_per_second, gflops, (s.csv ? 1 : 100) * gflops / peak, peak, memory,
                memory - memory_before, calls);
    std::fflush(stdout);
}

// Runs in a child process. The parent must not have started threads: it has not even asked for their number.
void measure_apart(const Workload& w, const Settings& s, int64_t threads) {
    const pid_t child = fork();
    autograd::check(child >= 0, "[bench] the system gives no process");
    if (child == 0)
        std::_Exit(kit::run("bench_training", "", [&] {
            if (threads > 0)
                autograd::set_thread_count(static_cast<int>(threads));
            else if (autograd::thread_count() == 1)
                return 0;  // "all threads" is one thread, which has been measured
            measure(w, s);
            return 0;
        }));
    int status = 0;
    waitpid(child, &status, 0);
    autograd::check(status == 0, "[bench] ", w.name, " ended with status ", status);
}

int take_turns(const Workload& w, const Settings& s) {
    if (s.threads > 0)
        autograd::set_thread_count(static_cast<int>(s.threads));
    const double memory_before = peak_memory();
    Training training(w, kit::precision_of(s.precision));
    training.step();
    return serve_turns(memory_before, [&] { training.step(); });
}

}  // namespace

int main(int argc, char** argv) {
    return kit::run("bench_training", argv[0], [&] {
        const Settings s = parse(argc, argv);
        if (s.turns)
            return take_turns(workload(s.workload), s);
        if (s.sizes) {
            for (const Workload& w : workloads())
                print_sizes(w);
            return 0;
        }
        print_head(s);
        for (const Workload& w : workloads()) {
            if (s.workload == "all" ? w.by_name : s.workload != w.name)
                continue;
            if (s.threads > 0) {
                measure_apart(w, s, s.threads);
                continue;
            }
            measure_apart(w, s, 1);
            measure_apart(w, s, 0);
        }
        return 0;
    });
}
