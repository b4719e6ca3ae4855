// The encoder-only models: each position sees both sides and no padding; masking, and what is predicted.
#include <cmath>

#include "models/families/one_stack.h"
#include "tests/catch.h"
#include "tests/models/small.h"

using namespace plaingrad;  // NOLINT
using namespace models;     // NOLINT
using namespace tests;      // NOLINT

using autograd::Tokens;

namespace {

const Mode kEval = Mode::eval();
const std::vector<Pooling> kPoolings = {Pooling::mean, Pooling::first};

MaskedLanguageModel masked_model(const Config& c) {
    MaskedLanguageModel model(c, Rng(1));
    stir(model);
    return model;
}

Classifier classifier(const std::string& kind, Pooling pooling) {
    Classifier model(with_classes(small_stack(kind), 3, pooling), Rng(1));
    stir(model);
    return model;
}

bool same_rows(const Tensor& a, int64_t in_a, const Tensor& b, int64_t in_b, std::size_t length) {
    for (int64_t t = 0; t < static_cast<int64_t>(length); ++t)
        if (!same_bits(row(a, in_a, t), row(b, in_b, t)))
            return false;
    return true;
}

std::vector<Real> answer(const Tensor& logits, std::size_t b) {
    return row(logits.with_shape({1, logits.size(0), logits.size(1)}), 0, static_cast<int64_t>(b));
}

void break_padding(const InputEmbedding& embedding) {
    for (int64_t i = 0; i < 12; ++i)
        embedding.tokens.table->mutable_data()[kPad * 12 + i] = kNan;
}

}  // namespace

TEST_CASE("masked language model: the parts, in their order", "[models][mlm]") {
    for (const std::string& kind : kStacks) {
        INFO(kind);
        const MaskedLanguageModel m = masked_model(small_stack(kind));
        const Tokens ids = padded(sentences({6, 3}, 1));
        nn::Probe seen;
        const Tensor logits = m(ids, Mode::eval(&seen));
        CHECK(logits.shape() == Shape({2, 6, 11}));
        const Tensor x = m.backbone(ids, Mask::key_counts({6, 3}), kEval);
        const Tensor h = autograd::matmul(x, m.transform.weight) + m.transform.bias.tensor();
        const Tensor active = kind == "gpt2"                     ? autograd::gelu_tanh(h)
                              : kind == "bert" || kind == "bare" ? autograd::gelu(h)
                              : kind == "llama"                  ? autograd::silu(h)
                                                                 : autograd::relu(h);
        const Tensor product = autograd::matmul(
            m.norm(active), m.config.tied ? m.backbone.embedding.tokens.table : m.output.table, true);
        CHECK(worst_error(logits, m.config.block.output_bias ? product + m.output.bias.tensor() : product) <
              1e-5);
        CHECK(m.output.table->same_memory(m.backbone.embedding.tokens.table) == m.config.tied);
        CHECK(same_bits(logits, m(ids, kEval)));
        const Tensor weights = seen.of(m.backbone.encoder.layers[1].self_attention);  // (2, 3, 6, 6)
        for (int64_t i = 0; i < 216; ++i)  // everything is seen but padding
            CHECK((weights.data()[i] > 0) == (i < 108 || i % 6 < 3));

        const MaskedLanguageModel copy = nn::clone(m);
        CHECK(same_bits(copy(ids, kEval), logits));
        CHECK_FALSE(same_bits(m(ids, Mode::train(Rng(1))), logits));
    }
}

TEST_CASE("masked language model: the loss of the masked positions is that of all logits", "[models][mlm]") {
    const Sentences text = sentences({6, 3, 5}, 7);
    const text::MaskedTokens masked = text::mask_tokens(padded(text), {.end_id = 11, .rate = 0.4}, Rng(3));
    for (const std::string& kind : kStacks)
        for (const Mode& mode : {kEval, Mode::train(Rng(5))}) {
            INFO(kind);
            const MaskedLanguageModel m = masked_model(small_stack(kind));
            const std::vector<nn::NamedParameter> parameters = nn::parameters(m);
            const Tensor full = cross_entropy(m(masked.ids, mode), masked.targets);
            full.backward();
            std::vector<std::vector<Real>> wanted;
            for (const nn::NamedParameter& p : parameters)
                wanted.push_back(p.tensor.grad().to_vector());
            nn::zero_grad(parameters);
            const Tensor loss = m.loss(masked.ids, masked.targets, mode);
            loss.backward();
            CHECK(worst_error(loss, full) < 1e-6);
            for (std::size_t i = 0; i < parameters.size(); ++i) {
                INFO(parameters[i].name);
                CHECK(worst_error(parameters[i].tensor.grad().to_vector(), wanted[i]) < 1e-5);
            }
        }
    const MaskedLanguageModel m = masked_model(small_stack("bert"));
    CHECK(contains(error_of([&] { m.loss(masked.ids, masked.targets.slice(0, 5), kEval); }),
                   "each of the 3 x 6 ids needs a target, or padding: got 3 x 5"));
    CHECK(contains(error_of([&] { m.logits_at(masked.ids, {18}, kEval); }), "18"));
}

TEST_CASE("masked language model: every token is seen from both sides", "[models][mlm]") {
    for (const std::string& kind : kStacks) {
        const MaskedLanguageModel model = masked_model(small_stack(kind));
        const Sentences text = sentences({5, 5}, 2);
        const Tensor before = model(padded(text), kEval);
        for (std::size_t changed = 0; changed < 5; ++changed) {
            Sentences other = text;
            other[0][changed] = other[0][changed] == 4 ? 5 : 4;
            const Tensor after = model(padded(other), kEval);
            for (int64_t t = 0; t < 5; ++t) {
                INFO(kind << ": token " << changed << " changed, logits at " << t);
                CHECK_FALSE(same_bits(row(before, 0, t), row(after, 0, t)));
                CHECK(same_bits(row(before, 1, t), row(after, 1, t)));
            }
        }
    }
}

TEST_CASE("masked language model: the same bits alone, in any batch, with any padding", "[models][mlm]") {
    for (const std::string& kind : kStacks) {
        INFO(kind);
        const MaskedLanguageModel model = masked_model(small_stack(kind));
        const Sentences text = sentences({5, 2, 9, 1}, 3);
        const Tensor together = model(padded(text), kEval), longer = model(padded(text, 33), kEval);
        const Tensor turned = model(padded({text[3], text[2], text[1], text[0]}), kEval);
        for (std::size_t b = 0; b < 4; ++b) {
            const auto i = static_cast<int64_t>(b);
            CHECK(same_rows(together, i, model(padded({text[b]}), kEval), 0, text[b].size()));
            CHECK(same_rows(together, i, longer, i, text[b].size()));
            CHECK(same_rows(together, i, turned, 3 - i, text[b].size()));
        }
        if (model.config.tied)
            continue;  // the row of <pad> is then a row of the output, too
        break_padding(model.backbone.embedding);
        for (std::size_t b = 0; b < 4; ++b)
            CHECK(same_rows(together, static_cast<int64_t>(b), model(padded(text, 20), kEval),
                            static_cast<int64_t>(b), text[b].size()));
    }
}

TEST_CASE("classifier: the mean of the real tokens, or the first", "[models][classifier]") {
    for (const std::string& kind : kStacks)
        for (const Pooling pooling : kPoolings) {
            INFO(kind << ", " << (pooling == Pooling::mean ? "mean" : "first"));
            const Classifier m = classifier(kind, pooling);
            const Tokens ids = padded(sentences({6, 3}, 4), 8);
            const Tensor logits = m(ids, kEval);
            REQUIRE(logits.shape() == Shape({2, 3}));
            const Tensor x = m.backbone(ids, Mask::key_counts({6, 3}), kEval);  // (2, 8, 12)
            std::vector<double> expected;
            for (int64_t b = 0; b < 2; ++b)
                for (int64_t c = 0; c < 3; ++c) {
                    const int64_t n = pooling == Pooling::first ? 1 : b == 0 ? 6 : 3;
                    double sum = static_cast<double>(m.output.bias->data()[c]);
                    for (int64_t t = 0; t < n; ++t)
                        for (int64_t i = 0; i < 12; ++i)
                            sum += static_cast<double>(x.data()[(b * 8 + t) * 12 + i]) *
                                   static_cast<double>(m.output.weight->data()[i * 3 + c]) /
                                   static_cast<double>(n);
                    expected.push_back(sum);
                }
            CHECK(worst_error(logits, expected) < 2e-5);
            nn::Probe seen;
            CHECK(same_bits(m(ids, Mode::eval(&seen)), logits));
            for (const EncoderLayer& layer : m.backbone.encoder.layers)
                CHECK(seen.of(layer).shape() == Shape({ids.batch(), ids.length(), m.config.block.d_model}));
            CHECK(same_bits(nn::clone(m)(ids, kEval), logits));
        }
}

TEST_CASE("classifier: the mean of a long text has the same bits, whatever its padding",
          "[models][classifier]") {
    Config c = with_classes(small_stack("paper"), 3);
    c.max_length = 1100;
    const Classifier model(c, Rng(1));
    for (const int n : {1, 511, 512, 513, 1024, 1099}) {  // a matrix product sums up blocks of 512
        INFO(n);
        const Sentences text = sentences({n}, 5);
        CHECK(same_bits(model(padded(text, 1100), kEval), model(padded(text), kEval)));
    }
}

TEST_CASE("classifier: the same bits alone, in any batch, with any padding", "[models][classifier]") {
    for (const std::string& kind : kStacks)
        for (const Pooling pooling : kPoolings) {
            INFO(kind << ", " << (pooling == Pooling::mean ? "mean" : "first"));
            const Classifier model = classifier(kind, pooling);
            const Sentences text = sentences({5, 2, 9, 1}, 5);
            const Tensor together = model(padded(text), kEval);
            const Tensor turned = model(padded({text[3], text[2], text[1], text[0]}), kEval);
            for (std::size_t b = 0; b < 4; ++b) {
                CHECK(same_bits(answer(together, b), answer(model(padded({text[b]}), kEval), 0)));
                CHECK(same_bits(answer(together, b), answer(turned, 3 - b)));
                for (std::size_t changed = 0; changed < text[b].size(); ++changed) {  // each token counts
                    Sentences other = text;
                    other[b][changed] = other[b][changed] == 4 ? 5 : 4;
                    const Tensor after = model(padded(other), kEval);
                    for (std::size_t s = 0; s < 4; ++s)
                        CHECK(same_bits(answer(together, s), answer(after, s)) == (s != b));
                }
            }
            break_padding(model.backbone.embedding);  // no output shares its table
            CHECK(same_bits(model(padded(text, 33), kEval), together));
        }
}

TEST_CASE("encoders: a text without any token is refused by all encoders", "[models]") {
    const Tokens ids = padded({{4, 5}, {}});
    const auto refused = [](const std::string& error) {
        INFO(error);
        return contains(error, "sequence 1 of the batch is empty");
    };
    const MaskedLanguageModel masked(small_stack("bert"), Rng(1));
    const Classifier classes(with_classes(small_stack("bert"), 3), Rng(1));
    const Transformer translator(small("paper"), Rng(1));
    CHECK(refused(error_of([&] { masked(ids, kEval); })));
    CHECK(refused(error_of([&] { classes(ids, kEval); })));
    CHECK(refused(error_of([&] { translator.encode(ids, kEval); })));
    CHECK(refused(error_of([&] { translator(ids, padded({{1}, {1}}), kEval); })));
    CHECK(refused(error_of([&] { translator.loss(ids, padded({{1}, {1}}), padded({{2}, {2}}), kEval); })));
    CHECK(refused(error_of([&] { translator.start(ids); })));
}

TEST_CASE("classifier: dropout is applied before the output", "[models][classifier]") {
    Config c = with_classes(small_stack("bert"), 3);
    c.n_layers = 0;
    c.block.dropout = {.embeddings = 0, .sublayers = Real(0.5)};
    const Classifier model(c, Rng(1));
    const Tokens ids = padded(sentences({6, 3}, 4));
    const Tensor one = model(ids, Mode::train(Rng(1)));
    CHECK_FALSE(same_bits(one, model(ids, kEval)));
    CHECK_FALSE(same_bits(one, model(ids, Mode::train(Rng(2)))));
    CHECK(model.dropout.stream != model.backbone.embedding.dropout.stream);
}

TEST_CASE("encoder-only models: errors", "[models][mlm][classifier]") {
    Config c = with_classes(small_stack("bert"), 2);
    c.max_length = 4;
    const Classifier model(c, Rng(1));
    const MaskedLanguageModel masked(c, Rng(1));
    CHECK(error_of([&] { model(padded({{4}, {5, 6, 7, 8}}), kEval); }) == "");
    CHECK(contains(error_of([&] {
                       model(padded({{4, 5}, {}, {4}}), kEval);
                   }),
                   "sequence 1 of the batch is empty"));
    CHECK(contains(error_of([&] { model(Tokens(1, 0, {}), kEval); }), "sequence 0 of the batch is empty"));
    CHECK(contains(error_of([&] { model(padded(sentences({5}, 1)), kEval); }), "length of 4"));
    CHECK(contains(error_of([&] { masked(padded(sentences({5}, 1)), kEval); }), "length of 4"));
    CHECK(contains(error_of([&] { model(padded({{4, 11}}), kEval); }), "id 11"));
    CHECK(contains(error_of([&] { masked(padded({{4, 11}}), kEval); }), "id 11"));
    for (const int64_t classes : {-1, 0, 1}) {
        c.classes = classes;
        CHECK(contains(error_of([&] { Classifier(c, Rng(1)); }),
                       "two classes: got " + std::to_string(classes)));
    }
    c.classes = 2;
    c.block.n_heads = 5;
    CHECK(contains(error_of([&] { Classifier(c, Rng(1)); }), "n_heads = 5"));
    CHECK(contains(error_of([&] { MaskedLanguageModel(c, Rng(1)); }), "n_heads = 5"));
}

TEST_CASE("encoder-only models: an empty batch", "[models][mlm][classifier]") {
    CHECK(masked_model(small_stack("bert"))(Tokens(0, 3, {}), kEval).shape() == Shape({0, 3, 11}));
    for (const Pooling pooling : kPoolings)
        CHECK(classifier("bert", pooling)(Tokens(0, 3, {}), kEval).shape() == Shape({0, 3}));
}

TEST_CASE("encoder-only models: both learn", "[models][mlm][classifier]") {
    Config c = small_stack("bert", 8);
    c.block.init = nn::Init::xavier;  // 12 wide, 0.02 is too little
    c.block.dropout = {.embeddings = 0, .sublayers = 0};
    const MaskedLanguageModel masked(c, Rng(4));
    const std::vector<Real> restored = train(masked, 60, 12, 5);
    CHECK(restored.front() > Real(1.5));
    CHECK(restored.back() < restored.front() - Real(0.4));
    for (const Pooling pooling : kPoolings) {
        const Classifier model(with_classes(c, 2, pooling), Rng(4));
        const std::vector<Real> losses = train(model, 60, 12, 5);
        CHECK(losses.front() > Real(0.5));
        CHECK(losses.back() < losses.front() - Real(0.25));
    }
}
