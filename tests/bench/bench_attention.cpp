// How fast attention alone is, forward and backward: 12 heads of 64, as in GPT-2, for one text of T
// positions. The work grows with T², the memory must not: q, k, v, the output and their gradients are T * 768
// numbers each. peers/pytorch_attention.py has the same in PyTorch.
#include <memory>

#include "autograd/ops.h"
#include "tests/bench/bench.h"

using namespace plaingrad;  // NOLINT

namespace {

using autograd::Mask;
using autograd::Rng;
using autograd::Tensor;

constexpr int64_t kHeads = 12, kHeadSize = 64;

struct Settings : bench::Common {
    int64_t length = 0;
    std::string mask = "both";
};

class Attention {
public:
    Attention(int64_t length, bool causal, autograd::Precision precision)
        : q_(input("q", length)),
          k_(input("k", length)),
          v_(input("v", length)),
          dout_(input("dout", length)),
          options_{.n_heads = kHeads, .mask = causal ? Mask::causal() : Mask::none()},
          precision_(precision) {
        const auto t = static_cast<double>(length);
        pairs_ = causal ? t * (t + 1) / 2 : t * t;
        for (Tensor* x : {&q_, &k_, &v_})
            x->require_grad();
    }

    // The output alone, without a graph.
    void forward() const {
        const autograd::UsePrecision precision(precision_);
        const autograd::NoGrad no_grad;
        attention(q_, k_, v_, options_);
    }
    void both() {
        const autograd::UsePrecision precision(precision_);
        for (Tensor* x : {&q_, &k_, &v_})
            x->zero_grad();
        attention(q_, k_, v_, options_).backward(dout_);
    }

    // Of both. The hidden pairs do not count. A pair takes two products in forward (scores, output), and five
    // in backward: the scores again, and with respect to the weights, v, q and k.
    double flops() const { return 7 * 2 * pairs_ * static_cast<double>(kHeads * kHeadSize); }

private:
    static Tensor input(std::string_view name, int64_t length) {
        return Tensor::randn({1, length, kHeads * kHeadSize}, Rng(1).fork(name));
    }

    Tensor q_, k_, v_, dout_;
    autograd::AttentionOptions options_;
    autograd::Precision precision_;
    double pairs_ = 0;
};

// The memory is the most that the process has had so far; lengths grow from row to row, so it is this row's.
void measure(int64_t length, const std::string& mask, const Settings& s, const bench::Table& table) {
    Attention attention(length, mask == "causal", s.kind());
    attention.both();
    const double forward = bench::milliseconds([&] { attention.forward(); }, 1, 1.0);
    const double both = bench::milliseconds([&] { attention.both(); }, 1, 1.0);
    const double gflops = 1e-6 * attention.flops() / both;
    table.row(length, mask, autograd::thread_count(), forward, both, gflops,
              gflops / bench::fma_peak(s.kind()), bench::peak_memory());
}

void measure_all(const Settings& s) {
    kit::check_usage(!s.turns || (s.length > 0 && s.mask != "both"),
                     "--turns needs a --length, and --mask causal or full");
    if (s.turns)
        return bench::take_turns(s, [&] {
            auto attention = std::make_shared<Attention>(s.length, s.mask == "causal", s.kind());
            return [=] { attention->both(); };
        });
    s.use_threads();
    const bench::Table table(s.csv, {"length", "mask", "threads", "forward_ms", "both_ms", "gflops",
                                     "share_of_peak", "memory_mib"});
    for (const int64_t length :
         s.length > 0 ? std::vector<int64_t>{s.length} : std::vector<int64_t>{256, 1024, 4096})
        for (const std::string mask : {"causal", "full"})
            if (s.mask == "both" || s.mask == mask)
                measure(length, mask, s, table);
}

}  // namespace

int main(int argc, char** argv) {
    Settings s;
    const auto add = [&](kit::Options& options) {
        options.add("--length", "T", "positions; 0: 256, then 1024, then 4096", s.length, {.max = 1 << 20});
        options.add("--mask", "which keys a query sees", s.mask, {"both", "causal", "full"});
        s.add_to(options);
    };
    return bench::run("bench_attention", "measures attention, 12 heads of 64, by length", argc, argv, &s.csv,
                      add, [&] { measure_all(s); });
}
