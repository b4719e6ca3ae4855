#include "models/families/classifier.h"

#include "nn/pooling.h"

namespace plaingrad::models {

Classifier::Classifier(const Config& c, const Rng& rng_)
    : config(check_config(c.as(kKind))),
      rng(rng_),
      backbone(c, rng_.fork("backbone")),
      dropout(c.pooled_dropout < 0 ? c.block.dropout.sublayers : c.pooled_dropout, rng_.fork("dropout")),
      output(c.block.d_model, c.classes, rng_.fork("output"), {.init = c.block.init}) {
    if (c.pooling == Pooling::pooler)
        pooler.emplace(c.block.d_model, c.block.d_model, rng_.fork("pooler"),
                       nn::LinearOptions{.init = c.block.init});
}

Tensor Classifier::operator()(const Tokens& ids, const Mode& mode, const Tokens& types) const {
    const UsePrecision precision(config.block.precision);
    const Tensor x = backbone(ids, hiding_padding(ids), mode, types);  // (B, T, d_model)
    const Tensor pooled = config.pooling == Pooling::mean ? nn::mean_of_tokens(x, ids.lengths())
                          : pooler                        ? autograd::tanh((*pooler)(nn::first_token(x)))
                                                          : nn::first_token(x);  // (B, d_model)
    return output(dropout(pooled, mode));                 // (B, classes)
}

}  // namespace plaingrad::models
