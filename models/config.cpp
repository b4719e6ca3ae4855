#include "models/config.h"

#include <algorithm>
#include <cmath>

#include "models/saved.h"

namespace plaingrad::models {

// Another id would be looked up, or written, where there is none.
static void check_specials(const Specials& s, int64_t vocabulary) {
    const auto check_ids = [&](const char* name, const std::vector<int32_t>& ids) {
        for (const int32_t id : ids)
            check(id >= 0 && id < vocabulary, "[config] the vocabulary has the ids 0 to ", vocabulary - 1,
                  ": got ", name, " = ", id);
    };
    check_ids("start", {s.start});
    check_ids("ends", s.ends);
    check_ids("never", s.never);
    if (s.pad != Tokens::kNoPadding)
        check_ids("pad", {s.pad});
}

// So that the product of two fits into 64 bits.
static void check_sizes(std::initializer_list<std::pair<const char*, int64_t>> sizes) {
    for (const auto& [name, size] : sizes)
        check(size < int64_t{1} << 31, "[config] ", name, " must be below 2^31: got ", size);
}

static void check_block(const BlockConfig& c) {
    check_sizes({{"d_model", c.d_model}, {"d_ff", c.d_ff}, {"n_heads", c.n_heads}, {"head_dim", c.head_dim}});
    check(c.d_model >= 1 && c.d_ff >= 1, "[config] d_model and d_ff must be at least 1: got ", c.d_model,
          " and ", c.d_ff);
    check(c.n_heads >= 1 && c.n_kv_heads >= 0 && c.head_dim >= 0,
          "[config] n_heads must be at least 1, n_kv_heads and head_dim not negative: got n_heads = ",
          c.n_heads, ", n_kv_heads = ", c.n_kv_heads, ", head_dim = ", c.head_dim);
    check(c.head_dim > 0 || c.d_model % c.n_heads == 0, "[config] d_model = ", c.d_model,
          " must be a multiple of n_heads = ", c.n_heads, ", unless head_dim says how wide a head is");
    check(c.n_kv_heads == 0 || c.n_heads % c.n_kv_heads == 0, "[config] n_heads = ", c.n_heads,
          " must be a multiple of n_kv_heads = ", c.n_kv_heads);
    // (Those of a model without rotary positions, too: a NaN among them would be saved, and no longer read.)
    nn::check_options(c.rotary, c.positions == nn::Positions::rotary ? head_size(c) : c.rotary.width);
    check(c.norm_eps > 0 && std::isfinite(c.norm_eps), "[config] norm_eps must be positive and finite: got ",
          c.norm_eps);
    const auto& [embeddings, sublayers, feed_forward, attention] = c.dropout;
    for (const auto& [name, rate] :
         {std::pair("embeddings", embeddings), std::pair("sublayers", sublayers),
          std::pair("feed_forward", feed_forward), std::pair("attention", attention)})
        check(rate >= 0 && rate < 1, "[config] dropout.", name, " must be in [0, 1): got ", rate);
}

const StackConfig& check_config(const StackConfig& c) {
    check(c.vocabulary >= 1, "[config] the vocabulary must not be empty: got ", c.vocabulary);
    check(c.max_length >= 1, "[config] max_length must be at least 1: got ", c.max_length);
    check(c.n_layers >= 0, "[config] n_layers must not be negative: got ", c.n_layers);
    check(c.token_types >= 0, "[config] token_types must not be negative: got ", c.token_types);
    check_sizes({{"vocabulary", c.vocabulary},
                 {"max_length", c.max_length},
                 {"n_layers", c.n_layers},
                 {"token_types", c.token_types}});
    check_specials(c.specials, c.vocabulary);
    check_block(c.block);
    to_metadata(c);  // throws for a value of an enum that has no name
    return c;
}

// An attention has four matrices: those of queries and of the output, of keys and of values.
static double attention_numbers(const BlockConfig& c) {
    const auto d = static_cast<double>(c.d_model), heads = static_cast<double>(c.n_heads);
    const double kv_heads = c.n_kv_heads > 0 ? static_cast<double>(c.n_kv_heads) : heads;
    return 2 * d * (heads + kv_heads) * (c.head_dim > 0 ? static_cast<double>(c.head_dim) : d / heads);
}

// rows: of the embedding. A feed-forward has two matrices of d · d_ff numbers, or three.
static double least_parameters(const BlockConfig& c, double rows, int64_t max_length, double layers) {
    const auto d = static_cast<double>(c.d_model), d_ff = static_cast<double>(c.d_ff);
    const double positions = c.positions == nn::Positions::learned ? static_cast<double>(max_length) : 0;
    return (rows + positions) * d + layers * (attention_numbers(c) + (c.gated ? 3 : 2) * d * d_ff);
}

double least_parameters(const StackConfig& c) {
    const double rows = static_cast<double>(c.vocabulary) + static_cast<double>(c.token_types);
    return least_parameters(c.block, rows, c.max_length, static_cast<double>(c.n_layers));
}

// The decoder's layers have a second attention.
double least_parameters(const TransformerConfig& c) {
    const auto decoder = static_cast<double>(c.n_decoder_layers);
    const auto rows = static_cast<double>(std::max(c.src_vocabulary, c.tgt_vocabulary));
    return least_parameters(c.block, rows, c.max_length, static_cast<double>(c.n_encoder_layers) + decoder) +
           decoder * attention_numbers(c.block);
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
          "[config] to share embeddings, both vocabularies must have the same size: got ", c.src_vocabulary,
          " and ", c.tgt_vocabulary);
    to_metadata(c);  // as above
    return c;
}

}  // namespace plaingrad::models
