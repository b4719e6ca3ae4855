// Everything that can differ between two models of one family, as one plain value.
#pragma once

#include "models/specials.h"
#include "nn/attention.h"
#include "nn/feed_forward.h"
#include "nn/norm.h"
#include "nn/positional_encoding.h"

namespace plaingrad::models {

using autograd::check;
using autograd::CrossEntropyOptions;
using nn::Mask;
using nn::Mode;
using nn::Pass;
using nn::Real;
using nn::Rng;
using nn::Shape;
using nn::Tensor;
using nn::Tokens;
using nn::Visitor;

enum class NormPlacement {
    post,  // Norm(x + Sublayer(x)): the paper, §5.4
    pre,   // x + Sublayer(Norm(x)): trains without warm-up when deep (Xiong et al. 2020)
};

// Which of the three matrices that translate between ids and vectors are one and the same.
enum class Tying {
    none,
    source_target,  // the two embeddings
    target_output,  // the target embedding and the output layer (Press & Wolf 2017)
    all,            // all three: the paper, §3.4
};

// Probabilities of dropping a number, by place.
struct DropoutRates {
    Real embeddings = Real(0.1);  // embedding + position, §5.4
    Real sublayers = Real(0.1);   // each sub-layer's output, before it is added, §5.4
    Real feed_forward = 0;        // between the two layers of the feed-forward
    Real attention = 0;           // the attention weights
};

// One stack of layers, with what stands below it and above it: the configuration of the models that have one
// stack, LanguageModel and MaskedLanguageModel, and part of Classifier's. The defaults are the paper's sizes;
// `gpt2` and `bert` in models/presets.h are the two families as they were published.
struct StackConfig {
    int64_t vocabulary = 0;    // ids are 0 .. vocabulary - 1
    int64_t max_length = 512;  // in tokens
    Specials specials = {.never = {kPad, kSos, kUnk}};

    int64_t d_model = 512;
    int64_t n_heads = 8;
    int64_t d_ff = 2048;
    int64_t n_layers = 6;

    nn::Activation activation = nn::Activation::relu;
    NormPlacement norm = NormPlacement::post;
    bool final_norm = false;  // a norm after the last layer, whatever the placement
    Real norm_eps = Real(1e-5);

    nn::Positions positions = nn::Positions::sinusoidal;
    bool scale_embeddings = true;  // by √d_model, §3.4
    bool embedding_norm = false;   // a norm of embedding + position, as in BERT
    bool tied = false;             // the output layer's matrix is the embedding's (Press & Wolf 2017)

    bool attention_bias = true, feed_forward_bias = true, norm_bias = true, output_bias = true;

    DropoutRates dropout = {};

    nn::Init init = nn::Init::xavier;
};

inline nn::NormOptions norm_options(const StackConfig& c) { return {.eps = c.norm_eps, .bias = c.norm_bias}; }

// Gives it back. Throws Error, naming the field, for a stack that cannot be built.
const StackConfig& check_config(const StackConfig& config);

// Two stacks. The defaults are the base model of "Attention Is All You Need", Table 3. (The fields that it
// has in common with StackConfig are written out in both: so that each is a flat list to fill in by name.)
struct TransformerConfig {
    int64_t src_vocabulary = 0, tgt_vocabulary = 0;  // ids are 0 .. vocabulary - 1
    int64_t max_length = 512;                        // of source and target, in tokens
    Specials specials = {};                          // of both vocabularies

    int64_t d_model = 512;
    int64_t n_heads = 8;
    int64_t d_ff = 2048;
    int64_t n_encoder_layers = 6, n_decoder_layers = 6;

    nn::Activation activation = nn::Activation::relu;
    NormPlacement norm = NormPlacement::post;
    bool final_norms = false;  // a norm after the last layer of each stack, whatever the placement
    Real norm_eps = Real(1e-5);

    nn::Positions positions = nn::Positions::sinusoidal;
    bool scale_embeddings = true;  // by √d_model, §3.4
    Tying tying = Tying::none;

    bool attention_bias = true, feed_forward_bias = true, output_bias = true;

    DropoutRates dropout = {};

    nn::Init init = nn::Init::xavier;
};

const TransformerConfig& check_config(const TransformerConfig& config);

StackConfig encoder_stack(const TransformerConfig& config);
StackConfig decoder_stack(const TransformerConfig& config);

}  // namespace plaingrad::models
