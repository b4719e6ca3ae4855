// The two ends of a model: from ids to vectors, and from vectors to logits.
// "Attention Is All You Need", Fig. 1 bottom and top, §3.4, §3.5.
#pragma once

#include <optional>

#include "models/config.h"
#include "nn/dropout.h"
#include "nn/embedding.h"
#include "nn/norm.h"

namespace plaingrad::models {

// Embedding (times √d_model), plus position, (plus token type, norm,) dropout. §5.4
struct InputEmbedding {
    InputEmbedding(const Config& config, int64_t vocabulary, const Rng& rng);
    // ids (B, T), the first of them at position `first` -> (B, T, d_model). types (B, T): the token types,
    // with config.token_types; Tokens(): all of them are 0.
    Tensor operator()(const Tokens& ids, const Mode& mode, int64_t first = 0, const Tokens& types = {}) const;
    void visit(Visitor& v) const {
        v("tokens", tokens);
        v("positions", positions);
        if (types)
            v("types", *types);
        if (norm)
            v("norm", *norm);
    }

    nn::Embedding tokens;
    nn::PositionalEncoding positions;
    std::optional<nn::Embedding> types;
    std::optional<nn::Norm> norm;
    nn::Dropout dropout;
    Real scale;
};

// x (B, T, d_model) -> logits (B, T, V). The softmax is in the loss.
struct OutputLayer {
    // With config.tied it shares the embedding's table.
    OutputLayer(const Config& config, const nn::Embedding& embedding, const Rng& rng);
    Tensor operator()(const Tensor& x) const { return autograd::linear_transposed(x, table, bias); }
    // The cross-entropy of the logits, which are never all in memory at once.
    Tensor loss(const Tensor& x, const Tokens& targets, const CrossEntropyOptions& options) const {
        return autograd::linear_cross_entropy(x, table, bias, targets, options);
    }
    void visit(Visitor& v) const {
        v.table("table", table);
        v("bias", bias);
    }

    nn::Parameter table;  // (V, d_model), like an embedding's, so that the two can be shared
    nn::Parameter bias;   // (V), or absent
};

}  // namespace plaingrad::models
