#include "models/masked_language_model.h"

namespace plaingrad::models {

MaskedLanguageModel::MaskedLanguageModel(const StackConfig& c, const Rng& rng_)
    : config(c),
      rng(rng_),
      backbone(c, rng_.fork("backbone")),
      transform(c.block.d_model, c.block.d_model, rng_.fork("transform"), {.init = c.block.init}),
      norm(c.block.d_model, norm_options(c)),
      output(c, rng_.fork("output")) {
    if (c.tied)
        output.table = backbone.embedding.tokens.table.share();
}

Tensor MaskedLanguageModel::operator()(const Tokens& ids, const Mode& given, const Tokens& types) const {
    const Mode mode = given.or_in(config.block.precision);
    return logits(backbone(ids, hiding_padding(ids), mode, types), mode);  // (B, T, d_model) -> (B, T, V)
}

Tensor MaskedLanguageModel::logits(const Tensor& x, const Mode& given) const {
    const Mode mode = given.or_in(config.block.precision);
    const Tensor y = autograd::linear_activation(x, transform.weight, transform.bias, config.block.activation,
                                                 mode.precision());
    return output(norm(y), mode);  // (..., V)
}

}  // namespace plaingrad::models
