// Where the time of a training step goes: kernel by kernel, products by shape.
//
// All arithmetic of the library goes through the table that kernels::cpu() returns. This program puts a table
// of its own there, of functions that read the clock, call the real one, and read the clock again.
#include <map>
#include <thread>

#include "autograd/base/check.h"
#include "autograd/kernels/kernels.h"
#include "tests/bench/bench.h"
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
    inline static std::string name;
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
auto clocked(const std::string& name) {
    using Clocked = Clock<kIn, kMember, decltype(real_function<kIn, kMember>())>;
    Clocked::name = name;
    return &Clocked::call;
}

template <auto kIn>
Products product_clocks(const std::string& suffix = "") {
    return {clocked<kIn, &Products::gemm>("gemm" + suffix),
            clocked<kIn, &Products::pack>("pack" + suffix),
            real_function<kIn, &Products::unpack_column>(),
            clocked<kIn, &Products::attention>("attention" + suffix),
            clocked<kIn, &Products::attention_backward>("attention_backward" + suffix),
            real_function<kIn, &Products::fma_chains>()};
}

Kernels clocks() {
    Kernels table = real();
    table.float32 = product_clocks<&Kernels::float32>();
    table.bf16 = product_clocks<&Kernels::bf16>(" bf16");
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

// A row for each kernel, the slowest first, all products of matrices in one; then one for each of these.
void print_table(bool csv, double steps, double whole) {
    std::vector<std::pair<std::string, Line>> kernels, products;
    Line rest{.seconds = whole}, gemm;
    for (const auto& [name, line] : lines) {
        rest.seconds -= line.seconds;
        if (name.starts_with("gemm ")) {
            products.emplace_back("  " + name.substr(5), line);
            gemm = {gemm.calls + line.calls, gemm.seconds + line.seconds, gemm.flops + line.flops};
        } else {
            kernels.emplace_back(name, line);
        }
    }
    kernels.emplace_back("gemm: all products", gemm);
    for (auto* some : {&kernels, &products})
        std::sort(some->begin(), some->end(),
                  [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });
    kernels.emplace_back("graph and allocation (the rest)", rest);
    kernels.insert(kernels.end(), products.begin(), products.end());
    const Table table(csv, {"kernel", "calls", "ms", "share", "gflops"});
    for (const auto& [name, line] : kernels)
        table.row(name, static_cast<double>(line.calls) / steps, 1e3 * line.seconds / steps,
                  line.seconds / whole, line.flops > 0 ? 1e-9 * line.flops / line.seconds : 0);
}

void profile(const Settings& s) {
    const Workload& w = workload(s.workload);
    const autograd::Precision precision = kit::precision_of(s.precision);
    const double peak_before = fma_peak(precision);
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
    const auto count = static_cast<double>(steps);
    if (!s.csv)
        std::printf("%s: a training step, %.3f ms with the clocks, %d thread%s, %s, %s peak %.0f GFLOP/s\n\n",
                    s.workload.c_str(), 1e3 * whole / count, autograd::thread_count(),
                    autograd::thread_count() == 1 ? "" : "s", real().name,
                    s.precision == "bf16" ? "bf16" : "fma", peak);
    print_table(s.csv, count, whole);
}

// The share of a small model's step that is not arithmetic, measured without the clocks. Disturbances only
// make a step longer, so the best of some rounds counts.
void print_shares(const std::string& precision) {
    autograd::kernels::use(real());
    std::printf("\nnot arithmetic: 1 - flops / (%s peak x time) of a training step\n\n",
                precision == "bf16" ? "bf16" : "fma");
    const Table table(false, {"workload", "ms", "not arithmetic"});
    for (const char* name : {"reverse", "toy", "char_small"}) {
        Training training(workload(name), kit::precision_of(precision));
        training.step();
        double peak = 0, steps_per_second = 0;
        for (int round = 0; round < 5; ++round) {
            peak = std::max(peak, fma_peak(kit::precision_of(precision)));
            steps_per_second = std::max(steps_per_second, rate([&] { return training.step(), 1; }, 0.05));
        }
        table.row(name, 1e3 / steps_per_second, 1 - 1e-9 * workload(name).flops() * steps_per_second / peak);
    }
}

}  // namespace

int main(int argc, char** argv) {
    Settings s;
    const auto add = [&](kit::Options& options) {
        options.add("--workload", "the workload to measure", s.workload, workload_names());
        options.add("--steps", "N", "steps to measure; 0: as many as take a second", s.steps);
        options.add_threads();
        options.add_precision(s.precision);
    };
    return run("bench_profile", "shows where the time of a training step goes", argc, argv, &s.csv, add, [&] {
        static const Kernels table = clocks();
        autograd::kernels::use(table);
        profile(s);
        if (!s.csv)
            print_shares(s.precision);
    });
}
