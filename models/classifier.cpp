#include "models/classifier.h"

namespace plaingrad::models {

const ClassifierConfig& check_config(const ClassifierConfig& c) {
    check_config(c.stack);
    check(c.classes >= 2, "[config] a classifier needs at least two classes: got ", c.classes);
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
      dropout(c.stack.block.dropout.sublayers, rng_.fork("dropout")),
      output(c.stack.block.d_model, c.classes, rng_.fork("output"), {.init = c.stack.block.init}) {}

Tensor Classifier::operator()(const Tokens& ids, const Mode& given) const {
    const Mode mode = given.or_in(config.stack.block.precision);
    const Tensor x = backbone(ids, hiding_padding(ids), mode);  // (B, T, d_model)
    const Tensor pooled =
        config.pooling == Pooling::mean
            ? nn::mean_of_tokens(x, ids.lengths())
            : autograd::reshape(autograd::slice(x, 1, 0, 1), {ids.batch(), x.size(2)});  // (B, d_model)
    return output(dropout(pooled, mode), mode);                                          // (B, classes)
}

}  // namespace plaingrad::models
