#include "models/config.h"

#include <algorithm>
#include <cmath>

#include "models/hugging_face/config.h"

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

const Config& check_config(const Config& c) {
    const bool pair = c.kind == Kind::encoder_decoder;
    const int64_t smaller = pair ? std::min(c.src_vocabulary, c.vocabulary) : c.vocabulary;
    check(smaller >= 1, "[config] the vocabulary must not be empty: got ", smaller);
    check(c.max_length >= 1, "[config] max_length must be at least 1: got ", c.max_length);
    for (const auto& [name, size] :
         {std::pair("n_layers", c.n_layers), std::pair("n_decoder_layers", c.n_decoder_layers),
          std::pair("token_types", c.token_types)})
        check(size >= 0, "[config] ", name, " must not be negative: got ", size);
    check_sizes({{"src_vocabulary", c.src_vocabulary},
                 {"vocabulary", c.vocabulary},
                 {"max_length", c.max_length},
                 {"n_layers", c.n_layers},
                 {"n_decoder_layers", c.n_decoder_layers},
                 {"token_types", c.token_types}});
    check_specials(c.specials, smaller);
    check_block(c.block);
    check(!pair || (c.token_types == 0 && !c.embedding_norm),
          "[config] token_types and embedding_norm are for models with one stack");
    check(!pair || !c.embeddings_tied || c.src_vocabulary == c.vocabulary,
          "[config] to share embeddings, both vocabularies must have the same size: got ", c.src_vocabulary,
          " and ", c.vocabulary);
    check(c.kind != Kind::classifier || c.classes >= 2,
          "[config] a classifier needs at least two classes: got ", c.classes);
    check(c.pooled_dropout == -1 || (c.pooled_dropout >= 0 && c.pooled_dropout < 1),
          "[config] pooled_dropout must be in [0, 1), or -1: got ", c.pooled_dropout);
    hugging_face::fields_of(c);  // throws for a value of an enum that has no name
    return c;
}

// An attention has four matrices: those of queries and of the output, of keys and of values.
static double attention_numbers(const BlockConfig& c) {
    const auto d = static_cast<double>(c.d_model), heads = static_cast<double>(c.n_heads);
    const double kv_heads = c.n_kv_heads > 0 ? static_cast<double>(c.n_kv_heads) : heads;
    return 2 * d * (heads + kv_heads) * (c.head_dim > 0 ? static_cast<double>(c.head_dim) : d / heads);
}

// A feed-forward has two or three matrices of d · d_ff numbers. A decoder layer has two attentions.
double least_parameters(const Config& c) {
    const bool pair = c.kind == Kind::encoder_decoder, classifies = c.kind == Kind::classifier;
    const auto real = [](int64_t n) { return static_cast<double>(n); };
    const double d = real(c.block.d_model), attention = attention_numbers(c.block);
    const double decoder = pair ? real(c.n_decoder_layers) : 0;
    const double rows = (pair ? std::max(real(c.src_vocabulary), real(c.vocabulary)) : real(c.vocabulary)) +
                        real(c.token_types) +
                        (c.block.positions == nn::Positions::learned ? real(c.max_length) : 0) +
                        (classifies ? real(c.classes) : 0);
    return rows * d + decoder * attention +
           (real(c.n_layers) + decoder) * (attention + (c.block.gated ? 3 : 2) * d * real(c.block.d_ff));
}

}  // namespace plaingrad::models
