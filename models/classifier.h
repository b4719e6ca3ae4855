// The encoder-only classifier: which class does a text belong to?
#pragma once

#include "models/backbone.h"
#include "nn/linear.h"
#include "nn/pooling.h"

namespace plaingrad::models {

// How the vectors of all positions become one.
enum class Pooling {
    mean,    // of the real tokens, padding not counted
    first,   // the first position's: each text must then start with a special token (BERT's [CLS]; here kSos)
    pooler,  // the first position's, through a linear layer and tanh, as in BERT
    count
};
inline constexpr const char* kPoolingNames[] = {"mean", "first", "pooler"};
static_assert(std::size(kPoolingNames) == static_cast<std::size_t>(Pooling::count));

struct ClassifierConfig {
    StackConfig stack = {};
    int64_t classes = 0;
    Pooling pooling = Pooling::mean;
    Real pooled_dropout = -1;  // of the pooled vector; -1: as the sub-layers

    template <class Config, class Field>
    static void fields(Config& c, Field& field) {
        StackConfig::fields(c.stack, field);
        field("classes", c.classes);
        field("pooling", c.pooling, kPoolingNames);
        field("pooled_dropout", c.pooled_dropout);
    }
};

inline BlockConfig& block_of(ClassifierConfig& c) { return c.stack.block; }
inline const StackConfig& stack_of(const ClassifierConfig& c) { return c.stack; }

// Returns its argument. Throws Error for a classifier that cannot be built.
const ClassifierConfig& check_config(const ClassifierConfig& config);
double least_parameters(const ClassifierConfig& config);

struct Classifier {
    // rng: of the initial values, e.g. Rng(seed). Throws Error for a configuration that cannot be built, also
    // for fewer than two classes.
    Classifier(const ClassifierConfig& config, const Rng& rng);

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

    static constexpr const char* kKind = "classifier";  // in a saved file

    ClassifierConfig config;
    Rng rng;
    Backbone backbone;
    std::optional<nn::Linear> pooler;  // d_model -> d_model
    nn::Dropout dropout;               // of the pooled vector
    nn::Linear output;                 // d_model -> classes
};

}  // namespace plaingrad::models
