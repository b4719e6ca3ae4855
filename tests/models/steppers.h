// Steppers for the tests of decoding: a "model" with probabilities written by hand, and one without a cache.
#pragma once

#include <bit>
#include <cmath>
#include <functional>
#include <vector>

#include "models/decoding/decoding.h"
#include "tests/dice.h"
#include "tests/models/small.h"

namespace plaingrad::tests {

// The index of the source sentence, and the tokens read so far without <sos> -> the probabilities of the next
// token.
using Probabilities = std::function<std::vector<double>(int32_t sentence, const Ids& read)>;

class HandMade final : public models::Stepper {
public:
    HandMade(int32_t batch, Probabilities p, int64_t longest = 1000, models::Specials specials_ = {})
        : Stepper(autograd::Tokens(batch, 1, Ids(static_cast<std::size_t>(batch), specials_.start)),
                  specials_, longest),
          p_(std::move(p)) {
        for (int32_t b = 0; b < batch; ++b)
            rows_.push_back({b, {}});
    }

    Tensor step(const autograd::Tokens& tokens, models::Logits) override {
        autograd::check(tokens.batch() == std::ssize(rows_) && tokens.length() == 1, "a token for each row");
        batches.push_back(static_cast<int>(tokens.batch()));
        std::vector<Real> logits;
        for (std::size_t b = 0; b < rows_.size(); ++b) {
            const int32_t token = tokens.at(static_cast<int64_t>(b), 0);
            if (batches.size() == 1) {
                began_at_start = began_at_start && token == specials.start;
            } else {
                extended_an_ended_one = extended_an_ended_one || specials.is_end(token) ||
                                        models::contains(specials.never, token);
                rows_[b].read.push_back(token);
            }
            for (const double x : p_(rows_[b].sentence, rows_[b].read))
                logits.push_back(static_cast<Real>(std::log(x) + 3));  // logits: any constant may be added
        }
        const auto n = tokens.batch();
        return Tensor::from({n, 1, static_cast<int64_t>(logits.size()) / n}, logits);
    }

    void select(const std::vector<int32_t>& rows) override {
        std::vector<Row> chosen;
        for (const int32_t r : rows)
            chosen.push_back(rows_.at(static_cast<std::size_t>(r)));
        rows_ = chosen;
    }

    void rewind(int64_t length) override {
        for (Row& row : rows_) {
            autograd::check(length <= std::ssize(row.read), "fewer than ", length, " tokens were read");
            row.read.resize(static_cast<std::size_t>(length));
        }
    }

    std::vector<int> batches;  // of each step
    bool extended_an_ended_one = false, began_at_start = true;

private:
    struct Row {
        int32_t sentence;
        Ids read;
    };
    Probabilities p_;
    std::vector<Row> rows_;
};

inline autograd::Tokens of_one_length(const Sentences& texts) {
    Ids ids;
    for (const Ids& text : texts)
        ids.insert(ids.end(), text.begin(), text.end());
    return autograd::Tokens(std::ssize(texts), std::ssize(texts.front()), ids);
}

// As slow as the definition: it keeps the tokens, and nothing that was computed from them.
template <class Model>
class WithoutCache final : public models::Stepper {
public:
    // texts: what a Transformer translates. like: how the sentences begin, and what is special.
    WithoutCache(const Model& model, const Sentences& texts, const Stepper& like)
        : Stepper(like.prompts, like.specials, like.max_length), model_(model), sources_(texts) {
        read_.resize(texts.size());
    }

    Tensor step(const autograd::Tokens& tokens, models::Logits which) override {
        for (std::size_t b = 0; b < read_.size(); ++b)
            for (int64_t t = 0; t < tokens.length(); ++t)
                read_[b].push_back(tokens.at(static_cast<int64_t>(b), t));
        const autograd::NoGrad no_grad;
        const Tensor logits =
            logits_of(model_, {padded(sources_), of_one_length(read_)}, nn::Mode::eval());  // (B, all, V)
        const int64_t end = logits.size(1);
        return autograd::slice(logits, 1, which == models::Logits::last ? end - 1 : end - tokens.length(),
                               end);
    }
    void select(const Ids& rows) override {
        Sentences sources, read;
        for (const int32_t row : rows) {
            sources.push_back(sources_.at(static_cast<std::size_t>(row)));
            read.push_back(read_.at(static_cast<std::size_t>(row)));
        }
        sources_ = std::move(sources), read_ = std::move(read);
    }
    void rewind(int64_t length) override {
        for (Ids& text : read_)
            text.resize(static_cast<std::size_t>(length));
    }

private:
    const Model& model_;
    Sentences sources_, read_;
};

// texts: what a Transformer translates, or a LanguageModel's prompts, of one length.
template <class Model>
std::unique_ptr<models::Stepper> start(const Model& model, const Sentences& texts, bool cached) {
    std::unique_ptr<models::Stepper> own = model.start(padded(texts));
    if (cached)
        return own;
    return std::make_unique<WithoutCache<Model>>(model, texts, *own);
}

// What greedy search, beam search and sampling write with random options, as text, with the bits of all
// numbers. texts: as for `start`.
template <class Model>
std::string decoded(const Model& model, const Sentences& texts, uint64_t seed, bool cached) {
    Dice dice(autograd::Rng(seed).fork("decode"));
    std::string all;
    const auto add = [&](const Ids& ids) {
        for (const int32_t id : ids)
            all += autograd::join(id, ' ');
        all += '\n';
    };
    const auto add_all = [&](const std::vector<models::Hypothesis>& found) {
        for (const models::Hypothesis& h : found) {
            all += autograd::join(std::bit_cast<uint64_t>(h.log_probability), ' ',
                                  std::bit_cast<uint64_t>(h.score), ' ', h.finished, ": ");
            add(h.ids);
        }
    };
    add_all(greedy(*start(model, texts, cached), 4 + dice.below(8)));
    models::BeamOptions beam = {.beam = 1 + dice.below(4), .max_tokens = 3 + dice.below(7)};
    beam.n_best = 1 + dice.below(beam.beam);
    beam.alpha = dice.one_of<double>({0, 0.6, 1});
    for (const std::vector<models::Hypothesis>& best : beam_search(*start(model, texts, cached), beam))
        add_all(best);
    models::GenerationOptions generation = {.max_tokens = 5 + dice.below(8), .slide = false};
    generation.sampling = {.temperature = dice.one_of<double>({0, 0.7, 1, 2}),
                           .top_k = dice.below(6),
                           .top_p = dice.one_of<double>({0.5, 0.9, 1}),
                           .repetition_penalty = dice.one_of<double>({1, 1.3})};
    for (const Ids& ids : generate(*start(model, texts, cached), autograd::Rng(seed), generation))
        add(ids);
    return all;
}

}  // namespace plaingrad::tests
