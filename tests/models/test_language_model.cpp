// The decoder-only model: no effect of later tokens, none of padding, the parts in their order.
#include "models/families/one_stack.h"

#include <algorithm>
#include <cmath>

#include "tests/catch.h"
#include "tests/models/small.h"

using namespace plaingrad;  // NOLINT
using namespace models;     // NOLINT
using namespace tests;      // NOLINT

using autograd::Tokens;

namespace {

const Mode kEval = Mode::eval();

LanguageModel stirred(const Config& c, uint64_t seed = 1) {
    LanguageModel model(c, Rng(seed));
    stir(model);
    return model;
}

// Row t of the logits of sentence b, from t = 0 up to `length`.
bool same_rows(const Tensor& a, int64_t in_a, const Tensor& b, int64_t in_b, int64_t length) {
    for (int64_t t = 0; t < length; ++t)
        if (!same_bits(row(a, in_a, t), row(b, in_b, t)))
            return false;
    return true;
}

Tensor composed(const LanguageModel& m, const Tokens& ids) {
    const Config& c = m.config;
    const InputEmbedding& e = m.backbone.embedding;
    const Tensor scaled =
        autograd::embedding(e.tokens.table, ids) * (c.block.scale_embeddings ? std::sqrt(Real(12)) : 1);
    const Tensor& encodings = e.positions.encodings();
    Tensor x = encodings.defined() ? scaled + autograd::slice(encodings, 0, 0, ids.length()) : scaled;
    if (c.token_types > 0)
        x = x + autograd::slice(e.types->table, 0, 0, 1);
    if (c.embedding_norm)
        x = (*e.norm)(x);
    const Mask mask = Mask::padding(ids).and_causal();
    const std::optional<nn::Rotary>& table = m.backbone.encoder.rotary;
    const Pass pass = {.mask = mask, .mode = kEval, .rotary = table ? &*table : nullptr};
    const auto attention = [&](const EncoderLayer& l, const Tensor& y) { return l.self_attention(y, pass); };
    for (const EncoderLayer& l : m.backbone.encoder.layers) {
        if (c.block.norm == NormPlacement::post) {
            x = l.residual1.norm(x + attention(l, x));
            x = l.residual2.norm(x + l.feed_forward(x, kEval));
        } else {
            const Tensor y = l.residual1.norm(x);
            x = x + attention(l, y);
            x = x + l.feed_forward(l.residual2.norm(x), kEval);
        }
    }
    x = c.final_norm ? (*m.backbone.encoder.final_norm)(x) : x;
    const Tensor logits = autograd::matmul(x, c.tied ? e.tokens.table : m.output.table, true);
    return c.block.output_bias ? logits + m.output.bias.tensor() : logits;
}

}  // namespace

TEST_CASE("language model: the parts, in their order", "[models][lm]") {
    for (const std::string& kind : kStacks) {
        INFO(kind);
        const LanguageModel model = stirred(small_stack(kind));
        const Tokens ids = padded(sentences({6, 3}, 1));
        nn::Probe seen;
        const Tensor logits = model(ids, Mode::eval(&seen));
        CHECK(logits.shape() == Shape({2, 6, 11}));
        CHECK(worst_error(logits, composed(model, ids)) < 2e-5);
        CHECK(same_bits(logits, model(ids, kEval)));  // a probe changes no bit
        for (const EncoderLayer& layer : model.backbone.encoder.layers) {
            const Tensor& w = seen.of(layer.self_attention);
            REQUIRE(w.shape() == Shape({2, 3, 6, 6}));
            CHECK(worst_error(autograd::sum(w, {3}), Tensor::full({2, 3, 6}, 1)) < 1e-5);
            for (int64_t i = 0; i < w.numel(); ++i)
                CHECK((w.data()[i] > 0) == (i % 6 <= i / 6 % 6 && (i < 108 || i % 6 < 3)));
        }
    }
}

TEST_CASE("language model: a token changes no logit before it, and those from it on", "[models][lm]") {
    for (const std::string& kind : kStacks) {
        const LanguageModel model = stirred(small_stack(kind));
        const Sentences text = sentences({7, 7}, 2);
        const Tensor before = model(padded(text), kEval);
        for (std::size_t changed = 0; changed < 7; ++changed) {
            Sentences other = text;
            other[0][changed] = other[0][changed] == 4 ? 5 : 4;
            const Tensor after = model(padded(other), kEval);
            for (int64_t t = 0; t < 7; ++t) {
                INFO(kind << ": token " << changed << " changed, logits at " << t);
                CHECK(same_bits(row(before, 0, t), row(after, 0, t)) == (t < static_cast<int64_t>(changed)));
                CHECK(same_bits(row(before, 1, t), row(after, 1, t)));  // the other sentence
            }
        }
    }
}

TEST_CASE("language model: even a NaN does not reach earlier positions", "[models][lm]") {
    for (const std::string& kind : kStacks) {
        const LanguageModel model = stirred(small_stack(kind));
        const Tokens text = padded(sentences({7, 7}, 3));
        const Tensor before = model(text, kEval);
        Tensor encodings = model.backbone.embedding.positions.encodings();
        if (!encodings.defined())
            continue;
        for (int64_t t = 6; t >= 0; --t) {
            INFO(kind << ": NaN from position " << t << " on");
            encodings.mutable_data()[t * 12 + t] = kNan;
            const Tensor after = model(text, kEval);
            CHECK(same_rows(before, 0, after, 0, t));
            CHECK_FALSE(same_bits(row(after, 1, t), row(after, 1, t)));
        }
    }
}

TEST_CASE("language model: no gradient reaches later positions", "[models][lm]") {
    for (const char* kind : {"gpt2", "bert", "mixed"}) {  // with learned positions
        const LanguageModel model = stirred(small_stack(kind));
        const Tensor& positions = model.backbone.embedding.positions.table;
        const Tokens text = padded(sentences({6, 6}, 4));
        for (int64_t t = 0; t < 6; ++t) {
            nn::zero_grad(model);
            const Tensor logits = model(text, kEval);
            autograd::sum(autograd::slice(logits, 1, t, t + 1) * random({11}, 5)).backward();
            const Tensor grad = positions.grad();
            for (int64_t p = 0; p < 40; ++p) {
                INFO(kind << ": logits at " << t << ", position " << p);
                double largest = 0;
                for (int64_t i = 0; i < 12; ++i) {
                    const double g = std::abs(static_cast<double>(grad.data()[p * 12 + i]));
                    largest = g <= largest ? largest : g;  // NaN stays
                }
                CHECK((p <= t ? largest > 1e-6 : largest == 0));
            }
        }
    }
}

TEST_CASE("language model: the same bits alone, in any batch, with any padding", "[models][lm]") {
    for (const std::string& kind : kStacks) {
        INFO(kind);
        const LanguageModel model = stirred(small_stack(kind));
        const Sentences text = sentences({5, 2, 9, 1}, 6);
        const Tensor together = model(padded(text), kEval), longer = model(padded(text, 33), kEval);
        const Tensor turned = model(padded({text[3], text[2], text[1], text[0]}), kEval);
        for (std::size_t b = 0; b < 4; ++b) {
            const auto i = static_cast<int64_t>(b), n = static_cast<int64_t>(text[b].size());
            CHECK(same_rows(together, i, model(padded({text[b]}), kEval), 0, n));
            CHECK(same_rows(together, i, longer, i, n));
            CHECK(same_rows(together, i, turned, 3 - i, n));
        }
        CHECK_FALSE(same_rows(together, 0, together, 2, 1));
        if (model.config.tied)
            continue;  // the row of <pad> is then a row of the output, too
        for (int64_t i = 0; i < 12; ++i)
            model.backbone.embedding.tokens.table->mutable_data()[kPad * 12 + i] = kNan;
        for (int64_t b = 0; b < 4; ++b)
            CHECK(same_rows(together, b, model(padded(text, 20), kEval), b,
                            static_cast<int64_t>(text[static_cast<std::size_t>(b)].size())));
    }
}

TEST_CASE("language model: a tied matrix is a single one, and its gradient is the sum of both uses",
          "[models][lm]") {
    for (const std::string& kind : kStacks) {
        INFO(kind);
        Config c = small_stack(kind);
        c.tied = true;
        const LanguageModel tied = stirred(c);
        c.tied = false;
        const LanguageModel two(c, Rng(1));
        for (const nn::NamedParameter& p : nn::parameters(tied))
            nn::copy_values({p}, {{p.name, named(nn::parameters(two), p.name)}});
        const Tensor& table = tied.backbone.embedding.tokens.table;
        nn::copy_values({{"", table}}, {{"", two.output.table}});
        CHECK(tied.output.table->same_memory(table));
        CHECK_FALSE(two.output.table->same_memory(two.backbone.embedding.tokens.table));
        CHECK(nn::parameter_count(two) == nn::parameter_count(tied) + 11 * 12);

        const Tokens text = framed(sentences({6, 3}, 7));
        const Tensor one_loss = next_token_loss(tied, text, kEval),
                     two_loss = next_token_loss(two, text, kEval);
        CHECK(same_bits(one_loss, two_loss));
        one_loss.backward();
        two_loss.backward();
        const Tensor in = two.backbone.embedding.tokens.table->grad(), out = two.output.table->grad();
        CHECK(worst_error(table.grad(), in + out) < 1e-6);
        CHECK(worst_error(in, in * Real(0)) > 1e-3);
        CHECK(worst_error(out, out * Real(0)) > 1e-3);

        const LanguageModel copy = nn::clone(tied);
        CHECK(copy.output.table->same_memory(copy.backbone.embedding.tokens.table));
        CHECK_FALSE(copy.output.table->same_memory(table));
        const Tensor before = copy(text, kEval);
        CHECK(same_bits(before, tied(text, kEval)));
        stir(tied, 8);
        CHECK(same_bits(before, copy(text, kEval)));
        CHECK_FALSE(same_bits(before, tied(text, kEval)));
    }
}

TEST_CASE("language model: dropout only in training, each with its own random stream", "[models][lm]") {
    for (const std::string& kind : kStacks) {
        INFO(kind);
        const LanguageModel m = stirred(small_stack(kind));
        const Tokens ids = padded(sentences({6, 3}, 1));
        const Tensor eval = m(ids, kEval), one = m(ids, Mode::train(Rng(2)));
        CHECK(same_bits(eval, m(ids, kEval)));
        CHECK(same_bits(one, m(ids, Mode::train(Rng(2)))));
        CHECK_FALSE(same_bits(one, m(ids, Mode::train(Rng(3)))));
        CHECK_FALSE(same_bits(one, eval));
        std::vector<uint64_t> all = {m.backbone.embedding.dropout.stream};
        for (const EncoderLayer& l : m.backbone.encoder.layers)
            all.insert(all.end(), {l.self_attention.dropout.stream, l.feed_forward.dropout.stream,
                                   l.residual1.dropout.stream, l.residual2.dropout.stream});
        std::sort(all.begin(), all.end());
        CHECK(std::adjacent_find(all.begin(), all.end()) == all.end());
    }
}

TEST_CASE("language model: each kind of dropout acts alone, at its rate", "[models][lm]") {
    const Tokens ids = padded(sentences({6, 3}, 1));
    const auto zeros = [&](const DropoutRates& rates) {  // does the output differ from evaluation's?
        Config c = small_stack("gpt2");
        c.block.dropout = rates;
        const LanguageModel m = stirred(c);
        return !same_bits(m(ids, Mode::train(Rng(2))), m(ids, kEval));
    };
    const Real p = Real(0.5);
    CHECK_FALSE(zeros({.embeddings = 0, .sublayers = 0}));
    CHECK(zeros({.embeddings = p, .sublayers = 0}));
    CHECK(zeros({.embeddings = 0, .sublayers = p}));
    CHECK(zeros({.embeddings = 0, .sublayers = 0, .feed_forward = p}));
    CHECK(zeros({.embeddings = 0, .sublayers = 0, .attention = p}));
}

TEST_CASE("language model: the input's dropout comes after its norm", "[models][lm]") {
    for (const std::string& kind : kStacks) {
        INFO(kind);
        Config c = small_stack(kind);
        c.block.dropout.embeddings = Real(0.5);
        const LanguageModel m = stirred(c);
        const Tokens ids = padded(sentences({6, 6}, 1));
        const Tensor kept = m.backbone.embedding(ids, kEval);
        const Tensor x = m.backbone.embedding(ids, Mode::train(Rng(2)));
        int dropped = 0;
        for (int64_t i = 0; i < x.numel(); ++i) {
            CHECK((x.data()[i] == 0 || x.data()[i] == 2 * kept.data()[i]));
            dropped += x.data()[i] == 0;
        }
        CHECK((dropped > 40 && dropped < 104));  // of 144
    }
}

TEST_CASE("language model: GPT-2 begins with the published initial values", "[models][lm][init]") {
    Config c = gpt2();
    c.vocabulary = 300;
    c.specials = {};  // and none of its 50257 ids
    c.max_length = 64;
    c.block.d_model = 64;
    c.block.n_heads = 4;
    c.block.d_ff = 256;
    c.n_layers = 8;
    const LanguageModel model(c, Rng(3));
    for (const nn::NamedParameter& p : nn::parameters(model)) {
        INFO(p.name);
        double square = 0;
        for (const double x : doubles(p.tensor))
            square += x * x;
        const double n = static_cast<double>(p.tensor.numel()), deviation = std::sqrt(square / n);
        if (p.tensor.rank() == 1) {
            CHECK(same_bits(p.tensor, Tensor::full(p.tensor.shape(), contains(p.name, "gain") ? 1 : 0)));
        } else {
            const bool residual = contains(p.name, "out_proj") || contains(p.name, "linear2");
            CHECK(deviation == Approx(residual ? 0.005 : 0.02).epsilon(5 / std::sqrt(2 * n)));  // 0.02 / √16
        }
    }
    // Small logits: at first, all tokens are about equally probable.
    const Tensor loss = next_token_loss(model, framed(sentences({40, 30}, 4, 300)), kEval);
    CHECK(static_cast<double>(loss.item()) == Approx(std::log(300.0)).margin(0.05));
}

TEST_CASE("language model: each part of today's block by itself trains", "[models][lm]") {
    for (const std::string& kind : kAlone) {
        INFO(kind);
        const std::vector<Real> losses = train(LanguageModel(small_stack(kind), Rng(2)), 40, 4, 3);
        CHECK(losses[38] + losses[39] < losses[0] + losses[1] - Real(0.5));
    }
}

TEST_CASE("language model: errors, and the smallest models", "[models][lm]") {
    for (const std::string& kind : kStacks) {
        INFO(kind);
        Config c = small_stack(kind);
        c.max_length = 4;
        const LanguageModel model(c, Rng(1));
        CHECK(error_of([&] { model(padded(sentences({4, 2}, 1)), kEval); }) == "");
        CHECK(contains(error_of([&] { model(padded(sentences({5, 2}, 1)), kEval); }), "length of 4"));
        const std::string error = error_of([&] { model(padded({{4, 5}, {4, 11}}), kEval); });
        CHECK((contains(error, "id 11") && contains(error, "row 1, position 1")));
        CHECK(contains(error, "vocabulary of 11"));
        CHECK(error_of([&] { model(Tokens(1, 3, {4, 0, 5}, 0), kEval); }) != "");  // padding within

        for (const int64_t layers : {0, 1}) {
            c.n_layers = layers;
            c.max_length = 1;
            c.block.n_heads = 12;
            c.vocabulary = 5;
            const LanguageModel least(c, Rng(2));
            const Tensor logits = least(padded({{4}}), kEval);
            CHECK(logits.shape() == Shape({1, 1, 5}));
            CHECK(same_bits(logits, logits));  // numbers
        }
    }
}

TEST_CASE("language model: learns to repeat what it has read", "[models][lm]") {
    Config c = small_stack("gpt2", 8);
    c.block.init = nn::Init::xavier;  // 12 wide, 0.02 is too little
    c.block.dropout = {.embeddings = 0, .sublayers = 0};
    const LanguageModel model(c, Rng(4));
    const std::vector<Real> losses = train(model, 60, 8, 5);
    CHECK(losses.front() > Real(1.8));
    CHECK(losses.back() < losses.front() - Real(0.4));
}
