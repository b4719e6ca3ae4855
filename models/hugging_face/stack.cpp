#include "models/hugging_face/stack.h"

#include <tuple>

#include "models/hugging_face/keys.h"
#include "models/presets.h"
#include "models/saved.h"

namespace plaingrad::models::hugging_face {
namespace {

StackConfig usual(Family family) {
    return family == Family::gpt2 ? gpt2() : family == Family::bert ? bert() : llama();
}

// Fields of StackConfig that no config.json has.
bool is_ours_alone(const std::string& field) {
    return field.starts_with("config.dropout.") || field == "config.never" || field == "config.start" ||
           field == "config.init" || field == "config.precision";
}

}  // namespace

StackConfig stack(const Config& c) {
    StackConfig s = usual(c.family);
    std::tie(s.vocabulary, s.max_length, s.n_layers) = std::tie(c.vocabulary, c.max_length, c.n_layers);
    s.specials = {.start = c.start >= 0     ? c.start
                           : c.ends.empty() ? 0
                                            : c.ends[0],
                  .ends = c.ends,
                  .pad = c.pad >= 0 ? c.pad : Tokens::kNoPadding,
                  .never = {}};
    std::tie(s.tied, s.token_types) = std::tie(c.tied, c.token_types);
    BlockConfig& b = s.block;
    std::tie(b.d_model, b.n_heads, b.n_kv_heads, b.head_dim) =
        std::tie(c.d_model, c.n_heads, c.n_kv_heads, c.head_dim);
    std::tie(b.d_ff, b.activation, b.rotary) = std::tie(c.d_ff, c.activation, c.rope);
    std::tie(b.attention_bias, b.attention_out_bias, b.feed_forward_bias) =
        std::tie(c.qkv_bias, c.attention_out_bias, c.feed_forward_bias);
    b.norm_eps = static_cast<Real>(c.norm_eps);
    b.dropout = c.dropout;
    return s;
}

Config config_of(const StackConfig& s, Family family, Head head) {
    const BlockConfig& b = s.block;
    Config c = defaults(family);
    std::tie(c.family, c.head, c.tied, c.token_types) = std::tie(family, head, s.tied, s.token_types);
    std::tie(c.vocabulary, c.max_length, c.n_layers) = std::tie(s.vocabulary, s.max_length, s.n_layers);
    c.max_positions = c.max_length;
    std::tie(c.d_model, c.n_heads, c.d_ff) = std::tie(b.d_model, b.n_heads, b.d_ff);
    c.n_kv_heads = b.n_kv_heads > 0 ? b.n_kv_heads : b.n_heads;
    c.head_dim = head_size(b);
    check((of(family) & kRotary) != 0 || (c.n_kv_heads == c.n_heads && c.head_dim * c.n_heads == c.d_model),
          "[hugging_face] in ", kFamilyNames[static_cast<int>(family)],
          " n_kv_heads is n_heads, and head_dim is d_model / n_heads: this model has n_kv_heads ",
          c.n_kv_heads, ", n_heads ", c.n_heads, ", head_dim ", c.head_dim, " and d_model ", c.d_model);
    std::tie(c.activation, c.rope, c.dropout) = std::tie(b.activation, b.rotary, b.dropout);
    c.norm_eps = static_cast<double>(b.norm_eps);
    if (family == Family::llama) {  // the others have the same biases always
        c.qkv_bias = c.attention_out_bias = b.attention_bias;
        c.feed_forward_bias = b.feed_forward_bias;
    }
    c.rope.width = 0;
    std::tie(c.start, c.ends, c.pad) = std::tie(s.specials.start, s.specials.ends, s.specials.pad);

    // All else must be what the family has: what config.json cannot say would be lost.
    StackConfig given = s, known = stack(c);
    given.block.n_kv_heads = c.n_kv_heads;
    given.block.head_dim = c.head_dim;
    given.block.attention_out_bias = b.attention_bias && b.attention_out_bias;
    const Metadata is = to_metadata(given), must_be = to_metadata(known);
    for (const auto& [field, value] : is)
        check(is_ours_alone(field) || must_be.at(field) == value, "[hugging_face] in ",
              kFamilyNames[static_cast<int>(family)], " ", field.substr(7), " is ", must_be.at(field),
              ": this model has ", value);
    return c;
}

}  // namespace plaingrad::models::hugging_face
