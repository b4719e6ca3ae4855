// What is done with a random model of each kind: its data, its loss, its logits. A function of (seed, step).
#pragma once

#include "models/text/training_data.h"
#include "nn/training.h"
#include "tests/models/small.h"
#include "tests/trust/models/random_model.h"

namespace plaingrad::trust {

using autograd::Real;
using autograd::Rng;
using autograd::Tensor;
using autograd::Tokens;
using tests::Ids;
using tests::Sentences;

template <class Model>
struct Subject;

// 1 to 5 sentences of 1 to 9 data symbols. For some seeds many, which several threads divide among them; for
// some long ones, which fill several blocks of an attention's kernel.
inline Sentences draw_batch(uint64_t seed, uint64_t step, int64_t vocabulary, int64_t max_length) {
    Dice dice(Rng(seed).fork("batch").fork(step));
    const int64_t special = static_cast<int64_t>(Rng(seed).fork("special").below(0, 16));
    const int64_t count = special == 0 ? 24 + dice.below(20) : 1 + dice.below(5);
    const int64_t longest = special == 1 ? max_length - 3 : 9;
    std::vector<int> lengths;
    for (int64_t b = 0; b < count; ++b)
        lengths.push_back(static_cast<int>(1 + dice.below(longest)));
    return tests::sentences(lengths, seed + step, vocabulary);
}

template <class Model>
Sentences draw_batch(const Model& model, uint64_t seed, uint64_t step) {
    return draw_batch(seed, step, Subject<Model>::vocabulary(model), Subject<Model>::max_length(model));
}

inline models::CrossEntropyOptions loss_options(uint64_t seed) {
    return {.ignore = models::kPad, .label_smoothing = seed % 3 == 0 ? Real(0.125) : Real(0)};
}

// Which text of a pair each token is of: 0 for the first three positions, 1 for all later ones.
inline Tokens types_for(const Tokens& ids, int64_t token_types) {
    Ids types;
    for (int64_t b = 0; token_types > 0 && b < ids.batch(); ++b)
        for (int64_t t = 0; t < ids.length(); ++t)
            types.push_back(t >= 3);
    return token_types > 0 ? Tokens(ids.batch(), ids.length(), types) : Tokens();
}

// ---- for each kind: `configuration`, the loss of a batch, and the logits of sentences that are padded to
// `length` (0: to the longest), (B, T, V) or (B, classes)

template <>
struct Subject<models::Transformer> {
    static models::Config configuration(Dice& dice) { return draw_transformer(dice); }
    static int64_t max_length(const models::Transformer& m) { return m.config.max_length; }
    static int64_t vocabulary(const models::Transformer& m) {
        return std::min(m.config.src_vocabulary, m.config.vocabulary);
    }
    static Tensor loss(const models::Transformer& m, const Sentences& s, uint64_t seed,
                       const nn::Mode& mode) {
        Sentences reversed;
        for (const Ids& ids : s)
            reversed.emplace_back(ids.rbegin(), ids.rend());
        const Tokens tgt = tests::framed(reversed);
        return m.loss(tests::padded(s), tgt.slice(0, tgt.length() - 1), tgt.slice(1, tgt.length()), mode,
                      loss_options(seed));
    }
    static Tensor logits(const models::Transformer& m, const Sentences& s, int64_t length) {
        return m(tests::padded(s, length), tests::padded(s, length), nn::Mode::eval());
    }
};

template <>
struct Subject<models::LanguageModel> {
    static models::Config configuration(Dice& dice) {
        models::Config c = draw_stack(dice);
        c.token_types = 0;
        return c;
    }
    static int64_t max_length(const models::LanguageModel& m) { return m.config.max_length; }
    static int64_t vocabulary(const models::LanguageModel& m) { return m.config.vocabulary; }
    static Tensor loss(const models::LanguageModel& m, const Sentences& s, uint64_t seed,
                       const nn::Mode& mode) {
        const Tokens text = tests::framed(s);
        return m.loss(text.slice(0, text.length() - 1), text.slice(1, text.length()), mode,
                      loss_options(seed));
    }
    static Tensor logits(const models::LanguageModel& m, const Sentences& s, int64_t length) {
        return m(tests::padded(s, length), nn::Mode::eval());
    }
};

template <>
struct Subject<models::MaskedLanguageModel> {
    static models::Config configuration(Dice& dice) { return draw_stack(dice); }
    static int64_t max_length(const models::MaskedLanguageModel& m) { return m.config.max_length; }
    static int64_t vocabulary(const models::MaskedLanguageModel& m) { return m.config.vocabulary; }
    static Tensor loss(const models::MaskedLanguageModel& m, const Sentences& s, uint64_t,
                       const nn::Mode& mode) {
        const auto end = static_cast<int32_t>(m.config.vocabulary);
        const models::text::MaskedTokens masked =
            models::text::mask_tokens(tests::padded(s), {.end_id = end, .rate = 0.4}, mode.rng);
        return m.loss(masked.ids, masked.targets, mode);
    }
    static Tensor logits(const models::MaskedLanguageModel& m, const Sentences& s, int64_t length) {
        const Tokens ids = tests::padded(s, length);
        return m(ids, nn::Mode::eval(), types_for(ids, m.config.token_types));
    }
};

template <>
struct Subject<models::Classifier> {
    static models::Config configuration(Dice& dice) { return draw_classifier(dice); }
    static int64_t max_length(const models::Classifier& m) { return m.config.max_length; }
    static int64_t vocabulary(const models::Classifier& m) { return m.config.vocabulary; }
    static Tensor loss(const models::Classifier& m, const Sentences& s, uint64_t seed, const nn::Mode& mode) {
        const Tokens ids = tests::padded(s);
        return cross_entropy(m(ids, mode, types_for(ids, m.config.token_types)), tests::classes(s),
                             {.label_smoothing = loss_options(seed).label_smoothing});
    }
    static Tensor logits(const models::Classifier& m, const Sentences& s, int64_t length) {
        const Tokens ids = tests::padded(s, length);
        return m(ids, nn::Mode::eval(), types_for(ids, m.config.token_types));
    }
};

}  // namespace plaingrad::trust
