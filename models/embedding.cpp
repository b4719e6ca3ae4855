#include "models/embedding.h"

#include <cmath>

#include "nn/probe.h"

namespace plaingrad::models {

InputEmbedding::InputEmbedding(const StackConfig& c, const Rng& rng)
    : tokens(c.vocabulary, c.block.d_model, rng.fork("tokens"), c.block.init),
      positions(c.block.positions, c.max_length, c.block.d_model, rng.fork("positions"), c.block.init),
      dropout(c.block.dropout.embeddings, rng.fork("dropout")),
      scale(c.block.scale_embeddings ? static_cast<Real>(std::sqrt(static_cast<double>(c.block.d_model)))
                                     : 1) {
    if (c.embedding_norm)
        norm.emplace(c.block.d_model, norm_options(c));
}

Tensor InputEmbedding::operator()(const Tokens& ids, const Mode& mode, int64_t first) const {
    const Tensor places = positions.at(ids.length(), first);  // (T, d_model), or empty
    const Real p = norm ? 0 : dropout.rate_in(mode);
    const Tensor x = autograd::input_embedding(tokens.table, ids, scale, places, p, dropout.rng_in(mode));
    nn::show(positions, places, mode);
    return norm ? dropout((*norm)(x), mode) : x;  // (B, T, d_model)
}

OutputLayer::OutputLayer(const StackConfig& c, const Rng& rng) {
    if (!c.tied)
        table = nn::Parameter(nn::initial_matrix(c.block.init, {c.vocabulary, c.block.d_model},
                                                 c.block.d_model, c.vocabulary, rng.fork("weight")));
    if (c.block.output_bias)
        bias = nn::Parameter(nn::initial_bias(c.block.init, c.block.d_model, c.vocabulary, rng.fork("bias")));
}

}  // namespace plaingrad::models
