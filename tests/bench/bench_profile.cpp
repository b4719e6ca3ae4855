// Where the time of a training step goes: kernel by kernel, products by shape.
//
// All arithmetic of the library goes through the table that kernels::cpu() returns. This program puts a table
// of its own there, of functions that read the clock, call the real one, and read the clock again.
#include <cstdio>
#include <map>
#include <thread>
#include <tuple>

#include "apps/kit/options.h"
#include "apps/kit/program.h"
#include "autograd/base/check.h"
#include "autograd/kernels/kernels.h"
#include "autograd/storage.h"
#include "tests/bench/measure.h"
#include "tests/bench/workloads.h"

using namespace plaingrad;  // NOLINT

namespace {

using namespace bench;
using autograd::Real;
using autograd::kernels::Attention;
using autograd::kernels::Gemm;
using autograd::kernels::Kernels;
using autograd::kernels::Products;

struct Line {
    int64_t calls = 0;
    double seconds = 0, flops = 0;
};
std::map<std::string, Line> lines;

// ------------------------------------------------------------------- what a call is, for the table

template <class... A>
std::string detail(const A&...) {
    return "";
}
std::string detail(const Gemm& g, const Real*, const Real*, Real*) {
    const char* layout = g.a_transposed ? " aT" : g.b_transposed ? " bT" : "";
    return autograd::join(" ", g.m, " x ", g.n, " x ", g.k, layout);
}

template <class... A>
double flops(const A&...) {
    return 0;
}
double flops(const Gemm& g, const Real*, const Real*, Real*) {
    return 2.0 * static_cast<double>(g.m * g.n * g.k);
}
// Two products forward, four backward, as counted in workloads.cpp. (Backward computes the scores again,
// which does not count.)
template <class... A>
double flops(const Attention& a, const A&...) {
    constexpr bool backward = (std::is_same_v<A, autograd::kernels::Out> || ...);
    return (backward ? 8.0 : 4.0) * static_cast<double>(a.batch * a.heads * a.queries * a.keys * a.d);
}

// ------------------------------------------------------------------------------ the table of clocks

const Kernels& real() {
    static const Kernels table = autograd::kernels::cpu();  // as it is before the clocks take its place
    return table;
}

const std::thread::id main_thread = std::this_thread::get_id();

// The functions of the table, and of the two tables of products in it: kIn is one of these, or nullptr.
template <auto kIn, auto kMember>
auto real_function() {
    if constexpr (kIn == nullptr)
        return real().*kMember;
    else
        return real().*kIn.*kMember;
}

template <auto kIn, auto kMember, class Function>
struct Clock;
template <auto kIn, auto kMember, class R, class... A>
struct Clock<kIn, kMember, R (*)(A...)> {
    inline static const char* name = "";
    static R call(A... arguments) {
        // The optimizer calls its kernel from all threads at once; the time counts on this thread only.
        if (std::this_thread::get_id() != main_thread)
            return real_function<kIn, kMember>()(arguments...);
        struct Stop {
            Line& line;
            double begin = seconds();
            ~Stop() { line.seconds += seconds() - begin; }
        };
        Line& line = lines[name + detail(arguments...)];
        ++line.calls;
        line.flops += flops(arguments...);
        const Stop stop{line};
        return real_function<kIn, kMember>()(arguments...);
    }
};

template <auto kIn, auto kMember>
auto clocked(const char* name) {
    using Clocked = Clock<kIn, kMember, decltype(real_function<kIn, kMember>())>;
    Clocked::name = name;
    return &Clocked::call;
}

template <auto kIn>
Products product_clocks(const char* gemm, const char* pack, const char* attention,
                        const char* attention_backward) {
    return {clocked<kIn, &Products::gemm>(gemm),
            clocked<kIn, &Products::pack>(pack),
            real_function<kIn, &Products::unpack_column>(),
            clocked<kIn, &Products::attention>(attention),
            clocked<kIn, &Products::attention_backward>(attention_backward),
            real_function<kIn, &Products::fma_chains>()};
}

Kernels clocks() {
    Kernels table = real();
    table.float32 = product_clocks<&Kernels::float32>("gemm", "pack", "attention", "attention_backward");
    table.bf16 =
        product_clocks<&Kernels::bf16>("gemm bf16", "pack bf16", "attention bf16", "attention_backward bf16");
#define CLOCK(f) table.f = clocked<nullptr, &Kernels::f>(#f)
    CLOCK(unary), CLOCK(unary_backward), CLOCK(glu), CLOCK(glu_backward), CLOCK(binary);
    CLOCK(dropout), CLOCK(residual), CLOCK(rotary);
    CLOCK(fill), CLOCK(copy), CLOCK(sum), CLOCK(max), CLOCK(max_backward), CLOCK(sum_of_squares);
    CLOCK(softmax), CLOCK(softmax_backward), CLOCK(log_softmax), CLOCK(log_softmax_backward);
    CLOCK(cross_entropy), CLOCK(cross_entropy_backward), CLOCK(layer_norm), CLOCK(layer_norm_backward);
    CLOCK(gather), CLOCK(scatter_add), CLOCK(adam), CLOCK(first_from);
#undef CLOCK
    return table;
}

// Reading the clock costs some 50 ns a call: less than one percent except for the smallest models.
struct Settings {
    std::string workload = "multi30k", precision = "float32";
    int64_t steps = 0;
    bool csv = false;
};

void print(const Settings& s, const std::string& name, const Line& line, double steps, double whole,
           double peak) {
    const double ms = 1e3 * line.seconds / steps, share = line.seconds / whole;
    const double calls = static_cast<double>(line.calls) / steps, gflops = 1e-9 * line.flops / line.seconds;
    if (s.csv) {
        std::printf("%s,%.1f,%.4f,%.4f,%.1f\n", name.c_str(), calls, ms, share, gflops);
    } else {
        std::printf("%-32s %7.0f %10.3f %7.1f %%", name.c_str(), calls, ms, 100 * share);
        if (line.flops > 0)
            std::printf(" %8.1f %6.1f %%", gflops, 100 * gflops / peak);
        std::printf("\n");
    }
}

void print_table(const Settings& s, double steps, double whole, double peak) {
    std::vector<std::pair<double, std::string>> order;
    Line rest{.calls = 0, .seconds = whole};
    std::map<std::string, Line> sums;  // all products together
    for (const auto& [name, line] : lines) {
        order.emplace_back(-line.seconds, name);
        rest.seconds -= line.seconds;
        if (name.starts_with("gemm ")) {
            Line& all = sums["gemm"];
            all.calls += line.calls;
            all.seconds += line.seconds;
            all.flops += line.flops;
        }
    }
    for (const auto& [name, line] : sums)
        order.emplace_back(-line.seconds - 1e-12, name);
    std::sort(order.begin(), order.end());
    const auto row = [&](const std::string& name, const std::string& shown) {
        print(s, shown, sums.contains(name) ? sums[name] : lines[name], steps, whole, peak);
    };
    for (const auto& [seconds, name] : order)
        if (!name.starts_with("gemm "))
            row(name, name == "gemm" ? "gemm: all products" : name);
    print(s, "graph and allocation (the rest)", rest, steps, whole, peak);
    if (!s.csv)
        std::printf("\nthe products, m x n x k (aT, bT: an operand is transposed)\n");
    for (const auto& [seconds, name] : order)
        if (name.starts_with("gemm "))
            row(name, "  " + name.substr(5));
}

void profile(const Settings& s) {
    const Workload& w = workload(s.workload);
    const autograd::Precision precision = kit::precision_of(s.precision);
    const double peak_before = fma_peak(precision), memory_before = peak_memory();
    Training training(w, precision);
    const auto run = [&](int64_t steps) {
        const double begin = seconds();
        for (int64_t i = 0; i < steps; ++i)
            training.step();
        return seconds() - begin;
    };
    run(1);
    const auto steps = s.steps > 0 ? s.steps : std::max<int64_t>(3, static_cast<int64_t>(1 / run(1)));
    lines.clear();
    const double whole = run(steps), peak = std::max(peak_before, fma_peak(precision));
    const autograd::StorageStatistics memory = autograd::storage_statistics();
    const auto count = static_cast<double>(steps);
    if (s.csv) {
        std::printf("kernel,calls,ms,share,gflops\n");
    } else {
        const auto mib = [](int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); };
        std::printf("%s: a training step, %.3f ms with the clocks, %d thread%s, %s, %s peak %.0f GFLOP/s\n",
                    s.workload.c_str(), 1e3 * whole / count, autograd::thread_count(),
                    autograd::thread_count() == 1 ? "" : "s", real().name, name_of_peak(precision), peak);
        std::printf(
            "memory: %.1f MiB stay in use between steps (weights, gradients, Adam's moments), %.1f MiB come "
            "and go;\n"
            "the process grew by %.1f MiB\n\n",
            mib(memory.bytes_in_use), mib(memory.bytes_recycled), peak_memory() - memory_before);
        std::printf("kernel                             calls         ms     share  GFLOP/s  of peak\n");
    }
    print_table(s, count, whole, peak);
}

// The share of a small model's step that is not arithmetic, measured without the clocks. Disturbances only
// make a step longer, so the best of some rounds counts.
void print_shares(autograd::Precision precision) {
    autograd::kernels::use(real());
    std::printf("\nnot arithmetic: 1 - flops / (%s peak x time) of a training step\n",
                name_of_peak(precision));
    for (const char* name : {"reverse", "toy", "char_small"}) {
        Training training(workload(name), precision);
        training.step();
        double peak = 0, steps_per_second = 0;
        for (int round = 0; round < 5; ++round) {
            peak = std::max(peak, fma_peak(precision));
            steps_per_second = std::max(steps_per_second, rate([&] { return training.step(), 1; }, 0.05));
        }
        std::printf("  %-14s %8.3f ms %6.1f %%\n", name, 1e3 / steps_per_second,
                    100 * (1 - 1e-9 * workload(name).flops() * steps_per_second / peak));
    }
}

}  // namespace

int main(int argc, char** argv) {
    return kit::run("bench_profile", argv[0], [&] {
        Settings s;
        kit::Options options({"build/bench/bench_profile", "shows where the time of a training step goes"});
        options.add("--workload", "the workload to measure", s.workload, workload_names());
        options.add("--steps", "N", "steps to measure; 0: as many as take a second", s.steps);
        options.add_threads();
        options.add_precision(s.precision);
        options.add("--csv", "print comma-separated values", s.csv);
        options.parse(argc, argv);
        static const Kernels table = clocks();
        autograd::kernels::use(table);
        profile(s);
        if (!s.csv)
            print_shares(kit::precision_of(s.precision));
        return 0;
    });
}
