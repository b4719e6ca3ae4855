#include "models/classifier.h"

#include "models/saved.h"

namespace plaingrad::models {

const ClassifierConfig& check_config(const ClassifierConfig& c) {
    check_config(c.stack);
    check(c.classes >= 2, "[config] a classifier needs at least two classes: got ", c.classes);
    check(c.pooled_dropout == -1 || (c.pooled_dropout >= 0 && c.pooled_dropout < 1),
          "[config] pooled_dropout must be in [0, 1), or -1: got ", c.pooled_dropout);
    to_metadata(c);  // throws for a value of an enum that has no name
    return c;
}

double least_parameters(const ClassifierConfig& c) {
    return least_parameters(c.stack) +
           static_cast<double>(c.classes) * static_cast<double>(c.stack.block.d_model);
}

Classifier::Classifier(const ClassifierConfig& c, const Rng& rng_)
    : config(check_config(c)),
      rng(rng_),
      backbone(c.stack, rng_.fork("backbone")),
      dropout(c.pooled_dropout < 0 ? c.stack.block.dropout.sublayers : c.pooled_dropout,
              rng_.fork("dropout")),
      output(c.stack.block.d_model, c.classes, rng_.fork("output"), {.init = c.stack.block.init}) {
    if (c.pooling == Pooling::pooler)
        pooler.emplace(c.stack.block.d_model, c.stack.block.d_model, rng_.fork("pooler"),
                       nn::LinearOptions{.init = c.stack.block.init});
}

Tensor Classifier::operator()(const Tokens& ids, const Mode& mode, const Tokens& types) const {
    const UsePrecision precision(config.stack.block.precision);
    const Tensor x = backbone(ids, hiding_padding(ids), mode, types);  // (B, T, d_model)
    const Tensor pooled = config.pooling == Pooling::mean ? nn::mean_of_tokens(x, ids.lengths())
                          : pooler                        ? autograd::tanh((*pooler)(nn::first_token(x)))
                                                          : nn::first_token(x);  // (B, d_model)
    return output(dropout(pooled, mode));                 // (B, classes)
}

}  // namespace plaingrad::models
