// How fast attention alone is, forward and backward: 12 heads of 64, as in GPT-2, for one text of T
// positions. The work grows with T², the memory must not: q, k, v, the output and their gradients are T * 768
// numbers each. peers/pytorch_attention.py has the same in PyTorch.
#include <cstdio>
#include <vector>

#include "apps/kit/options.h"
#include "apps/kit/program.h"
#include "autograd/ops.h"
#include "tests/bench/measure.h"

using namespace plaingrad;  // NOLINT

namespace {

using namespace bench;
using autograd::Mask;
using autograd::Rng;
using autograd::Tensor;

constexpr int64_t kHeads = 12, kHeadSize = 64;
constexpr double kEnough = 1.0;  // seconds for a number
const std::vector<std::string> kMasks = {"both", "causal", "full"};

struct Settings {
    int64_t length = 0, threads = 0;
    std::string mask = "both", precision = "float32";
    bool forward = false, csv = false, turns = false;
};

class Attention {
public:
    Attention(int64_t length, bool causal, const std::string& precision)
        : q_(input("q", length)),
          k_(input("k", length)),
          v_(input("v", length)),
          dout_(input("dout", length)),
          precision_(kit::precision_of(precision)) {
        options_ = {.n_heads = kHeads, .mask = causal ? Mask::causal() : Mask::none()};
        const auto t = static_cast<double>(length);
        pairs_ = causal ? t * (t + 1) / 2 : t * t;
        for (Tensor* x : {&q_, &k_, &v_})
            x->require_grad();
    }

    // backward_too = false: the output alone, without a graph.
    void run(bool backward_too) {
        const autograd::UsePrecision precision(precision_);
        if (!backward_too) {
            const autograd::NoGrad no_grad;
            attention(q_, k_, v_, options_);
            return;
        }
        for (Tensor* x : {&q_, &k_, &v_})
            x->zero_grad();
        attention(q_, k_, v_, options_).backward(dout_);
    }

    // Of the hidden pairs nothing is counted. A pair takes two products in forward (scores, output), and five
    // in backward: the scores again, and with respect to the weights, v, q and k.
    double flops(bool backward_too) const {
        return (backward_too ? 7 : 2) * 2 * pairs_ * static_cast<double>(kHeads * kHeadSize);
    }

private:
    static Tensor input(std::string_view name, int64_t length) {
        return Tensor::randn({1, length, kHeads * kHeadSize}, Rng(1).fork(name));
    }

    Tensor q_, k_, v_, dout_;
    autograd::AttentionOptions options_;
    autograd::Precision precision_;
    double pairs_ = 0;
};

double milliseconds(Attention& attention, bool backward_too) {
    std::vector<double> times;
    const double first = seconds();
    do {
        const double begin = seconds();
        attention.run(backward_too);
        times.push_back(1e3 * (seconds() - begin));
    } while (seconds() - first < kEnough);
    return median(times);
}

// The memory is the most that the process has had so far; lengths grow from row to row, so it is this row's.
void measure(int64_t length, bool causal, const Settings& s) {
    Attention attention(length, causal, s.precision);
    attention.run(true);
    const double forward = milliseconds(attention, false), both = milliseconds(attention, true);
    const double gflops = 1e-6 * attention.flops(true) / both;
    const double peak = fma_peak(kit::precision_of(s.precision));
    std::printf(s.csv ? "%lld,%s,%d,%.3f,%.3f,%.1f,%.4f,%.1f\n"
                      : "%7lld  %-6s %7d %10.2f %10.2f %10.1f %8.1f %% %9.1f\n",
                static_cast<long long>(length), causal ? "causal" : "full", autograd::thread_count(), forward,
                both, gflops, (s.csv ? 1 : 100) * gflops / peak, peak_memory());
    std::fflush(stdout);
}

int take_turns(const Settings& s) {
    const double memory_before = peak_memory();
    Attention attention(s.length, s.mask == "causal", s.precision);
    attention.run(!s.forward);
    return serve_turns(memory_before, [&] { attention.run(!s.forward); });
}

Settings parse(int argc, char** argv) {
    Settings s;
    kit::Options options({"build/bench/bench_attention", "measures attention, 12 heads of 64, by length"});
    options.add("--length", "T", "positions; 0: 256, then 1024, then 4096", s.length, {.max = 1 << 20});
    options.add("--mask", "which keys a query sees", s.mask, kMasks);
    options.add("--forward", "with --turns: a step is forward alone", s.forward);
    options.add("--threads", "N", "number of threads; 0: all", s.threads, {.max = 1024});
    options.add_precision(s.precision);
    options.add("--csv", "print comma-separated values", s.csv);
    options.add("--turns", "for each number N read: does N steps, prints the milliseconds of one", s.turns);
    options.parse(argc, argv);
    if (s.turns && (s.length == 0 || s.mask == "both"))
        throw kit::UsageError("--turns needs a --length, and --mask causal or full");
    return s;
}

}  // namespace

int main(int argc, char** argv) {
    return kit::run("bench_attention", argv[0], [&] {
        const Settings s = parse(argc, argv);
        if (s.threads > 0)
            autograd::set_thread_count(static_cast<int>(s.threads));
        if (s.turns)
            return take_turns(s);
        std::printf(s.csv ? "length,mask,threads,forward_ms,both_ms,gflops,share_of_peak,memory_mib\n"
                          : "                          forward   and back-    GFLOP/s   of %4s    memory\n"
                            " length  mask   threads      ms    ward, ms    of both      peak       MiB\n",
                    name_of_peak(kit::precision_of(s.precision)));
        for (const int64_t length :
             s.length > 0 ? std::vector<int64_t>{s.length} : std::vector<int64_t>{256, 1024, 4096})
            for (const std::string mask : {"causal", "full"})
                if (s.mask == "both" || s.mask == mask)
                    measure(length, mask == "causal", s);
        return 0;
    });
}
