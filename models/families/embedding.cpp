#include "models/families/embedding.h"

#include <cmath>

namespace plaingrad::models {

static Real root_of(int64_t d_model) { return static_cast<Real>(std::sqrt(static_cast<double>(d_model))); }

InputEmbedding::InputEmbedding(const Config& c, int64_t vocabulary, const Rng& rng)
    : tokens(vocabulary, c.block.d_model, rng.fork("tokens"), c.block.init),
      positions(c.block.positions, c.max_length, c.block.d_model, rng.fork("positions"), c.block.init),
      dropout(c.block.dropout.embeddings, rng.fork("dropout")),
      scale(c.block.scale_embeddings ? root_of(c.block.d_model) : 1) {
    if (c.token_types > 0)
        types.emplace(c.token_types, c.block.d_model, rng.fork("types"), c.block.init);
    if (c.embedding_norm)
        norm.emplace(c.block.d_model, norm_options(c));
}

Tensor InputEmbedding::operator()(const Tokens& ids, const Mode& mode, int64_t first,
                                  const Tokens& of_types) const {
    const bool given = of_types.batch() > 0;
    check(!given || (types && of_types.batch() == ids.batch() && of_types.length() == ids.length()),
          "[embedding] token types are for models that have some, one for each id (B, T)");
    Tensor x = positions(tokens(ids) * scale, mode, first);  // (B, T, d_model)
    if (types)  // (B, T, d_model), or one vector for all: (1, 1, d_model)
        x = x + (*types)(given ? of_types : Tokens(1, 1, {0}));
    if (norm)
        x = (*norm)(x);
    return dropout(x, mode);
}

OutputLayer::OutputLayer(const Config& c, const nn::Embedding& embedding, const Rng& rng)
    : table(c.tied ? embedding.table.share()
                   : nn::Parameter(nn::initial_matrix(c.block.init, {c.vocabulary, c.block.d_model},
                                                      c.block.d_model, c.vocabulary, rng.fork("weight")))) {
    if (c.block.output_bias)
        bias = nn::Parameter(nn::initial_bias(c.block.init, c.block.d_model, c.vocabulary, rng.fork("bias")));
}

}  // namespace plaingrad::models
