#include "models/language_model.h"

namespace plaingrad::models {

LanguageModel::LanguageModel(const StackConfig& c, const Rng& rng_)
    : config(c), rng(rng_), backbone(c, rng_.fork("backbone")), output(c, rng_.fork("output")) {
    if (c.tied)
        output.table = backbone.embedding.tokens.table.share();
}

Tensor LanguageModel::operator()(const Tokens& ids, const Mode& mode, AttentionWeights* weights) const {
    const Tensor x = backbone(ids, Mask::padding(ids).and_causal(), mode, weights);  // (B, T, d_model)
    return output(x);                                                                // (B, T, V)
}

Tensor LanguageModel::loss(const Tokens& ids, const Tokens& targets, const Mode& mode,
                           const CrossEntropyOptions& options) const {
    return output.loss(backbone(ids, Mask::padding(ids).and_causal(), mode), targets, options);
}

void LanguageModel::Cache::select(const std::vector<int32_t>& rows) {
    for (SelfCache& layer : layers)
        layer.select(rows);
}

Tensor LanguageModel::step(const Tokens& ids, Cache& cache) const {
    for (const int32_t length : ids.lengths())
        check(length == ids.length(),
              "[LanguageModel] a step takes no padding, all sentences are one length");
    const autograd::NoGrad no_grad;
    cache.layers.resize(backbone.encoder.layers.size());
    const Tensor x = backbone.embedding(ids, Mode::eval(), cache.length);  // (B, T, d_model)
    const Tensor y = backbone.encoder.step(x, cache.layers);               // (B, T, d_model)
    cache.length += ids.length();
    if (!cache.table.defined())
        cache.table = output.turned();
    return output(y, cache.table);  // (B, T, V)
}

}  // namespace plaingrad::models
