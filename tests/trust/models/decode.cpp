#include "tests/trust/models/decode.h"

#include <bit>

#include "models/decoding/decoding.h"

namespace plaingrad::trust {
namespace {

using models::Logits;
using models::Stepper;

// A decoder as slow as the definition: it keeps the tokens, and nothing that was computed from them.
// forward(texts, rows): logits of texts of one length, of which text i belongs to sentence rows[i].
template <class Forward>
class WithoutCache : public Stepper {
public:
    WithoutCache(const Stepper& like, Forward forward)
        : Stepper(like.prompts, like.specials, like.max_length), forward_(std::move(forward)) {
        for (int64_t b = 0; b < prompts.batch(); ++b)
            rows_.push_back(static_cast<int32_t>(b));
        texts_.resize(rows_.size());
    }

    Tensor step(const Tokens& tokens, Logits which) override {
        for (std::size_t b = 0; b < texts_.size(); ++b)
            for (int64_t t = 0; t < tokens.length(); ++t)
                texts_[b].push_back(tokens.at(static_cast<int64_t>(b), t));
        const autograd::NoGrad no_grad;
        const Tensor logits = forward_(texts_, rows_);  // (B, all, V)
        const int64_t end = logits.size(1);
        return autograd::slice(logits, 1, which == Logits::last ? end - 1 : end - tokens.length(), end);
    }

    void select(const std::vector<int32_t>& rows) override {
        Sentences texts;
        Ids sentences;
        for (const int32_t row : rows) {
            texts.push_back(texts_.at(static_cast<std::size_t>(row)));
            sentences.push_back(rows_.at(static_cast<std::size_t>(row)));
        }
        texts_ = std::move(texts);
        rows_ = std::move(sentences);
    }

    void rewind(int64_t length) override {
        for (Ids& text : texts_)
            text.resize(static_cast<std::size_t>(length));
    }

private:
    Forward forward_;
    Sentences texts_;  // what was read
    Ids rows_;         // the sentence of the batch that each one is
};

Tokens of_one_length(const Sentences& texts) {
    Ids ids;
    for (const Ids& text : texts)
        ids.insert(ids.end(), text.begin(), text.end());
    return Tokens(std::ssize(texts), std::ssize(texts.front()), ids);
}

std::string text_of(const Ids& ids) {
    std::string text;
    for (const int32_t id : ids)
        text += autograd::join(id, ' ');
    return text + '\n';
}

std::string text_of(const models::Hypothesis& h) {
    return autograd::join(std::bit_cast<uint64_t>(h.log_probability), ' ', std::bit_cast<uint64_t>(h.score),
                          ' ', h.finished, ": ") +
           text_of(h.ids);
}

// start(): a stepper that has read nothing.
template <class Start>
std::string search_all(const Start& start, uint64_t seed) {
    Dice dice(Rng(seed).fork("decode"));
    std::string text;
    for (const models::Hypothesis& h : greedy(*start(), 4 + dice.below(8)))
        text += text_of(h);
    models::BeamOptions beam = {.beam = 1 + dice.below(4), .max_tokens = 3 + dice.below(7)};
    beam.n_best = 1 + dice.below(beam.beam);
    beam.alpha = dice.one_of<double>({0, 0.6, 1});
    for (const std::vector<models::Hypothesis>& best : beam_search(*start(), beam))
        for (const models::Hypothesis& h : best)
            text += text_of(h);
    models::GenerationOptions generation = {.max_tokens = 5 + dice.below(8), .slide = false};
    generation.sampling.temperature = dice.one_of<double>({0, 0.7, 1, 2});
    generation.sampling.top_k = dice.below(6);
    generation.sampling.top_p = dice.one_of<double>({0.5, 0.9, 1});
    generation.sampling.repetition_penalty = dice.one_of<double>({1, 1.3});
    for (const Ids& ids : generate(*start(), Rng(seed), generation))
        text += text_of(ids);
    return text;
}

}  // namespace

std::string decoded(const models::Transformer& model, uint64_t seed, bool cached) {
    const Sentences sources = draw_batch(model, seed, 1000);
    const auto forward = [&](const Sentences& texts, const Ids& rows) {
        Sentences src;
        for (const int32_t row : rows)
            src.push_back(sources[static_cast<std::size_t>(row)]);
        return model(tests::padded(src), of_one_length(texts), nn::Mode::eval());
    };
    return search_all(
        [&]() -> std::unique_ptr<Stepper> {
            std::unique_ptr<Stepper> own = model.start(tests::padded(sources));
            if (cached)
                return own;
            return std::make_unique<WithoutCache<decltype(forward)>>(*own, forward);
        },
        seed);
}

std::string decoded(const models::LanguageModel& model, uint64_t seed, bool cached) {
    Sentences prompts = draw_batch(model, seed, 1000);
    const std::size_t length =
        std::min(prompts.front().size(), static_cast<std::size_t>(model.config.max_length) - 8);
    for (Ids& ids : prompts)
        ids.resize(length, models::kFirstFreeId);
    const auto forward = [&](const Sentences& texts, const Ids&) {
        return model(of_one_length(texts), nn::Mode::eval());
    };
    return search_all(
        [&]() -> std::unique_ptr<Stepper> {
            std::unique_ptr<Stepper> own = model.start(tests::padded(prompts));
            if (cached)
                return own;
            return std::make_unique<WithoutCache<decltype(forward)>>(*own, forward);
        },
        seed);
}

}  // namespace plaingrad::trust
