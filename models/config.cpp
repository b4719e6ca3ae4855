#include "models/config.h"

#include <cmath>

namespace plaingrad::models {

static void check_rate(const char* name, Real rate) {
    check(rate >= 0 && rate < 1, "[config] dropout.", name, " must be in [0, 1): got ", rate);
}

static void check_block(const BlockConfig& c) {
    check(c.d_model >= 1 && c.d_ff >= 1, "[config] d_model and d_ff must be at least 1: got ", c.d_model,
          " and ", c.d_ff);
    check(c.n_heads >= 1 && c.d_model % c.n_heads == 0, "[config] d_model = ", c.d_model,
          " must be a multiple of n_heads = ", c.n_heads);
    check(c.norm_eps > 0 && std::isfinite(c.norm_eps), "[config] norm_eps must be positive and finite: got ",
          c.norm_eps);
    check_rate("embeddings", c.dropout.embeddings);
    check_rate("sublayers", c.dropout.sublayers);
    check_rate("feed_forward", c.dropout.feed_forward);
    check_rate("attention", c.dropout.attention);
}

const StackConfig& check_config(const StackConfig& c) {
    check(c.vocabulary >= 1, "[config] the vocabulary must not be empty: got ", c.vocabulary);
    check(c.max_length >= 1, "[config] max_length must be at least 1: got ", c.max_length);
    check(c.n_layers >= 0, "[config] n_layers must not be negative: got ", c.n_layers);
    check_block(c.block);
    return c;
}

static StackConfig stack(const TransformerConfig& c, int64_t vocabulary, int64_t n_layers, bool tied) {
    return {.vocabulary = vocabulary,
            .max_length = c.max_length,
            .specials = c.specials,
            .n_layers = n_layers,
            .final_norm = c.final_norms,
            .tied = tied,
            .block = c.block};
}

StackConfig encoder_stack(const TransformerConfig& c) {
    return stack(c, c.src_vocabulary, c.n_encoder_layers, false);
}

StackConfig decoder_stack(const TransformerConfig& c) {
    const bool tied = c.tying == Tying::target_output || c.tying == Tying::all;
    return stack(c, c.tgt_vocabulary, c.n_decoder_layers, tied);
}

const TransformerConfig& check_config(const TransformerConfig& c) {
    check_config(encoder_stack(c));
    check_config(decoder_stack(c));
    const bool embeddings_tied = c.tying == Tying::source_target || c.tying == Tying::all;
    check(!embeddings_tied || c.src_vocabulary == c.tgt_vocabulary,
          "[config] to share embeddings both vocabularies must be the same: got ", c.src_vocabulary, " and ",
          c.tgt_vocabulary);
    return c;
}

}  // namespace plaingrad::models
