#include "models/families/language_model.h"

namespace plaingrad::models {

LanguageModel::LanguageModel(const Config& c, const Rng& rng_)
    : config(check_config(c.as(kKind))),
      rng(rng_),
      backbone(c, rng_.fork("backbone")),
      output(c, rng_.fork("output")) {
    if (c.tied)
        output.table = backbone.embedding.tokens.table.share();
}

Tensor LanguageModel::operator()(const Tokens& ids, const Mode& mode) const {
    const UsePrecision precision(config.block.precision);
    const Tensor x = backbone(ids, Mask::padding(ids).and_causal(), mode);  // (B, T, d_model)
    return output(x);                                                       // (B, T, V)
}

Tensor LanguageModel::loss(const Tokens& ids, const Tokens& targets, const Mode& mode,
                           const CrossEntropyOptions& options) const {
    const UsePrecision precision(config.block.precision);
    return output.loss(backbone(ids, Mask::padding(ids).and_causal(), mode), targets, options);
}

}  // namespace plaingrad::models
