// Later tokens and padding have no effect on any bit, for models of every kind.
#include <algorithm>

#include "tests/catch.h"
#include "tests/models/small.h"

using namespace plaingrad;  // NOLINT
using namespace models;     // NOLINT
using namespace tests;      // NOLINT

namespace {

using autograd::Tokens;

const Mode kEval = Mode::eval();

// Whether the logits at the real positions have the same bits.
bool same_where_real(const Tensor& a, const Tensor& b, const Sentences& s) {
    for (std::size_t i = 0; i < s.size(); ++i)
        if (!same_bits(answer(a, i, s[i]), answer(b, i, s[i])))
            return false;
    return true;
}

Ids changed_at(Ids ids, std::size_t t) {
    ids[t] = ids[t] == 4 ? 5 : 4;
    return ids;
}

}  // namespace

TEST_CASE("masks: a token changes the logits that may see it, and no others", "[models][masks]") {
    for_each_model([](const std::string& name, const auto& model) {
        const bool causal = model.kKind == Kind::encoder_decoder || model.kKind == Kind::causal;
        const Sentences text = sentences({7, 7}, 2);
        const auto logits = [&](const Ids& first) {
            return logits_of(model, {padded(sentences({5, 2}, 1)), padded({first, text[1]})}, kEval);
        };
        const Tensor before = logits(text[0]);
        for (std::size_t changed = 0; changed < 7; ++changed) {
            const Tensor after = logits(changed_at(text[0], changed));
            for (int64_t t = 0; t < (before.rank() == 3 ? 7 : 1); ++t) {
                INFO(name << ": token " << changed << " changed, logits at " << t);
                const bool hidden = causal && t < static_cast<int64_t>(changed);
                CHECK(same_bits(row(before, 0, t), row(after, 0, t)) == hidden);
                CHECK(same_bits(row(before, 1, t), row(after, 1, t)));  // the other sentence
            }
        }
    });
}

TEST_CASE("masks: even a NaN does not reach earlier positions, nor a gradient later ones",
          "[models][masks][lm]") {
    for (const std::string& kind : kStacks) {
        const LanguageModel model(small_stack(kind), Rng(1));
        stir(model);
        const nn::PositionalEncoding& positions = model.backbone.embedding.positions;
        const Tokens text = padded(sentences({7, 7}, 3));
        const Tensor before = model(text, kEval);
        Tensor encodings = positions.encodings();
        for (int64_t t = 6; t >= 0 && encodings.defined(); --t) {
            INFO(kind << ": position " << t);
            if (positions.table->defined()) {
                nn::zero_grad(model);
                autograd::sum(autograd::slice(model(text, kEval), 1, t, t + 1) * random({11}, 5)).backward();
                for (int64_t p = 0; p < 40; ++p) {
                    const Tensor own = positions.table->grad()[p];
                    const double moved = worst_error(own, Tensor::zeros({12}));
                    CHECK((p <= t ? moved > 1e-6 : moved == 0));
                }
            }
            const Real number = std::exchange(encodings.mutable_data()[t * 12 + t], kNan);
            const Tensor after = model(text, kEval);
            for (int64_t earlier = 0; earlier < t; ++earlier)
                CHECK(same_bits(row(before, 0, earlier), row(after, 0, earlier)));
            CHECK_FALSE(same_bits(row(after, 1, t), row(after, 1, t)));
            encodings.mutable_data()[t * 12 + t] = number;
        }
    }
}

TEST_CASE("masks: a sentence alone gives the same bits as in a padded batch", "[models][masks]") {
    for_each_model([](const std::string& name, const auto& model) {
        INFO(name);
        CHECK(changed_by_padding(model, sentences({5, 2, 9, 1}, 3), 33) == "");
        const Sentences differ = sentences({5, 5}, 3);
        CHECK_FALSE(same_bits(row(answers(model, differ), 0), row(answers(model, differ), 1)));
    });
}

TEST_CASE("masks: the mean of a long text has the same bits, whatever its padding", "[models][masks]") {
    Config c = with_classes(small_stack("paper"), 3);
    c.max_length = 1100;
    const Classifier model(c, Rng(1));
    for (const int n : {1, 511, 512, 513, 1024, 1099})  // a matrix product sums up blocks of 512
        CHECK(changed_by_padding(model, sentences({n}, 5), 1100) == "");
}

TEST_CASE("masks: NaN in the row of <pad> reaches no output and no gradient", "[models][masks]") {
    const Sentences s = sentences({5, 2, 7}, 9);
    for_each_model([&](const std::string& name, const auto& model) {
        if (model.config.tied)
            return;  // the row of <pad> is then a row of the output, too
        INFO(name);
        const std::vector<nn::NamedParameter> parameters = nn::parameters(model);
        const auto run = [&] {
            const Tensor loss = loss_of(model, example_of(model, s), Mode::train(Rng(11)));
            loss.backward();
            std::vector<Real> all = take_gradients(parameters);
            all.push_back(loss.item());
            return all;
        };
        const std::vector<Real> expected = run();
        const Tensor logits = answers(model, s, 20);
        for (const nn::NamedParameter& p : parameters)
            if (p.name.ends_with("tokens.table"))
                std::fill_n(p.tensor.mutable_data() + kPad * 12, 12, kNan);
        CHECK(same_bits(run(), expected));
        CHECK(same_where_real(answers(model, s, 20), logits, s));
    });
}
