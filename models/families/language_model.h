// The decoder-only language model predicts the next token. Radford et al. 2018, 2019 (GPT, GPT-2).
#pragma once

#include "models/decoding/decoding.h"
#include "models/families/backbone.h"

namespace plaingrad::models {

struct LanguageModel {
    // rng: of the initial values, e.g. Rng(seed). Throws Error for a configuration that cannot be built.
    LanguageModel(const Config& config, const Rng& rng);

    // ids (B, T) -> logits (B, T, V); row t predicts what follows position t, from positions 0 .. t.
    // Throws Error for an id outside the vocabulary, or if T is over max_length.
    Tensor operator()(const Tokens& ids, const Mode& mode) const;

    // cross_entropy((*this)(ids, mode), targets, options), but never with all logits in memory at once.
    Tensor loss(const Tokens& ids, const Tokens& targets, const Mode& mode,
                const CrossEntropyOptions& options = {}) const;

    // Starts generation from these prompts (B, T), all of one length (models/decoding/decoding.h).
    std::unique_ptr<Stepper> start(const Tokens& prompts) const;

    void visit(Visitor& v) const {
        v("backbone", backbone);
        v("output", output);
    }

    static constexpr Kind kKind = Kind::causal;

    Config config;
    Rng rng;
    Backbone backbone;
    OutputLayer output;
};

}  // namespace plaingrad::models
