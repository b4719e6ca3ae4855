// The encoder-decoder Transformer. "Attention Is All You Need", Fig. 1.
#pragma once

#include "models/config.h"
#include "models/decoding/decoding.h"
#include "models/families/decoder.h"
#include "models/families/embedding.h"
#include "models/families/encoder.h"

namespace plaingrad::models {

struct Transformer {
    // rng: of the initial values, e.g. Rng(seed). Throws Error for a configuration that cannot be built.
    Transformer(const Config& config, const Rng& rng);

    // src (B, S) -> memory (B, S, d_model). Padding is hidden as keys. Throws Error for a source without any
    // token.
    Tensor encode(const Tokens& src, const Mode& mode) const {
        return encode(src, hiding_padding(src), mode);
    }
    // The same with a mask of your own.
    Tensor encode(const Tokens& src, const Mask& mask, const Mode& mode) const;

    // tgt (B, T) -> logits (B, T, V); row t predicts what follows position t, from positions 0 .. t.
    Tensor decode(const Tokens& tgt, const Tensor& memory, const Mask& memory_mask, const Mode& mode) const {
        return decode(tgt, memory, Mask::padding(tgt).and_causal(), memory_mask, mode);
    }
    Tensor decode(const Tokens& tgt, const Tensor& memory, const Mask& self_mask, const Mask& memory_mask,
                  const Mode& mode) const;

    // Both halves, as in training (teacher forcing): tgt is what the decoder reads, the start first.
    Tensor operator()(const Tokens& src, const Tokens& tgt, const Mode& mode) const;

    // cross_entropy((*this)(src, tgt, mode), targets, options), but never with all logits in memory at once.
    Tensor loss(const Tokens& src, const Tokens& tgt, const Tokens& targets, const Mode& mode,
                const CrossEntropyOptions& options = {}) const;

    // Decoding token by token (models/decoding/decoding.h): translations of src (B, S), which begin with the
    // configuration's start, or with these prompts (B, T).
    std::unique_ptr<Stepper> start(const Tokens& src) const;
    std::unique_ptr<Stepper> start(const Tokens& src, const Tokens& prompts) const;

    void visit(Visitor& v) const {
        v("src_embedding", src_embedding);
        v("tgt_embedding", tgt_embedding);
        v("encoder", encoder);
        v("decoder", decoder);
        v("output", output);
    }

    static constexpr Kind kKind = Kind::encoder_decoder;

    Config config;
    Rng rng;
    InputEmbedding src_embedding, tgt_embedding;
    Encoder encoder;
    Decoder decoder;
    OutputLayer output;
};

}  // namespace plaingrad::models
