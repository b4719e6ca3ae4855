#include "models/families/transformer.h"

namespace plaingrad::models {

Transformer::Transformer(const Config& c, const Rng& rng_)
    : config(check_config(c.as(kKind))),
      rng(rng_),
      src_embedding(c, c.src_vocabulary, rng_.fork("src_embedding")),
      tgt_embedding(c, c.vocabulary, rng_.fork("tgt_embedding")),
      encoder(c, rng_.fork("encoder")),
      decoder(c, rng_.fork("decoder")),
      output(c, c.embeddings_tied ? src_embedding.tokens : tgt_embedding.tokens, rng_.fork("output")) {
    if (c.embeddings_tied)
        tgt_embedding.tokens.table = src_embedding.tokens.table.share();
}

Tensor Transformer::encode(const Tokens& src, const Mask& mask, const Mode& mode) const {
    const UsePrecision precision(config.block.precision);
    const Tensor x = src_embedding(src, mode);        // (B, S, d_model)
    return encoder(x, {.mask = mask, .mode = mode});  // (B, S, d_model)
}

Tensor Transformer::decode(const Tokens& tgt, const Tensor& memory, const Mask& self_mask,
                           const Mask& memory_mask, const Mode& mode) const {
    const UsePrecision precision(config.block.precision);
    const Tensor x = tgt_embedding(tgt, mode);  // (B, T, d_model)
    const Pass self = {.mask = self_mask, .mode = mode}, cross = {.mask = memory_mask, .mode = mode};
    const Tensor decoded = decoder(x, memory, self, cross);  // (B, T, d_model)
    return output(decoded);                                  // (B, T, V)
}

Tensor Transformer::operator()(const Tokens& src, const Tokens& tgt, const Mode& mode) const {
    const Tensor memory = encode(src, mode);               // (B, S, d_model)
    return decode(tgt, memory, Mask::padding(src), mode);  // (B, T, V); its own mask of tgt is causal
}

Tensor Transformer::loss(const Tokens& src, const Tokens& tgt, const Tokens& targets, const Mode& mode,
                         const CrossEntropyOptions& options) const {
    const UsePrecision precision(config.block.precision);
    // As in `decode`, but without its output layer: output.loss never has all logits in memory.
    const Tensor memory = encode(src, mode);    // (B, S, d_model)
    const Tensor x = tgt_embedding(tgt, mode);  // (B, T, d_model)
    const Pass self = {.mask = Mask::padding(tgt).and_causal(), .mode = mode};
    const Pass cross = {.mask = Mask::padding(src), .mode = mode};
    const Tensor decoded = decoder(x, memory, self, cross);  // (B, T, d_model)
    return output.loss(decoded, targets, options);           // ()
}

}  // namespace plaingrad::models
