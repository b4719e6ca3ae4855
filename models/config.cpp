#include "models/config.h"

#include <algorithm>
#include <cmath>

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

// So small that the product of two fits into 64 bits.
static void check_sizes(int64_t least, std::initializer_list<std::pair<const char*, int64_t>> sizes) {
    for (const auto& [name, size] : sizes)
        check(size >= least && size <= INT32_MAX, "[config] ", name, " must be between ", least, " and ",
              INT32_MAX, ": got ", size);
}

static void check_block(const BlockConfig& c) {
    check_sizes(1, {{"d_model", c.d_model}, {"d_ff", c.d_ff}, {"n_heads", c.n_heads}});
    check_sizes(0, {{"n_kv_heads", c.n_kv_heads}, {"head_dim", c.head_dim}});
    check(c.head_dim > 0 || c.d_model % c.n_heads == 0, "[config] d_model = ", c.d_model,
          " must be a multiple of n_heads = ", c.n_heads, ", unless head_dim says how wide a head is");
    check(c.n_kv_heads == 0 || c.n_heads % c.n_kv_heads == 0, "[config] n_heads = ", c.n_heads,
          " must be a multiple of n_kv_heads = ", c.n_kv_heads);
    // Those of a model without rotary positions, too: they are saved with it.
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
    check_sizes(1, {{"vocabulary", c.vocabulary}, {"max_length", c.max_length}});
    check_sizes(pair ? 1 : 0, {{"src_vocabulary", c.src_vocabulary}});
    check_sizes(
        0,
        {{"n_layers", c.n_layers}, {"n_decoder_layers", c.n_decoder_layers}, {"token_types", c.token_types}});
    check_specials(c.specials, pair ? std::min(c.src_vocabulary, c.vocabulary) : c.vocabulary);
    check_block(c.block);
    // Sinusoids and rotary turns are computed, and in no file, so a few bytes of one could ask for gigabytes.
    // Their table has at most 2^22 numbers (16 MiB), or as many as the model.
    const auto width = static_cast<double>(c.block.positions == nn::Positions::sinusoidal ? c.block.d_model
                                           : c.block.positions == nn::Positions::rotary   ? head_size(c.block)
                                                                                          : 0);
    check(static_cast<double>(c.max_length) * width <= std::max(0x1p22, least_parameters(c)),
          "[config] max_length = ", c.max_length,
          " makes a table of positions that is larger than the model");
    check(!pair || (c.token_types == 0 && !c.embedding_norm),
          "[config] token_types and embedding_norm are for models with one stack");
    check(!pair || !c.embeddings_tied || c.src_vocabulary == c.vocabulary,
          "[config] to share embeddings, both vocabularies must have the same size: got ", c.src_vocabulary,
          " and ", c.vocabulary);
    check(c.kind != Kind::classifier || c.classes >= 2,
          "[config] a classifier needs at least two classes: got ", c.classes);
    check(c.pooled_dropout == -1 || (c.pooled_dropout >= 0 && c.pooled_dropout < 1),
          "[config] pooled_dropout must be in [0, 1), or -1: got ", c.pooled_dropout);
    return c;
}

// An attention has four matrices: those of queries and of the output, of keys and of values. A feed-forward
// has two or three matrices of d · d_ff numbers. A decoder layer has two attentions.
double least_parameters(const Config& c) {
    const BlockConfig& b = c.block;
    const bool pair = c.kind == Kind::encoder_decoder, classifies = c.kind == Kind::classifier;
    const auto real = [](int64_t n) { return static_cast<double>(n); };
    const double d = real(b.d_model), kv_heads = real(b.n_kv_heads > 0 ? b.n_kv_heads : b.n_heads);
    const double attention = 2 * d * (real(b.n_heads) + kv_heads) * real(head_size(b));
    const double decoder = pair ? real(c.n_decoder_layers) : 0;
    const double rows = (pair ? std::max(real(c.src_vocabulary), real(c.vocabulary)) : real(c.vocabulary)) +
                        real(c.token_types) +
                        (b.positions == nn::Positions::learned ? real(c.max_length) : 0) +
                        (classifies ? real(c.classes) : 0);
    return rows * d + decoder * attention +
           (real(c.n_layers) + decoder) * (attention + (b.gated ? 3 : 2) * d * real(b.d_ff));
}

}  // namespace plaingrad::models
