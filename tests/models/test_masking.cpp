// Later tokens and padding have no effect on any bit, for models of every kind.
#include <algorithm>

#include "tests/catch.h"
#include "tests/models/small.h"

using namespace plaingrad;  // NOLINT
using namespace models;     // NOLINT
using namespace tests;      // NOLINT

namespace {

using autograd::Tokens;

// Sentences padded with `garbage`; a mask must then tell which tokens are real.
Tokens filled_up(const Sentences& s, int64_t length, uint64_t garbage) {
    std::vector<int> rest;
    for (const Ids& ids : s)
        rest.push_back(static_cast<int>(length) - static_cast<int>(ids.size()));
    const Sentences more = sentences(rest, garbage);
    Sentences all = s;
    for (std::size_t b = 0; b < s.size(); ++b)
        all[b].insert(all[b].end(), more[b].begin(), more[b].end());
    return Tokens::padded(all, Tokens::kNoPadding, length);
}

Mask counts(const Sentences& s) {
    Ids n;
    for (const Ids& ids : s)
        n.push_back(static_cast<int32_t>(ids.size()));
    return Mask::key_counts(n);
}

// Whether the logits at the real positions have the same bits.
bool same_where_real(const Tensor& a, const Tensor& b, const Sentences& tgt) {
    for (std::size_t i = 0; i < tgt.size(); ++i)
        for (std::size_t t = 0; t < tgt[i].size(); ++t)
            if (!same_bits(row(a, static_cast<int64_t>(i), static_cast<int64_t>(t)),
                           row(b, static_cast<int64_t>(i), static_cast<int64_t>(t))))
                return false;
    return true;
}

const std::vector<int> kSrcLengths = {5, 2, 7}, kTgtLengths = {3, 6, 1};

}  // namespace

TEST_CASE("masks: a token changes no logit before it, and those from it on", "[models][masks]") {
    for (const std::string& kind : kKinds) {
        const Transformer model(small(kind), Rng(1));
        const Tokens src = padded(sentences(kSrcLengths, 1));
        const Sentences tgt = sentences({7, 7}, 2);
        const Tokens two_sources = padded(sentences({5, 2}, 1));
        const Tensor before = model(two_sources, padded(tgt), Mode::eval());
        for (std::size_t changed = 0; changed < 7; ++changed) {
            Sentences other = tgt;
            other[0][changed] = other[0][changed] == 4 ? 5 : 4;
            const Tensor after = model(two_sources, padded(other), Mode::eval());
            for (int64_t t = 0; t < 7; ++t) {
                INFO(kind << ": token " << changed << " changed, logits at " << t);
                CHECK(same_bits(row(before, 0, t), row(after, 0, t)) == (t < static_cast<int64_t>(changed)));
                CHECK(same_bits(row(before, 1, t), row(after, 1, t)));  // the other sentence
            }
        }
    }
}

TEST_CASE("masks: neither the content nor the amount of padding changes anything", "[models][masks]") {
    for (const std::string& kind : kKinds) {
        INFO(kind);
        const Transformer model(small(kind), Rng(2));
        const Sentences src = sentences(kSrcLengths, 3), tgt = sentences(kTgtLengths, 4);
        const Tensor expected = model(padded(src), padded(tgt), Mode::eval());
        CHECK(same_where_real(expected, model(padded(src, 20), padded(tgt), Mode::eval()), tgt));
        CHECK(same_where_real(expected, model(padded(src), padded(tgt, 33), Mode::eval()), tgt));
        for (const uint64_t garbage : {5u, 6u}) {
            const Tokens s = filled_up(src, 19, garbage), t = filled_up(tgt, 9, garbage + 10);
            const Tensor memory = model.encode(s, counts(src), Mode::eval());
            CHECK(same_where_real(
                expected, model.decode(t, memory, counts(tgt).and_causal(), counts(src), Mode::eval()), tgt));
        }
        // Another id for padding gives the same.
        Sentences used = src;
        for (Ids& ids : used)
            std::replace(ids.begin(), ids.end(), 10, 9);
        CHECK(same_where_real(model(padded(used), padded(tgt), Mode::eval()),
                              model(Tokens::padded(used, 10), padded(tgt), Mode::eval()), tgt));
    }
}

TEST_CASE("masks: a sentence alone gives the same bits as in a padded batch", "[models][masks]") {
    for (const std::string& kind : kKinds) {
        const Transformer model(small(kind), Rng(3));
        const Sentences src = sentences(kSrcLengths, 5), tgt = sentences(kTgtLengths, 6);
        const Tensor together = model(padded(src), padded(tgt), Mode::eval());
        const Tensor memory = model.encode(padded(src), Mode::eval());
        for (std::size_t b = 0; b < src.size(); ++b) {
            const auto i = static_cast<int64_t>(b);
            const Tensor alone = model(padded({src[b]}), padded({tgt[b]}), Mode::eval());
            for (int64_t t = 0; t < kTgtLengths[b]; ++t) {
                INFO(kind << ", sentence " << b << ", position " << t);
                CHECK(same_bits(row(together, i, t), row(alone, 0, t)));
            }
            const Tensor memory_alone = model.encode(padded({src[b]}), Mode::eval());
            for (int64_t t = 0; t < kSrcLengths[b]; ++t)
                CHECK(same_bits(row(memory, i, t), row(memory_alone, 0, t)));
        }
    }
}

// The loss is a mean over the counted tokens, so count * loss is the sum.
TEST_CASE("masks: loss and gradient of a padded batch are the sums of those of its sentences",
          "[models][masks]") {
    const auto tolerance = autograd::kRealIsDouble ? 1e-12 : 2e-5;
    for (const std::string& kind : kKinds) {
        INFO(kind);
        const Transformer model(small(kind), Rng(4));
        const std::vector<nn::NamedParameter> parameters = nn::parameters(model);
        const Sentences src = sentences(kSrcLengths, 7), tgt = sentences(kTgtLengths, 8);
        const auto counted = [](std::size_t b) { return static_cast<Real>(kTgtLengths[b] + 1); };
        const Real smoothing = Real(0.1), all = counted(0) + counted(1) + counted(2);
        const auto gradients = [&] {
            std::vector<Real> g;
            for (const nn::NamedParameter& p : parameters) {
                const std::vector<Real> own = p.tensor.grad().to_vector();
                g.insert(g.end(), own.begin(), own.end());
            }
            nn::zero_grad(parameters);
            return g;
        };

        double sum = 0;
        for (std::size_t b = 0; b < src.size(); ++b) {
            const Tensor loss =
                teacher_forced_loss(model, padded({src[b]}), framed({tgt[b]}), Mode::eval(), smoothing) *
                counted(b);
            sum += static_cast<double>(loss.item());
            loss.backward();  // accumulates
        }
        const std::vector<Real> one_by_one = gradients();
        const Tensor together =
            teacher_forced_loss(model, padded(src, 9), framed(tgt, 12), Mode::eval(), smoothing) * all;
        together.backward();
        CHECK(static_cast<double>(together.item()) == Approx(sum).epsilon(1e-6));
        const std::vector<Real> batch = gradients();
        CHECK(nn::parameter_count(parameters) == static_cast<int64_t>(batch.size()));
        CHECK(worst_error(batch, one_by_one) < tolerance);
    }
}

TEST_CASE("masks: NaN in the row of <pad> reaches no output and no gradient", "[models][masks]") {
    for (const char* kind : {"blog", "article"}) {  // where the output has a matrix of its own
        INFO(kind);
        const Transformer model(small(kind), Rng(5));
        const std::vector<nn::NamedParameter> parameters = nn::parameters(model);
        const Sentences src = sentences(kSrcLengths, 9), tgt = sentences(kTgtLengths, 10);
        const auto run = [&] {
            nn::zero_grad(parameters);
            const Tensor loss =
                teacher_forced_loss(model, padded(src, 8), framed(tgt), Mode::train(Rng(11)), Real(0.1));
            loss.backward();
            std::vector<Real> all = {loss.item()};
            for (const nn::NamedParameter& p : parameters) {
                const std::vector<Real> own = p.tensor.grad().to_vector();
                all.insert(all.end(), own.begin(), own.end());
            }
            return all;
        };
        const std::vector<Real> expected = run();
        for (const char* name : {"src_embedding.tokens.table", "tgt_embedding.tokens.table"})
            for (int64_t i = 0; i < model.config.block.d_model; ++i)
                named(parameters, name).mutable_data()[kPad * model.config.block.d_model + i] = kNan;
        CHECK(same_bits(run(), expected));
    }
}

TEST_CASE("masks: attention to the source ignores padding, even NaN", "[models][masks]") {
    for (const std::string& kind : kKinds) {
        INFO(kind);
        const Transformer model(small(kind), Rng(6));
        const Sentences src = sentences(kSrcLengths, 12), tgt = sentences(kTgtLengths, 13);
        Tensor memory = model.encode(padded(src), Mode::eval()).detach();
        const auto logits = [&] {
            return model.decode(padded(tgt), memory, Mask::padding(padded(src)), Mode::eval());
        };
        const Tensor expected = logits();
        for (int64_t i = 0; i < 12; ++i)
            memory.mutable_data()[(1 * 7 + 2) * 12 + i] = kNan;  // sentence 1 has two tokens
        CHECK(same_where_real(expected, logits(), tgt));
        memory.mutable_data()[(2 * 7 + 6) * 12] += 1;  // sentence 2 has seven
        CHECK_FALSE(same_bits(row(expected, 2, 0), row(logits(), 2, 0)));
        CHECK(same_bits(row(expected, 0, 0), row(logits(), 0, 0)));
    }
}

TEST_CASE("masks: a source that is masked entirely gives finite numbers", "[models][masks]") {
    const Transformer model(small("paper"), Rng(7));
    const Sentences src = {{5, 6}, {}}, tgt = {{7}, {8, 9}};
    const auto logits = [&](int64_t s, int64_t t) {  // with masks of one's own: encode refuses an empty text
        const Tokens source = padded(src, s);
        const Tensor memory = model.encode(source, Mask::padding(source), Mode::eval());
        return model.decode(padded(tgt, t), memory, Mask::padding(source), Mode::eval());
    };
    CHECK(same_where_real(logits(2, 2), logits(5, 3), tgt));
    autograd::sum(logits(2, 2)).backward();
    for (const nn::NamedParameter& p : nn::parameters(model)) {
        INFO(p.name);
        CHECK(same_bits(p.tensor.grad(), p.tensor.grad()));  // no NaN
    }
}
