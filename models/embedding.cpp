#include "models/embedding.h"

#include <cmath>

namespace plaingrad::models {

InputEmbedding::InputEmbedding(const StackConfig& c, const Rng& rng)
    : tokens(c.vocabulary, c.d_model, rng.fork("tokens"), c.init),
      positions(c.positions, c.max_length, c.d_model, rng.fork("positions"), c.init),
      dropout(c.dropout.embeddings, rng.fork("dropout")),
      scale(c.scale_embeddings ? static_cast<Real>(std::sqrt(static_cast<double>(c.d_model))) : 1) {
    if (c.embedding_norm)
        norm.emplace(c.d_model, norm_options(c));
}

Tensor InputEmbedding::operator()(const Tokens& ids, const Mode& mode, int64_t first) const {
    const Tensor places = positions.at(ids.length(), first);  // (T, d_model)
    const Real p = norm ? 0 : dropout.rate_in(mode);
    const Tensor x = autograd::input_embedding(tokens.table, ids, scale, places, p, dropout.rng_in(mode));
    return norm ? dropout((*norm)(x), mode) : x;  // (B, T, d_model)
}

OutputLayer::OutputLayer(const StackConfig& c, const Rng& rng) {
    if (!c.tied)
        table = nn::Parameter(nn::initial_matrix(c.init, {c.vocabulary, c.d_model}, c.d_model, c.vocabulary,
                                                 rng.fork("weight")));
    if (c.output_bias)
        bias = nn::Parameter(nn::initial_bias(c.init, c.d_model, c.vocabulary, rng.fork("bias")));
}

}  // namespace plaingrad::models
