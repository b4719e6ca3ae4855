// The encoder-only masked language model predicts tokens that are masked. Devlin et al. 2019 (BERT), §3.1.
#pragma once

#include "models/families/backbone.h"
#include "nn/linear.h"

namespace plaingrad::models {

struct MaskedLanguageModel {
    // rng: of the initial values, e.g. Rng(seed). Throws Error for a configuration that cannot be built.
    MaskedLanguageModel(const Config& config, const Rng& rng);

    // ids (B, T), some of them masked -> logits (B, T, V); row t predicts the token at position t, from all
    // positions. Padding is hidden as keys. types (B, T), for a model with token types (config.token_types):
    // 0 or 1 for each token, of the first or the second text of a pair; Tokens(): all are 0. Throws Error for
    // a text without any token.
    Tensor operator()(const Tokens& ids, const Mode& mode, const Tokens& types = {}) const;

    // Only n rows of these logits, the same bit for bit: places, b*T + t each -> (n, V). Throws Error for a
    // place that is not there.
    Tensor logits_at(const Tokens& ids, const std::vector<int32_t>& places, const Mode& mode) const;

    // cross_entropy((*this)(ids, mode), targets), targets (B, T) with padding where nothing is predicted (see
    // text::mask_tokens). Computes logits only where something is, and never has all of these in memory.
    Tensor loss(const Tokens& ids, const Tokens& targets, const Mode& mode) const;

    void visit(Visitor& v) const {
        v("backbone", backbone);
        v("transform", transform);
        v("norm", norm);
        v("output", output);
    }

    static constexpr Kind kKind = Kind::masked;

    Config config;
    Rng rng;
    Backbone backbone;
    nn::Linear transform;  // d_model -> d_model; BERT puts this, an activation and a norm before the output
    nn::Norm norm;
    OutputLayer output;

private:
    // What the output layer reads: x (..., d_model) -> (..., d_model), and for these places (1, n, d_model).
    Tensor transformed(const Tensor& x) const;
    Tensor transformed_at(const Tokens& ids, const std::vector<int32_t>& places, const Mode& mode) const;
};

}  // namespace plaingrad::models
