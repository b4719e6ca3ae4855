#include "models/language_model.h"

namespace plaingrad::models {

LanguageModel::LanguageModel(const StackConfig& c, const Rng& rng_)
    : config(c), rng(rng_), backbone(c, rng_.fork("backbone")), output(c, rng_.fork("output")) {
    if (c.tied)
        output.table = backbone.embedding.tokens.table.share();
}

Tensor LanguageModel::operator()(const Tokens& ids, const Mode& given) const {
    const Mode mode = given.or_in(config.block.precision);
    const Tensor x = backbone(ids, Mask::padding(ids).and_causal(), mode);  // (B, T, d_model)
    return output(x, mode);                                                 // (B, T, V)
}

Tensor LanguageModel::loss(const Tokens& ids, const Tokens& targets, const Mode& given,
                           const CrossEntropyOptions& options) const {
    const Mode mode = given.or_in(config.block.precision);
    return output.loss(backbone(ids, Mask::padding(ids).and_causal(), mode), targets, options, mode);
}

}  // namespace plaingrad::models
