// Multi-head attention. "Attention Is All You Need", §3.2.2, Fig. 2 right.
//
// One softmax gives each position one weighted mean of the others, so a single head can attend well to only
// one thing. Several heads, each in d_model / H dimensions of its own, attend to several things at the cost
// of one wide head.
#pragma once

#include "nn/dropout.h"
#include "nn/key_value_cache.h"
#include "nn/linear.h"
#include "nn/positional_encoding.h"

namespace plaingrad::nn {

struct MultiHeadOptions {
    int64_t n_kv_heads = 0;             // G, of keys and values; divides n_heads, H; 0: H
    int64_t head_dim = 0;               // D; 0: d_model / n_heads
    Real dropout = 0;                   // of the attention weights; the paper has none there
    bool bias = true, out_bias = true;  // out_bias: of the output; none without `bias`
    Init init = Init::xavier;
};

// The arguments of an attention besides its vectors. Layers pass them on without reading them.
struct Pass {
    Mask mask = Mask::none();
    Mode mode;
    // Turns self-attention's queries and keys (nn/positional_encoding.h); nullptr: does not. The layers of a
    // stack share one.
    const Rotary* rotary = nullptr;
    // For decoding, under NoGrad. Self-attention: holds the keys and values of the positions before those of
    // x; x's are appended, each position sees all positions up to itself, and `mask` is ignored.
    // Cross-attention: holds those of the projected memory, and the argument `memory` is ignored.
    KeyValueCache* cache = nullptr;
};

// MultiHead(q, k, v) = Concat(head_1, ..., head_H) W_O,  head_i = attention(q W_Q_i, k W_K_i, v W_V_i)
//
// With fewer heads of keys and values than of queries (grouped-query attention, Ainslie et al. 2023), several
// heads of queries read the same keys and values: counted from 0, head i reads those of head i / (H/G). A
// cache of them is smaller by H/G, and so is the time to read it, which is most of a step of decoding.
//
// Projections of one input are side by side in one matrix, and so are the heads within each of these: head i,
// counted from 0, is columns i*D to i*D + D. The attention op reads the heads in place: nothing is split,
// transposed or merged. A probe sees the attention weights.
//
// Self-attention: q = k = v = x. One product computes all three, with W_Q | W_K | W_V.
struct MultiHeadAttention {
    // Throws Error unless n_heads is a multiple of n_kv_heads, and, if head_dim is 0, d_model one of n_heads.
    MultiHeadAttention(int64_t d_model, int64_t n_heads, const Rng& rng,
                       const MultiHeadOptions& options = {});

    // x (B, T, d_model) -> (B, T, d_model)
    Tensor operator()(const Tensor& x, const Pass& pass) const;

    void visit(Visitor& v) const {
        v("in_proj", in_proj);
        v("out_proj", out_proj);
    }

    Linear in_proj;   // d_model -> (H + 2*G)*D
    Linear out_proj;  // H*D -> d_model
    Dropout dropout;
    int64_t n_heads, n_kv_heads;
};

// Cross-attention: queries are projected from x, keys and values from `memory`, another sequence. W_K | W_V
// is apart from W_Q, as keys and values do not depend on x: decoding computes them once,
// KeyValueCache(kv_proj(memory)).
struct CrossAttention {
    CrossAttention(int64_t d_model, int64_t n_heads, const Rng& rng, const MultiHeadOptions& options = {});

    // x (B, T, d_model), memory (B, S, d_model) -> (B, T, d_model)
    Tensor operator()(const Tensor& x, const Tensor& memory, const Pass& pass) const;

    void visit(Visitor& v) const {
        v("q_proj", q_proj);
        v("kv_proj", kv_proj);
        v("out_proj", out_proj);
    }

    Linear q_proj;    // d_model -> H*D
    Linear kv_proj;   // d_model -> 2*G*D
    Linear out_proj;  // H*D -> d_model
    Dropout dropout;
    int64_t n_heads, n_kv_heads;
};

}  // namespace plaingrad::nn
