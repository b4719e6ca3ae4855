// The encoder-decoder Transformer. "Attention Is All You Need", Fig. 1.
#pragma once

#include <memory>
#include <vector>

#include "models/config.h"
#include "models/decoder.h"
#include "models/decoding.h"
#include "models/encoder.h"
#include "nn/embedding.h"

namespace models {

// What stands below each stack in Fig. 1: embedding (times √d_model), plus position, dropout. §3.4, §3.5,
// §5.4
struct InputEmbedding {
    InputEmbedding(const TransformerConfig& config, int64_t vocabulary, const Rng& rng);
    // ids (B, T), of which the first stands at position `first` -> (B, T, d_model)
    Tensor operator()(const Tokens& ids, const Mode& mode, int64_t first = 0) const;
    void visit(Visitor& v) const {
        v("tokens", tokens);
        v("positions", positions);
    }

    nn::Embedding tokens;
    nn::PositionalEncoding positions;
    nn::Dropout dropout;
    Real scale;
};

// What stands above the decoder: x (B, T, d_model) -> logits (B, T, V). The softmax is in the loss.
// Its weight is (V, d_model), like an embedding's table, so that it can be one.
struct OutputLayer {
    OutputLayer(const TransformerConfig& config, const Rng& rng);
    Tensor operator()(const Tensor& x) const { return autograd::linear_transposed(x, weight, bias); }
    void visit(Visitor& v) const {
        v("weight", weight);
        v("bias", bias);
    }

    nn::Parameter weight;  // (V, d_model)
    nn::Parameter bias;    // (V), or absent
};

struct Transformer {
    // rng: of the initial values, e.g. Rng(seed). Throws Error for a configuration that cannot be built.
    Transformer(const TransformerConfig& config, const Rng& rng);

    // src (B, S) -> memory (B, S, d_model). Padding is hidden as keys.
    Tensor encode(const Tokens& src, const Mode& mode, AttentionWeights* weights = nullptr) const;
    // The same with a mask of your own.
    Tensor encode(const Tokens& src, const Mask& mask, const Mode& mode,
                  AttentionWeights* weights = nullptr) const;

    // tgt (B, T) -> logits (B, T, V); row t predicts what follows position t, from positions 0 .. t.
    Tensor decode(const Tokens& tgt, const Tensor& memory, const Mask& memory_mask, const Mode& mode,
                  AttentionWeights* weights = nullptr) const;
    Tensor decode(const Tokens& tgt, const Tensor& memory, const Mask& self_mask, const Mask& memory_mask,
                  const Mode& mode, AttentionWeights* weights = nullptr) const;

    // Both: teacher forcing. tgt is what the decoder reads, <sos> first.
    Tensor operator()(const Tokens& src, const Tokens& tgt, const Mode& mode,
                      AttentionWeights* weights = nullptr) const;

    // Decoding token by token, with a cache of keys and values. The model must outlive what is returned.
    std::unique_ptr<Stepper> start(const Tokens& src) const;

    void visit(Visitor& v) const {
        v("src_embedding", src_embedding);
        v("tgt_embedding", tgt_embedding);
        v("encoder", encoder);
        v("decoder", decoder);
        v("output", output);
    }

    TransformerConfig config;
    Rng rng;
    InputEmbedding src_embedding, tgt_embedding;
    Encoder encoder;
    Decoder decoder;
    OutputLayer output;
};

}  // namespace models
