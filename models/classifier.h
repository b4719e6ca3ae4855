// The encoder-only classifier: which class does a text belong to?
#pragma once

#include "models/backbone.h"
#include "nn/linear.h"
#include "nn/pooling.h"

namespace plaingrad::models {

// How the vectors of all positions become one.
enum class Pooling {
    mean,   // of the real tokens, padding not counted
    first,  // the first position's: each text must then start with a special token (BERT's [CLS]; here kSos)
    count
};
inline constexpr const char* kPoolingNames[] = {"mean", "first"};
static_assert(std::size(kPoolingNames) == static_cast<std::size_t>(Pooling::count));

struct ClassifierConfig {
    StackConfig stack = {};
    int64_t classes = 0;
    Pooling pooling = Pooling::mean;

    template <class Config, class Field>
    static void fields(Config& c, Field& field) {
        StackConfig::fields(c.stack, field);
        field("classes", c.classes);
        field("pooling", c.pooling, kPoolingNames);
    }
};

// Returns its argument. Throws Error for a classifier that cannot be built.
const ClassifierConfig& check_config(const ClassifierConfig& config);
double least_parameters(const ClassifierConfig& config);

struct Classifier {
    // rng: of the initial values, e.g. Rng(seed). Throws Error for a configuration that cannot be built, also
    // for fewer than two classes.
    Classifier(const ClassifierConfig& config, const Rng& rng);

    // ids (B, T) -> logits (B, classes). Throws Error for a text without any token.
    Tensor operator()(const Tokens& ids, const Mode& mode) const;

    void visit(Visitor& v) const {
        v("backbone", backbone);
        v("output", output);
    }

    static constexpr const char* kKind = "classifier";  // in a saved file

    ClassifierConfig config;
    Rng rng;
    Backbone backbone;
    nn::Dropout dropout;  // of the pooled vector, at the rate of the sub-layers
    nn::Linear output;    // d_model -> classes
};

}  // namespace plaingrad::models
