// The cost of everything that is not arithmetic: an operation with its graph node, a parallel_for, the start
// of a program, memory.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "apps/kit/options.h"
#include "apps/kit/program.h"
#include "autograd/base/check.h"
#include "autograd/ops.h"
#include "autograd/storage.h"
#include "tests/bench/measure.h"
#include "tests/bench/workloads.h"

using namespace plaingrad;  // NOLINT

namespace {

using namespace bench;
using autograd::Tensor;

constexpr int kRounds = 21;
constexpr int kChain = 1000;  // operations in a row

bool csv = false;

void report(const char* name, const char* what, double value, const char* unit) {
    if (csv)
        std::printf("%s,%.4g,%s\n", name, value, unit);
    else
        std::printf("%-66s %9.4g %s\n", what, value, unit);
    std::fflush(stdout);
}

// The median over the rounds of the nanoseconds that f takes; the first round does not count.
template <class F>
double nanoseconds(F f) {
    std::vector<double> times;
    for (int round = 0; round <= kRounds; ++round) {
        const double begin = seconds();
        f();
        times.push_back(1e9 * (seconds() - begin));
    }
    times.erase(times.begin());
    return median(times);
}

// x + y + y + ... + y, of 16 numbers each: so few that nearly all of the time is overhead.
Tensor chain(const Tensor& x, const Tensor& y) {
    Tensor sum = x;
    for (int i = 0; i < kChain; ++i)
        sum = sum + y;
    return sum;
}

void operations() {
    Tensor x = Tensor::full({16}, 1).require_grad(), y = Tensor::full({16}, 1).require_grad();
    const Tensor start = Tensor::full({16}, 1);
    report("op_forward_backward_ns", "an addition of 16 numbers, forward and backward",
           nanoseconds([&] { chain(x, y).backward(start); }) / kChain, "ns");
    const autograd::NoGrad no_grad;
    report("op_no_graph_ns", "the same, forward without a graph", nanoseconds([&] { chain(x, y); }) / kChain,
           "ns");
}

void parallel() {
    constexpr int kCalls = 1000;
    const int64_t threads = autograd::thread_count();
    const auto calls = [&](int64_t pause) {
        return nanoseconds([&] {
                   for (int i = 0; i < kCalls; ++i) {
                       autograd::parallel_for(0, threads, 1, [](int64_t, int64_t) {});
                       for (const double begin = seconds();
                            1e9 * (seconds() - begin) < static_cast<double>(pause);) {
                       }
                   }
               }) / kCalls -
               static_cast<double>(pause);
    };
    report("parallel_for_ns", "parallel_for with a chunk of nothing for each thread", calls(0), "ns");
    report("parallel_for_after_5us_ns", "the same, 5 us after the last one", calls(5000), "ns");
}

// From fork to the end of a program that makes a tensor: how long a user waits for a command that does
// nothing.
void start(const char* program) {
    const double ns = nanoseconds([&] {
        const pid_t child = fork();
        if (child == 0) {
            execl(program, program, "--nothing", nullptr);
            std::_Exit(1);
        }
        int status = 0;
        waitpid(child, &status, 0);
        autograd::check(status == 0, "[bench] ", program, " could not be started");
    });
    report("program_start_ms", "a program, from its start to its end, with one small product in it",
           1e-6 * ns, "ms");
}

void memory() {
    for (const Workload& w : workloads()) {
        if (w.name != "reverse" && w.name != "toy" && w.name != "char_small")
            continue;
        Training training(w);
        training.step();
        const auto calls = [] { return static_cast<double>(autograd::storage_statistics().system_calls); };
        const double first = calls();
        training.step();
        const double second = calls();
        for (int i = 0; i < 20; ++i)
            training.step();
        const std::string name(w.name);
        report((name + "_memory_calls_second_step").c_str(),
               (name + ": how often its second step asked the system for memory").c_str(), second - first,
               "");
        report((name + "_memory_calls_later").c_str(), (name + ": and its next 20 steps").c_str(),
               calls() - second, "");
    }
}

}  // namespace

int main(int argc, char** argv) {
    return kit::run("bench_overhead", argv[0], [&] {
        bool nothing = false;
        kit::Options options({"build/bench/bench_overhead", "measures what is not arithmetic"});
        options.add_threads();
        options.add("--csv", "print comma-separated values", csv);
        options.add("--nothing", "exit at once, to measure the start of a program", nothing);
        options.parse(argc, argv);
        if (nothing) {
            autograd::matmul(Tensor::full({16, 16}, 1), Tensor::full({16, 16}, 1));
            return 0;
        }
        if (csv)
            std::printf("name,value,unit\n");
        start(argv[0]);  // before there are threads that fork would leave behind
        operations();
        parallel();
        memory();
        return 0;
    });
}
