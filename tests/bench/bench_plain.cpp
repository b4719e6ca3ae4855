// What each fused op gains over the composition that it equals (autograd/plain.cpp), in time and in memory;
// and finally all of them together, in a training step.
//
// Forward and backward at the sizes of the paper's base model. Memory: what the op saves for backward, with
// its result but without its inputs.
#include "autograd/plain.h"
#include "models/families/transformer.h"
#include "tests/bench/bench.h"

using namespace plaingrad;  // NOLINT
using namespace autograd;   // NOLINT

namespace {

constexpr int64_t B = 16, T = 64, H = 8, kModel = 512, kFf = 2048, V = 8000;

struct Cost {
    double milliseconds, mebibytes;
};

// The median of some rounds, after one for warming up.
template <class Forward>
Cost cost(const Forward& forward) {
    double kept = 0;
    const auto both = [&] {
        const int64_t before = storage_statistics().bytes_in_use;
        const Tensor out = forward();
        kept = static_cast<double>(storage_statistics().bytes_in_use - before) / (1 << 20);
        out.backward(Tensor::ones(out.shape()));
    };
    const double ms = bench::milliseconds(both, 9);
    return {ms, kept};
}

template <class Forward>
void measure(const bench::Table& table, const char* op, const char* gain, const Forward& forward) {
    const Cost fused = cost(forward), plain = [&] {
        const Plain guard;
        return cost(forward);
    }();
    table.row(op, plain.milliseconds, fused.milliseconds, plain.milliseconds / fused.milliseconds,
              plain.mebibytes, fused.mebibytes, gain);
}

// Each op with its inputs, and why it is less work.
void measure_all(bool csv) {
    const bench::Table table(csv,
                             {"op", "plain ms", "fused ms", "gain", "plain MiB", "fused MiB", "because of"});
    using In = const std::vector<Tensor>&;
    const auto op = [&](const char* name, const char* gain, const std::vector<Shape>& shapes,
                        const auto& call) {
        std::vector<Tensor> inputs;
        for (std::size_t i = 0; i < shapes.size(); ++i)
            inputs.push_back((Tensor::randn(shapes[i], Rng(1).fork(i)) * Real(0.1)).require_grad());
        measure(table, name, gain, [&] { return call(inputs); });
    };
    const Rng rng(1);
    std::vector<int32_t> ids;
    for (int64_t i = 0; i < B * T; ++i)
        ids.push_back(static_cast<int32_t>(rng.below(static_cast<uint64_t>(i), V)));
    const Tokens tokens(B, T, ids);
    const Shape x = {B, T, kModel}, row = {kModel};
    op("linear", "the bias is added in the product's last step", {x, {kModel, kModel}, row},
       [](In t) { return linear(t[0], t[1], t[2]); });
    op("feed_forward", "one hidden tensor kept", {x, {kModel, kFf}, {kFf}, {kFf, kModel}, row},
       [](In t) { return feed_forward(t[0], t[1], t[2], t[3], t[4], Activation::gelu); });
    op("layer_norm", "two passes over a row", {x, row, row},
       [](In t) { return layer_norm(t[0], t[1], t[2]); });
    op("residual_norm", "dropout and the sum in the norm's two passes", {x, x, row, row},
       [&](In t) { return residual_norm(t[0], t[1], Real(0.1), rng, t[2], t[3]); });
    op("self_attention", "no weights kept, no heads moved", {{B, T, 3 * kModel}},
       [](In t) { return self_attention(t[0], {.n_heads = H, .mask = Mask::causal()}); });
    op("cross_entropy", "one pass over a row", {{B * T, V}},
       [&](In t) { return cross_entropy(t[0], tokens); });
    op("linear_cross_entropy", "one pass, and the logits are never all in memory", {x, {V, kModel}, {V}},
       [&](In t) { return linear_cross_entropy(t[0], t[1], t[2], tokens); });
    models::Config c = {.src_vocabulary = V, .vocabulary = V};
    c.n_layers = c.n_decoder_layers = 2;
    c.embeddings_tied = c.tied = true;
    const models::Transformer model(c, Rng(1));
    measure(table, "a training step", "all of them",
            [&] { return model.loss(tokens, tokens, tokens, nn::Mode::train(Rng(2))); });
}

}  // namespace

int main(int argc, char** argv) {
    bool csv = false;
    return bench::run(
        "bench_plain", "what each fused op gains over its plain form", argc, argv, &csv,
        [](kit::Options& options) { options.add_threads(); }, [&] { measure_all(csv); });
}
