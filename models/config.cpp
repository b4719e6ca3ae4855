#include "models/config.h"

namespace models {

using autograd::check;

static void check_rate(const char* name, Real rate) {
    check(rate >= 0 && rate < 1, "[config] dropout.", name, " must be in [0, 1): got ", rate);
}

void check_config(const StackConfig& c) {
    check(c.vocabulary >= 1, "[config] the vocabulary must not be empty: got ", c.vocabulary);
    check(c.max_length >= 1, "[config] max_length must be at least 1: got ", c.max_length);
    check(c.d_model >= 1 && c.d_ff >= 1, "[config] d_model and d_ff must be at least 1: got ", c.d_model,
          " and ", c.d_ff);
    check(c.n_heads >= 1 && c.d_model % c.n_heads == 0, "[config] d_model = ", c.d_model,
          " must be a multiple of n_heads = ", c.n_heads);
    check(c.n_layers >= 0, "[config] layers must not be negative: got ", c.n_layers);
    check(c.norm_eps > 0, "[config] norm_eps must be positive: got ", c.norm_eps);
    check_rate("embeddings", c.dropout.embeddings);
    check_rate("sublayers", c.dropout.sublayers);
    check_rate("feed_forward", c.dropout.feed_forward);
    check_rate("attention", c.dropout.attention);
}

// What both stacks of a Transformer have in common.
static StackConfig common_stack(const TransformerConfig& c) {
    return {.max_length = c.max_length,
            .d_model = c.d_model,
            .n_heads = c.n_heads,
            .d_ff = c.d_ff,
            .activation = c.activation,
            .norm = c.norm,
            .final_norm = c.final_norms,
            .norm_eps = c.norm_eps,
            .positions = c.positions,
            .scale_embeddings = c.scale_embeddings,
            .attention_bias = c.attention_bias,
            .feed_forward_bias = c.feed_forward_bias,
            .output_bias = c.output_bias,
            .dropout = c.dropout,
            .init = c.init};
}

StackConfig encoder_stack(const TransformerConfig& c) {
    StackConfig stack = common_stack(c);
    stack.vocabulary = c.src_vocabulary;
    stack.n_layers = c.n_encoder_layers;
    return stack;
}

StackConfig decoder_stack(const TransformerConfig& c) {
    StackConfig stack = common_stack(c);
    stack.vocabulary = c.tgt_vocabulary;
    stack.n_layers = c.n_decoder_layers;
    return stack;
}

void check_config(const TransformerConfig& c) {
    check_config(encoder_stack(c));
    check_config(decoder_stack(c));
    const bool embeddings_tied = c.tying == Tying::source_target || c.tying == Tying::all;
    check(!embeddings_tied || c.src_vocabulary == c.tgt_vocabulary,
          "[config] to share embeddings both vocabularies must be the same: got ", c.src_vocabulary, " and ",
          c.tgt_vocabulary);
}

int64_t expected_parameter_count(const TransformerConfig& c) {
    const int64_t d = c.d_model;
    const int64_t attention = 4 * d * d + (c.attention_bias ? 4 * d : 0);
    const int64_t feed_forward = 2 * d * c.d_ff + (c.feed_forward_bias ? c.d_ff + d : 0);
    const int64_t norm = 2 * d;
    const int64_t encoder = c.n_encoder_layers * (attention + feed_forward + 2 * norm);
    const int64_t decoder = c.n_decoder_layers * (2 * attention + feed_forward + 3 * norm);
    const int64_t final_norms = c.final_norms ? 2 * norm : 0;
    const int64_t positions = c.positions == nn::Positions::learned ? 2 * c.max_length * d : 0;
    const int64_t src = c.src_vocabulary * d, tgt = c.tgt_vocabulary * d;
    const int64_t tables = c.tying == Tying::none            ? src + 2 * tgt
                           : c.tying == Tying::source_target ? 2 * tgt
                           : c.tying == Tying::target_output ? src + tgt
                                                             : tgt;
    return encoder + decoder + final_norms + positions + tables + (c.output_bias ? c.tgt_vocabulary : 0);
}

}  // namespace models
