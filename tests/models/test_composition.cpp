// The parts are put together as in the paper's Figure 1: each sum, norm and scale is written out again here.
#include "tests/catch.h"
#include "tests/models/small.h"

using namespace plaingrad;  // NOLINT
using namespace models;     // NOLINT
using namespace tests;      // NOLINT

namespace {

const Mode kEval = Mode::eval();

// Norms with a gain and bias that have an effect.
void stir(const Transformer& model) {
    for (const nn::NamedParameter& p : nn::parameters(model))
        for (int64_t i = 0; p.tensor.rank() == 1 && i < p.tensor.numel(); ++i)
            p.tensor.mutable_data()[i] += static_cast<Real>(i % 5) * Real(0.1);
}

Tensor composed_encoder(const Transformer& m, const autograd::Tokens& src) {
    const Mask mask = Mask::padding(src);
    Tensor x = m.src_embedding(src, kEval);
    for (const EncoderLayer& l : m.encoder.layers) {
        if (m.config.block.norm == NormPlacement::post) {
            x = l.residual1.norm(x + l.self_attention(x, {mask, kEval}));
            x = l.residual2.norm(x + l.feed_forward(x, kEval));
        } else {
            const Tensor y = l.residual1.norm(x);
            x = x + l.self_attention(y, {mask, kEval});
            x = x + l.feed_forward(l.residual2.norm(x), kEval);
        }
    }
    return m.encoder.final_norm ? (*m.encoder.final_norm)(x) : x;
}

Tensor composed_decoder(const Transformer& m, const autograd::Tokens& tgt, const Tensor& memory,
                        const Mask& memory_mask) {
    const Mask mask = Mask::padding(tgt).and_causal();
    Tensor x = m.tgt_embedding(tgt, kEval);
    for (const DecoderLayer& l : m.decoder.layers) {
        if (m.config.block.norm == NormPlacement::post) {
            x = l.residual1.norm(x + l.self_attention(x, {mask, kEval}));
            x = l.residual2.norm(x + l.cross_attention(x, memory, {memory_mask, kEval}));
            x = l.residual3.norm(x + l.feed_forward(x, kEval));
        } else {
            const Tensor y = l.residual1.norm(x);
            x = x + l.self_attention(y, {mask, kEval});
            x = x + l.cross_attention(l.residual2.norm(x), memory, {memory_mask, kEval});
            x = x + l.feed_forward(l.residual3.norm(x), kEval);
        }
    }
    x = m.decoder.final_norm ? (*m.decoder.final_norm)(x) : x;
    const Tensor logits = autograd::matmul(x, m.output.table, true);
    return m.output.bias->defined() ? logits + m.output.bias.tensor() : logits;
}

}  // namespace

TEST_CASE("composition: the model has the figure's parts in the figure's order", "[models]") {
    for (const Preset& p : presets()) {
        INFO(p.name);
        const Transformer m(small(p.name), Rng(1));
        stir(m);
        const autograd::Tokens src = padded(sentences({5, 2}, 1)), tgt = padded(sentences({3, 4}, 2));
        const Tensor memory = m.encode(src, kEval);
        CHECK(worst_error(memory, composed_encoder(m, src)) < 1e-5);
        CHECK(worst_error(m(src, tgt, kEval), composed_decoder(m, tgt, memory, Mask::padding(src))) < 1e-5);
    }
}

TEST_CASE("composition: both norm placements differ, and final norms go with either", "[models]") {
    Config c = small("paper");
    const autograd::Tokens src = padded(sentences({5, 2}, 1));
    std::vector<Tensor> memories;
    for (const NormPlacement norm : {NormPlacement::post, NormPlacement::pre}) {
        for (const bool final_norm : {false, true}) {
            c.block.norm = norm;
            c.final_norm = final_norm;
            const Transformer m(c, Rng(1));
            stir(m);
            memories.push_back(m.encode(src, kEval));
            CHECK(worst_error(memories.back(), composed_encoder(m, src)) < 1e-5);
        }
    }
    for (std::size_t i = 0; i < 4; ++i)
        for (std::size_t j = 0; j < i; ++j)
            CHECK(worst_error(memories[i], memories[j]) > 1e-2);
}

TEST_CASE("composition: the input is the embedding, times √d_model if configured, plus the position",
          "[models]") {
    for (const Preset& p : presets()) {
        INFO(p.name);
        const Transformer m(small(p.name), Rng(1));
        const double scale = p.config.block.scale_embeddings ? std::sqrt(12.0) : 1;
        for (const InputEmbedding* e : {&m.src_embedding, &m.tgt_embedding}) {
            const Tensor x = (*e)(padded({{7, 9, 4}}), kEval, 2);
            std::vector<double> expected;
            for (const auto& [id, position] : {std::pair{7, 2}, std::pair{9, 3}, std::pair{4, 4}})
                for (int i = 0; i < 12; ++i)
                    expected.push_back(
                        scale * static_cast<double>(e->tokens.table->data()[id * 12 + i]) +
                        static_cast<double>(e->positions.encodings().data()[position * 12 + i]));
            CHECK(worst_error(x, expected) < 1e-6);
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
