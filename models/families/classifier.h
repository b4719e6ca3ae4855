// The encoder-only classifier: which class does a text belong to?
#pragma once

#include "models/families/backbone.h"
#include "nn/linear.h"

namespace plaingrad::models {

// A configuration with an answer on top of its layers.
inline Config with_classes(Config c, int64_t classes, Pooling pooling = Pooling::mean,
                           Real pooled_dropout = -1) {
    c.kind = Kind::classifier;
    c.classes = classes;
    c.pooling = pooling;
    c.pooled_dropout = pooled_dropout;
    return c;
}

struct Classifier {
    // rng: of the initial values, e.g. Rng(seed). Throws Error for a configuration that cannot be built, also
    // for fewer than two classes.
    Classifier(const Config& config, const Rng& rng);

    // ids (B, T) -> logits (B, classes). types (B, T), for a model with token types (config.token_types): 0
    // or 1 for each token, of the first or the second text of a pair; Tokens(): all are 0. Throws Error for a
    // text without any token.
    Tensor operator()(const Tokens& ids, const Mode& mode, const Tokens& types = {}) const;

    void visit(Visitor& v) const {
        v("backbone", backbone);
        if (pooler)
            v("pooler", *pooler);
        v("output", output);
    }

    static constexpr Kind kKind = Kind::classifier;

    Config config;
    Rng rng;
    Backbone backbone;
    std::optional<nn::Linear> pooler;  // d_model -> d_model
    nn::Dropout dropout;               // of the pooled vector
    nn::Linear output;                 // d_model -> classes
};

}  // namespace plaingrad::models
