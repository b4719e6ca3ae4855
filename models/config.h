// Everything that can differ between two models, as one plain value.
#pragma once

#include <optional>

#include "models/text/specials.h"
#include "nn/attention.h"
#include "nn/feed_forward.h"
#include "nn/norm.h"
#include "nn/positional_encoding.h"

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

// The models: what a configuration describes, and what a saved file holds.
enum class Kind {
    encoder_decoder,  // Transformer
    causal,           // LanguageModel
    masked,           // MaskedLanguageModel
    classifier,       // Classifier
    encoder,          // TextEncoder
    count
};
inline constexpr const char* kKindNames[] = {"translation model", "language model", "masked language model",
                                             "classifier", "text encoder"};
inline const char* name_of(Kind kind) { return kKindNames[static_cast<std::size_t>(kind)]; }

// How a classifier makes one vector of those of all positions.
enum class Pooling {
    mean,    // of the real tokens, padding not counted
    first,   // the first position's: each text must then start with a special token (BERT's [CLS]; here kSos)
    pooler,  // the first position's, through a linear layer and tanh, as in BERT
    count
};
inline constexpr const char* kPoolingNames[] = {"mean", "first", "pooler"};

// Probabilities of dropping an element, by place.
struct DropoutRates {
    Real embeddings = Real(0.1);  // embedding + position, §5.4
    Real sublayers = Real(0.1);   // each sub-layer's output, before it is added, §5.4
    Real feed_forward = 0;        // between the two layers of the feed-forward
    Real attention = 0;           // the attention weights
};

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

    template <class Self, class Field>
    static void fields(Self& c, Field& field) {
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

// One model of any kind. The defaults are the base model of "Attention Is All You Need", Table 3; presets.h
// has others as they were published. The fields of other kinds of models change nothing.
//
// There is one visit of the fields, `Config::fields(config, field)`, which calls field("name", config.member)
// for each of them, with the names of the values for an enum. config.json is read and written by such a visit
// (models/hugging_face/config.cpp). A new field must be added to it: a test counts the fields. `Self` is the
// struct, const or not.
struct Config {
    Kind kind = Kind::encoder_decoder;  // set by the model that is built
    int64_t src_vocabulary = 0;         // of an encoder-decoder's source
    int64_t vocabulary = 0;             // of its target, or of the only text; ids are 0 .. vocabulary - 1
    int64_t max_length = 512;           // of each text, in tokens
    Specials specials = {};             // of all vocabularies

    int64_t n_layers = 6;          // of the encoder, or of the only stack
    int64_t n_decoder_layers = 6;  // of an encoder-decoder
    bool final_norm = false;       // a norm after the last layer of each stack, whatever the placement
    bool embedding_norm = false;   // a norm of embedding + position, as in BERT
    // Which of the matrices between ids and vectors are one; both: all three, the paper, §3.4.
    bool embeddings_tied = false;  // source and target embedding
    bool tied = false;             // output layer and (target) embedding (Press & Wolf 2017)
    int64_t token_types = 0;       // vectors that say which text of a pair a token is of, as in BERT; 0: none

    BlockConfig block = {};  // of all stacks

    // Of a classifier.
    int64_t classes = 0;
    Pooling pooling = Pooling::mean;
    Real pooled_dropout = -1;  // of the pooled vector; -1: as the sub-layers

    // The same for another kind of model.
    Config as(Kind other) const {
        Config c = *this;
        c.kind = other;
        return c;
    }

    template <class Self, class Field>
    static void fields(Self& c, Field& field) {
        field("kind", c.kind, kKindNames);
        field("src_vocabulary", c.src_vocabulary);
        field("vocabulary", c.vocabulary);
        field("max_length", c.max_length);
        Specials::fields(c.specials, field);
        field("n_layers", c.n_layers);
        field("n_decoder_layers", c.n_decoder_layers);
        field("final_norm", c.final_norm);
        field("embedding_norm", c.embedding_norm);
        field("embeddings_tied", c.embeddings_tied);
        field("tied", c.tied);
        field("token_types", c.token_types);
        BlockConfig::fields(c.block, field);
        field("classes", c.classes);
        field("pooling", c.pooling, kPoolingNames);
        field("pooled_dropout", c.pooled_dropout);
    }
};

inline nn::NormOptions norm_options(const Config& c) {
    return {.kind = c.block.norm_kind, .eps = c.block.norm_eps, .bias = c.block.norm_bias};
}

inline int64_t head_size(const BlockConfig& c) { return c.head_dim > 0 ? c.head_dim : c.d_model / c.n_heads; }

// Returns its argument. Throws Error, naming the field, for a model of this kind that cannot be built.
const Config& check_config(const Config& config);

// How a model is opened, ours or one of others (models/saved.h).
struct OpenOptions {
    // Only to compute with: the matrices of all Linears and the tables of tokens are packed
    // (autograd/weight.h), each as soon as it has been read, so that only one at a time is in memory as
    // float32. They take 4 bytes a number, in bf16 2, instead of 8 and 6 with a copy for decoding. Bits stay,
    // but that in bf16 an embedding's vectors are rounded, too. Packed weights are frozen; to train, save or
    // clone the model throws Error.
    bool packed = false;
    std::optional<Precision> precision = {};  // to compute in; else the model's own
    Rng rng = Rng(0);  // for dropout, if training continues: the one that the model was built with
};

// A lower bound of the number of parameters, known before anything is allocated: small ones (norms, biases)
// and a separate output layer are not counted. With it a config.json that asks for more memory than there is
// can be refused. In double, which holds any product of sizes.
double least_parameters(const Config& config);

}  // namespace plaingrad::models
