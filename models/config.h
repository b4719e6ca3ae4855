// Everything that can differ between two models of one family, as one plain value.
#pragma once

#include <iterator>

#include "models/text/specials.h"
#include "nn/attention.h"
#include "nn/feed_forward.h"
#include "nn/norm.h"
#include "nn/positional_encoding.h"
#include "nn/rotary.h"

namespace plaingrad::models {

using autograd::check;
using autograd::CrossEntropyOptions;
using autograd::Precision;
using autograd::UsePrecision;
using nn::Mask;
using nn::Mode;
using nn::Pass;
using nn::Real;
using nn::Rng;
using nn::Shape;
using nn::Tensor;
using nn::Tokens;
using nn::Visitor;
using text::contains;
using text::Specials;
using enum text::SpecialId;  // kPad, kSos, kEos, kUnk, kFirstFreeId

enum class NormPlacement {
    post,  // Norm(x + Sublayer(x)): the paper, §3.1
    pre,   // x + Sublayer(Norm(x)): trains without warm-up when deep (Xiong et al. 2020)
    count
};
inline constexpr const char* kNormPlacementNames[] = {"post", "pre"};
static_assert(std::size(kNormPlacementNames) == static_cast<std::size_t>(NormPlacement::count));

// Which of the three matrices between ids and vectors (two embeddings, and the output layer) are shared.
enum class Tying {
    none,
    source_target,  // the two embeddings
    target_output,  // the target embedding and the output layer (Press & Wolf 2017)
    all,            // all three: the paper, §3.4
    count
};
inline constexpr const char* kTyingNames[] = {"none", "source_target", "target_output", "all"};
static_assert(std::size(kTyingNames) == static_cast<std::size_t>(Tying::count));

// Probabilities of dropping an element, by place.
struct DropoutRates {
    Real embeddings = Real(0.1);  // embedding + position, §5.4
    Real sublayers = Real(0.1);   // each sub-layer's output, before it is added, §5.4
    Real feed_forward = 0;        // between the two layers of the feed-forward
    Real attention = 0;           // the attention weights
};

// Each configuration has one visit of its fields, `fields(config, field)`, which calls field("name",
// config.member) for each of them, with the names of the values for an enum. Saving, loading and printing are
// such visits (FieldWriter and FieldReader of nn/checkpoint/metadata.h, for instance). A new field must be
// added to the visit: a test counts the fields. Config is the struct, const or not.

// What the layers of a model are made of, in every family. The defaults are the paper's, Table 3.
struct BlockConfig {
    int64_t d_model = 512;
    int64_t n_heads = 8;
    int64_t n_kv_heads = 0;  // of keys and values, a divisor of n_heads; 0: n_heads
    int64_t head_dim = 0;    // 0: d_model / n_heads
    int64_t d_ff = 2048;

    nn::Activation activation = nn::Activation::relu;
    bool gated = false;  // the feed-forward; with silu it is SwiGLU
    NormPlacement norm = NormPlacement::post;
    nn::NormKind norm_kind = nn::NormKind::layer;
    Real norm_eps = Real(1e-5);

    nn::Positions positions = nn::Positions::sinusoidal;
    nn::RotaryOptions rotary = {};  // of rotary positions
    bool scale_embeddings = true;   // by √d_model, §3.4

    bool attention_bias = true, feed_forward_bias = true, norm_bias = true, output_bias = true;
    bool attention_out_bias = true;  // with attention_bias: false leaves them to queries, keys and values

    DropoutRates dropout = {};

    nn::Init init = nn::Init::xavier;
    Precision precision = Precision::float32;  // of products

    template <class Config, class Field>
    static void fields(Config& c, Field& field) {
        field("d_model", c.d_model);
        field("n_heads", c.n_heads);
        field("n_kv_heads", c.n_kv_heads);
        field("head_dim", c.head_dim);
        field("d_ff", c.d_ff);
        field("activation", c.activation, autograd::kActivationNames);
        field("gated", c.gated);
        field("norm", c.norm, kNormPlacementNames);
        field("norm_kind", c.norm_kind, nn::kNormKindNames);
        field("norm_eps", c.norm_eps);
        field("positions", c.positions, nn::kPositionsNames);
        field("rotary.base", c.rotary.base);
        field("rotary.width", c.rotary.width);
        field("rotary.scaling", c.rotary.scaling, nn::kRotaryScalingNames);
        field("rotary.factor", c.rotary.factor);
        field("rotary.low_frequency_factor", c.rotary.low_frequency_factor);
        field("rotary.high_frequency_factor", c.rotary.high_frequency_factor);
        field("rotary.original_length", c.rotary.original_length);
        field("scale_embeddings", c.scale_embeddings);
        field("attention_bias", c.attention_bias);
        field("attention_out_bias", c.attention_out_bias);
        field("feed_forward_bias", c.feed_forward_bias);
        field("norm_bias", c.norm_bias);
        field("output_bias", c.output_bias);
        field("dropout.embeddings", c.dropout.embeddings);
        field("dropout.sublayers", c.dropout.sublayers);
        field("dropout.feed_forward", c.dropout.feed_forward);
        field("dropout.attention", c.dropout.attention);
        field("init", c.init, nn::kInitNames);
        field("precision", c.precision, autograd::kPrecisionNames);
    }
};

// One stack of layers, with its embedding and output: the configuration of the models that have one stack,
// LanguageModel and MaskedLanguageModel, and part of Classifier's. `gpt2` and `bert` in models/presets.h are
// the two families as they were published.
struct StackConfig {
    int64_t vocabulary = 0;    // ids are 0 .. vocabulary - 1
    int64_t max_length = 512;  // in tokens
    Specials specials = {.never = {kPad, kSos, kUnk}};

    int64_t n_layers = 6;
    bool final_norm = false;      // a norm after the last layer, whatever the placement
    bool embedding_norm = false;  // a norm of embedding + position, as in BERT
    bool tied = false;            // the output layer's matrix is the embedding's (Press & Wolf 2017)
    int64_t token_types = 0;      // vectors that say which text of a pair a token is of, as in BERT; 0: none

    BlockConfig block = {};

    template <class Config, class Field>
    static void fields(Config& c, Field& field) {
        field("vocabulary", c.vocabulary);
        field("max_length", c.max_length);
        Specials::fields(c.specials, field);
        field("n_layers", c.n_layers);
        field("final_norm", c.final_norm);
        field("embedding_norm", c.embedding_norm);
        field("tied", c.tied);
        field("token_types", c.token_types);
        BlockConfig::fields(c.block, field);
    }
};

inline BlockConfig& block_of(StackConfig& c) { return c.block; }
inline const StackConfig& stack_of(const StackConfig& c) { return c; }

inline nn::NormOptions norm_options(const StackConfig& c) {
    return {.kind = c.block.norm_kind, .eps = c.block.norm_eps, .bias = c.block.norm_bias};
}

inline int64_t head_size(const BlockConfig& c) { return c.head_dim > 0 ? c.head_dim : c.d_model / c.n_heads; }

// Returns its argument. Throws Error, naming the field, for a stack that cannot be built.
const StackConfig& check_config(const StackConfig& config);

// How many numbers its large parameters have; those that are left out (norms, biases, an output layer of its
// own) are few or as many as others. It is known before anything is allocated. In double, which holds any
// product of sizes.
double least_parameters(const StackConfig& config);

// Two stacks. The defaults are the base model of "Attention Is All You Need", Table 3.
struct TransformerConfig {
    int64_t src_vocabulary = 0, tgt_vocabulary = 0;  // ids are 0 .. vocabulary - 1
    int64_t max_length = 512;                        // of source and target, in tokens
    Specials specials = {};                          // of both vocabularies

    int64_t n_encoder_layers = 6, n_decoder_layers = 6;
    bool final_norms = false;  // a norm after the last layer of each stack, whatever the placement
    Tying tying = Tying::none;

    BlockConfig block = {};  // of both stacks

    template <class Config, class Field>
    static void fields(Config& c, Field& field) {
        field("src_vocabulary", c.src_vocabulary);
        field("tgt_vocabulary", c.tgt_vocabulary);
        field("max_length", c.max_length);
        Specials::fields(c.specials, field);
        field("n_encoder_layers", c.n_encoder_layers);
        field("n_decoder_layers", c.n_decoder_layers);
        field("final_norms", c.final_norms);
        field("tying", c.tying, kTyingNames);
        BlockConfig::fields(c.block, field);
    }
};

inline BlockConfig& block_of(TransformerConfig& c) { return c.block; }

const TransformerConfig& check_config(const TransformerConfig& config);
double least_parameters(const TransformerConfig& config);

StackConfig encoder_stack(const TransformerConfig& config);
StackConfig decoder_stack(const TransformerConfig& config);

}  // namespace plaingrad::models
