// How long a training step takes, how much of the machine it uses, and how much memory it needs.
//
// Each row of the table is measured in a process of its own, because a process's peak memory never falls.
#include <sys/wait.h>
#include <unistd.h>

#include <memory>

#include "autograd/base/check.h"
#include "tests/bench/bench.h"
#include "tests/bench/workloads.h"

using namespace plaingrad;  // NOLINT

namespace {

using namespace bench;

struct Settings : bench::Common {
    std::string workload = "all";
    int64_t steps = 0;
    bool sizes = false;
};

void print_sizes(const Workload& w) {
    constexpr const char* kFamilies[] = {"encoder_decoder", "decoder", "classifier"};
    std::cout << autograd::join(w.name, ' ', kFamilies[static_cast<int>(w.family)], ' ', w.batch, ' ',
                                w.length, ' ', w.vocabulary, ' ', w.d_model, ' ', w.n_heads, ' ', w.d_ff, ' ',
                                w.n_layers, ' ', w.dropout, ' ', w.label_smoothing, ' ', w.tied, ' ',
                                w.classes, ' ', w.activation == nn::Activation::gelu_tanh, '\n');
}

void measure(const Workload& w, const Settings& s, const Table& table) {
    double peak = fma_peak(s.kind());
    Training training(w, s.kind());
    const auto step = [&] { training.step(); };
    const double ms =
        s.steps > 0 ? milliseconds(step, static_cast<int>(s.steps)) : milliseconds(step, 3, 1.5);
    const double memory = peak_memory(), gflops = 1e-6 * w.flops() / ms;
    peak = std::max(peak, fma_peak(s.kind()));
    table.row(std::string(w.name), autograd::thread_count(), ms, 1e3 * static_cast<double>(w.tokens()) / ms,
              gflops, gflops / peak, memory);
}

// Runs in a child process. The parent must not have started threads: it has not even asked for their number.
void measure_apart(const Workload& w, const Settings& s, int threads, const Table& table) {
    const pid_t child = fork();
    autograd::check(child >= 0, "[bench] the system gives no process");
    if (child == 0)
        std::_Exit(kit::run("bench_training", "", [&] {
            if (threads > 0)
                autograd::set_thread_count(threads);
            else if (autograd::thread_count() == 1)
                return 0;  // "all threads" is one thread, which has been measured
            measure(w, s, table);
            return 0;
        }));
    int status = 0;
    waitpid(child, &status, 0);
    autograd::check(status == 0, "[bench] ", w.name, " ended with status ", status);
}

void measure_all(const Settings& s) {
    if (s.sizes) {
        std::for_each(workloads().begin(), workloads().end(), print_sizes);
        return;
    }
    kit::check_usage(!s.turns || s.workload != "all", "--turns needs a --workload");
    if (s.turns)
        return take_turns(s, [&] {
            auto training = std::make_shared<Training>(workload(s.workload), s.kind());
            return [=] { training->step(); };
        });
    const Table table(s.csv, {"workload", "threads", "ms_per_step", "tokens_per_second", "gflops",
                              "share_of_peak", "memory_mib"});
    for (const Workload& w : workloads())
        if (s.workload == "all" ? !w.by_name : s.workload == w.name)
            for (const int threads :
                 s.threads > 0 ? std::vector<int>{static_cast<int>(s.threads)} : std::vector<int>{1, 0})
                measure_apart(w, s, threads, table);
}

}  // namespace

int main(int argc, char** argv) {
    Settings s;
    const auto add = [&](kit::Options& options) {
        std::vector<std::string> names = workload_names();
        names.insert(names.begin(), "all");  // but those that are measured by name
        options.add("--workload", "the workload to measure", s.workload, names);
        options.add("--steps", "N", "steps to measure; 0: as many as fit into a second or two", s.steps,
                    {.max = 1 << 20});
        options.add("--sizes", "measures nothing: prints the workloads' sizes", s.sizes);
        s.add_to(options, "one thread, then all");
    };
    return run("bench_training", "measures training steps of the models in tests/bench/workloads.cpp", argc,
               argv, &s.csv, add, [&] { measure_all(s); });
}
