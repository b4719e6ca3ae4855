// The parts are put together as in the paper's Figure 1: each sum, norm and scale is written out again here.
#include <cmath>

#include "tests/catch.h"
#include "tests/models/small.h"

using namespace plaingrad;  // NOLINT
using namespace models;     // NOLINT
using namespace tests;      // NOLINT

using autograd::Tokens;

namespace {

const Mode kEval = Mode::eval();

Tensor composed_input(const InputEmbedding& e, const Config& c, const Tokens& ids, int64_t first = 0) {
    const Real scale = c.block.scale_embeddings ? std::sqrt(static_cast<Real>(c.block.d_model)) : 1;
    Tensor x = autograd::embedding(e.tokens.table, ids) * scale;
    if (const Tensor& positions = e.positions.encodings(); positions.defined())
        x = x + autograd::slice(positions, 0, first, first + ids.length());
    if (c.token_types > 0)
        x = x + autograd::slice(e.types->table, 0, 0, 1);
    return c.embedding_norm ? (*e.norm)(x) : x;
}

// The layers of an encoder, or of a decoder, which attends to the memory with `cross`.
template <class Layer>
Tensor composed_layers(const Stack<Layer>& stack, const Config& c, Tensor x, const Mask& mask,
                       const Tensor& memory = {}, const Mask& memory_mask = Mask::none()) {
    const nn::Rotary* const rotary = stack.rotary ? &*stack.rotary : nullptr;
    for (const Layer& l : stack.layers) {
        const auto add = [&](const Residual& residual, const auto& sublayer) {
            x = c.block.norm == NormPlacement::post ? residual.norm(x + sublayer(x))
                                                    : x + sublayer(residual.norm(x));
        };
        const auto attend = [&](const Tensor& y) {
            return l.self_attention(y, {.mask = mask, .mode = kEval, .rotary = rotary});
        };
        const auto feed_forward = [&](const Tensor& y) { return l.feed_forward(y, kEval); };
        add(l.residual1, attend);
        if constexpr (std::is_same_v<Layer, DecoderLayer>) {
            add(l.residual2, [&](const Tensor& y) {
                return l.cross_attention(y, memory, {memory_mask, kEval});
            });
            add(l.residual3, feed_forward);
        } else {
            add(l.residual2, feed_forward);
        }
    }
    return c.final_norm ? (*stack.final_norm)(x) : x;
}

Tensor composed_output(const OutputLayer& output, const Config& c, const Tensor& table, const Tensor& x) {
    const Tensor logits = autograd::matmul(x, c.tied ? table : output.table, true);
    return c.block.output_bias ? logits + output.bias.tensor() : logits;
}

Tensor composed(const Transformer& m, const Tokens& src, const Tokens& tgt) {
    const Config& c = m.config;
    const Mask padding = Mask::padding(src);
    const Tensor memory = composed_layers(m.encoder, c, composed_input(m.src_embedding, c, src), padding);
    CHECK(worst_error(m.encode(src, kEval), memory) < 1e-5);
    const Tensor x = composed_layers(m.decoder, c, composed_input(m.tgt_embedding, c, tgt),
                                     Mask::padding(tgt).and_causal(), memory, padding);
    return composed_output(m.output, c, m.tgt_embedding.tokens.table, x);
}

Tensor composed_backbone(const OneStack& m, const Tokens& ids, const Mask& mask) {
    const Backbone& b = m.backbone;
    return composed_layers(b.encoder, m.config, composed_input(b.embedding, m.config, ids), mask);
}

Tensor composed(const LanguageModel& m, const Tokens&, const Tokens& ids) {
    const Tensor x = composed_backbone(m, ids, Mask::padding(ids).and_causal());
    return composed_output(m.output, m.config, m.backbone.embedding.tokens.table, x);
}

Tensor composed(const MaskedLanguageModel& m, const Tokens&, const Tokens& ids) {
    const Tensor h = m.transform(composed_backbone(m, ids, Mask::padding(ids)));
    const nn::Activation f = m.config.block.activation;
    const Tensor active = f == nn::Activation::gelu_tanh ? autograd::gelu_tanh(h)
                          : f == nn::Activation::gelu    ? autograd::gelu(h)
                          : f == nn::Activation::silu    ? autograd::silu(h)
                                                         : autograd::relu(h);
    return composed_output(m.output, m.config, m.backbone.embedding.tokens.table, m.norm(active));
}

Tensor composed(const Classifier& m, const Tokens&, const Tokens& ids) {
    const Tensor x = composed_backbone(m, ids, Mask::padding(ids));
    std::vector<Tensor> pooled;
    for (int64_t b = 0; b < ids.batch(); ++b) {
        const int64_t n = m.config.pooling == Pooling::mean ? ids.lengths()[static_cast<std::size_t>(b)] : 1;
        pooled.push_back(autograd::mean(autograd::slice(x[b], 0, 0, n), {0}).with_shape({1, x.size(2)}));
    }
    const Tensor of_texts = autograd::concat(pooled, 0);
    return m.output(m.pooler ? autograd::tanh((*m.pooler)(of_texts)) : of_texts);
}

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

TEST_CASE("composition: the model has the figure's parts in the figure's order", "[models]") {
    const Tokens src = padded(sentences({5, 2}, 1)), ids = padded(sentences({6, 3}, 2));
    for_each_model([&](const std::string& name, const auto& model) {
        INFO(name);
        nn::Probe seen;
        const Tensor logits = logits_of(model, {src, ids}, Mode::eval(&seen));
        CHECK(worst_error(logits, composed(model, src, ids)) < 2e-5);
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
        for (const InputEmbedding* e : {&m.src_embedding, &m.tgt_embedding})
            CHECK(worst_error((*e)(ids, kEval, 2), composed_input(*e, m.config, ids, 2)) < 1e-6);
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
