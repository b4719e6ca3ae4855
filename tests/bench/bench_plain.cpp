// What each fused op gains over the composition that it equals (autograd/plain.cpp), in time and in memory;
// and finally all of them together, in a training step.
//
// Forward and backward at the sizes of the paper's base model. Memory: what the op saves for backward, with
// its result but without its inputs.
#include <cstdio>
#include <functional>

#include "apps/kit/options.h"
#include "apps/kit/program.h"
#include "autograd/plain.h"
#include "models/families/transformer.h"
#include "tests/bench/measure.h"

using namespace plaingrad;  // NOLINT
using namespace autograd;   // NOLINT

namespace {

constexpr int64_t B = 16, T = 64, H = 8, kModel = 512, kFf = 2048, V = 8000;

struct Fusion {
    const char* op;
    const char* gain;  // why it is less work
    std::vector<Shape> inputs;
    std::function<Tensor(const std::vector<Tensor>&)> call;
};

std::vector<Fusion> fusions() {
    static const Rng rng(1);
    std::vector<int32_t> ids;
    for (int64_t i = 0; i < B * T; ++i)
        ids.push_back(static_cast<int32_t>(rng.below(static_cast<uint64_t>(i), V)));
    const Tokens tokens(B, T, ids);
    const Shape x = {B, T, kModel}, row = {kModel};
    using In = const std::vector<Tensor>&;
    return {
        {"linear",
         "the bias in the product's last step",
         {x, {kModel, kModel}, row},
         [](In t) { return linear(t[0], t[1], t[2]); }},
        {"feed_forward",
         "one hidden tensor kept",
         {x, {kModel, kFf}, {kFf}, {kFf, kModel}, row},
         [](In t) { return feed_forward(t[0], t[1], t[2], t[3], t[4], Activation::gelu); }},
        {"layer_norm",
         "two passes over a row",
         {x, row, row},
         [](In t) { return layer_norm(t[0], t[1], t[2]); }},
        {"residual_norm",
         "and dropout and the sum in them",
         {x, x, row, row},
         [](In t) { return residual_norm(t[0], t[1], Real(0.1), rng, t[2], t[3]); }},
        {"self_attention",
         "no weights kept, no heads moved",
         {{B, T, 3 * kModel}},
         [](In t) { return self_attention(t[0], {.n_heads = H, .mask = Mask::causal()}); }},
        {"cross_entropy",
         "one pass over a row",
         {{B * T, V}},
         [tokens](In t) { return cross_entropy(t[0], tokens); }},
        {"linear_cross_entropy",
         "and never all logits",
         {x, {V, kModel}, {V}},
         [tokens](In t) { return linear_cross_entropy(t[0], t[1], t[2], tokens); }},
    };
}

struct Cost {
    double milliseconds, mebibytes;
};

// The median of some rounds, after one for warming up.
template <class Forward>
Cost cost(int rounds, const Forward& forward) {
    std::vector<double> times;
    double kept = 0;
    for (int i = 0; i <= rounds; ++i) {
        const int64_t before = storage_statistics().bytes_in_use;
        const double begin = bench::seconds();
        const Tensor out = forward();
        kept = static_cast<double>(storage_statistics().bytes_in_use - before) / (1 << 20);
        out.backward(Tensor::ones(out.shape()));
        if (i > 0)
            times.push_back(1e3 * (bench::seconds() - begin));
    }
    return {bench::median(times), kept};
}

template <class Forward>
void row(bool csv, int rounds, const char* op, const char* gain, const Forward& forward) {
    const Cost fused = cost(rounds, forward), plain = [&] {
        const Plain guard;
        return cost(rounds, forward);
    }();
    std::printf(csv ? "%s,%.3f,%.3f,%.2f,%.2f,%.2f,%s\n" : "%-22s %9.2f %9.2f %6.2fx %9.1f %9.1f   %s\n", op,
                plain.milliseconds, fused.milliseconds, plain.milliseconds / fused.milliseconds,
                plain.mebibytes, fused.mebibytes, gain);
    std::fflush(stdout);
}

int bench_plain(int argc, char** argv) {
    bool csv = false;
    int64_t rounds = 9;
    kit::Options options({"build/bench/bench_plain", "what each fused op gains over its plain form"});
    options.add("--csv", "print comma-separated values", csv);
    options.add("--rounds", "N", "rounds to measure", rounds, {1, 1000});
    options.add_threads();
    options.parse(argc, argv);
    const int n = static_cast<int>(rounds);
    std::printf(
        csv ? "op,plain_ms,fused_ms,gain,plain_mib,fused_mib,why\n"
            : "forward and backward      plain ms  fused ms    gain plain MiB fused MiB   because of\n");
    for (const Fusion& f : fusions()) {
        std::vector<Tensor> inputs;
        for (std::size_t i = 0; i < f.inputs.size(); ++i)
            inputs.push_back((Tensor::randn(f.inputs[i], Rng(1).fork(i)) * Real(0.1)).require_grad());
        row(csv, n, f.op, f.gain, [&] { return f.call(inputs); });
    }
    models::Config c = {.src_vocabulary = V, .vocabulary = V};
    c.n_layers = c.n_decoder_layers = 2;
    c.embeddings_tied = c.tied = true;
    const models::Transformer model(c, Rng(1));
    const Tokens ids(B, T, std::vector<int32_t>(static_cast<std::size_t>(B * T), 7));
    row(csv, n, "a training step", "all of them",
        [&] { return model.loss(ids, ids, ids, nn::Mode::train(Rng(2))); });
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    return kit::run("bench_plain", argv[0], [&] { return bench_plain(argc, argv); });
}
