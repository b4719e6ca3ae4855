// How the parts are put together, where a model shows it: its input, attention's weights, dropout. (That the
// whole is the paper's Figure 1, GPT-2, BERT or Llama, says tests/golden/test_golden_pytorch.cpp.)
#include <cmath>

#include "tests/catch.h"
#include "tests/models/small.h"

using namespace plaingrad;  // NOLINT
using namespace models;     // NOLINT
using namespace tests;      // NOLINT

using autograd::Tokens;

namespace {

const Mode kEval = Mode::eval();

// Attention's weights (B, H, T, S): each query sees all keys but padding and, if causal, the later ones.
void check_weights(const Tensor& w, const Ids& counts, bool causal) {
    CHECK(worst_error(autograd::sum(w, {3}), Tensor::full({w.size(0), w.size(1), w.size(2)}, 1)) < 1e-5);
    const int64_t keys = w.size(3), queries = w.size(2), of_sentence = w.size(1) * queries * keys;
    for (int64_t i = 0; i < w.numel(); ++i) {
        const int64_t key = i % keys, query = i / keys % queries;
        const bool seen =
            key < counts[static_cast<std::size_t>(i / of_sentence)] && (!causal || key <= query);
        CHECK((w.data()[i] > 0) == seen);
    }
}

}  // namespace

TEST_CASE("composition: attention sees all keys but padding, and where it is causal no later ones",
          "[models]") {
    const Tokens src = padded(sentences({5, 2}, 1)), ids = padded(sentences({6, 3}, 2));
    for_each_model([&](const std::string& name, const auto& model) {
        INFO(name);
        nn::Probe seen;
        const Tensor logits = logits_of(model, {src, ids}, Mode::eval(&seen));
        CHECK(same_bits(logits, logits_of(model, {src, ids}, kEval)));  // a probe changes no bit
        if constexpr (std::is_same_v<decltype(model), const Transformer&>) {
            for (const EncoderLayer& layer : model.encoder.layers)
                check_weights(seen.of(layer.self_attention), {5, 2}, false);
            for (const DecoderLayer& layer : model.decoder.layers) {
                check_weights(seen.of(layer.self_attention), {6, 3}, true);
                check_weights(seen.of(layer.cross_attention), {5, 2}, false);
            }
            const Tensor last = seen.of(model.decoder.layers.back());
            CHECK(same_bits(model.output(model.decoder.normed(last)), logits));
        } else {
            for (const EncoderLayer& layer : model.backbone.encoder.layers) {
                check_weights(seen.of(layer.self_attention), {6, 3}, model.kKind == Kind::causal);
                CHECK(seen.of(layer).shape() == Shape({2, 6, 12}));
            }
        }
    });
}

TEST_CASE("composition: the input is the embedding, times √d_model if configured, plus the position",
          "[models]") {
    for (const Preset& p : presets()) {
        INFO(p.name);
        const Transformer m(small(p.name), Rng(1));
        const Tokens ids = padded({{7, 9, 4}});
        const Real scale = m.config.block.scale_embeddings ? std::sqrt(Real(12)) : 1;
        for (const InputEmbedding* e : {&m.src_embedding, &m.tgt_embedding}) {
            const Tensor positions = autograd::slice(e->positions.encodings(), 0, 2, 5);
            const Tensor wanted = autograd::embedding(e->tokens.table, ids) * scale + positions;
            CHECK(worst_error((*e)(ids, kEval, 2), wanted) < 1e-6);
        }
    }
}

TEST_CASE("composition: a layer's dropout is on its output, before it is added", "[models]") {
    Config c = small("paper");
    c.block.norm = NormPlacement::pre;  // so that the sum is visible
    c.block.dropout = {.embeddings = 0, .sublayers = Real(0.5)};
    const Residual residual(c, Rng(1));
    const Tensor x = random({2, 3, 12}, 1), f = Tensor::full({2, 3, 12}, 4);
    const Tensor y = residual(x, Mode::train(Rng(2)), [&](const Tensor&) { return f; });
    int dropped = 0;
    for (int64_t i = 0; i < 72; ++i) {
        const Real added = y.data()[i] - x.data()[i];
        CHECK((added == 0 || std::abs(added - 8) < Real(1e-5)));
        dropped += added == 0;
    }
    CHECK((dropped > 15 && dropped < 57));
}
