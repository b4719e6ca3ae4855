// The encoder-only model without an output layer: the vectors of a text, for other programs. Devlin et al.
// 2019 (BERT).
#pragma once

#include "models/families/backbone.h"
#include "nn/linear.h"

namespace plaingrad::models {

struct TextEncoder {
    // rng: of the initial values, e.g. Rng(seed). Throws Error for a configuration that cannot be built.
    TextEncoder(const Config& config, const Rng& rng);

    // ids (B, T) -> (B, T, d_model). types (B, T), for a model with token types (config.token_types): 0 or 1
    // for each token, of the first or the second text of a pair; Tokens(): all are 0. Throws Error for a text
    // without any token.
    Tensor operator()(const Tokens& ids, const Mode& mode, const Tokens& types = {}) const;

    // One vector for the whole text: x (B, T, d_model), what operator() returned -> (B, d_model), the first
    // position's through a linear layer and tanh. BERT's first token, [CLS], is there for this: the pooler
    // was trained to say whether two texts follow each other. To compare texts, the mean of all positions is
    // often better.
    Tensor pooled(const Tensor& x) const;

    void visit(Visitor& v) const {
        v("backbone", backbone);
        v("pooler", pooler);
    }

    static constexpr Kind kKind = Kind::encoder;

    Config config;
    Rng rng;
    Backbone backbone;
    nn::Linear pooler;  // d_model -> d_model
};

}  // namespace plaingrad::models
