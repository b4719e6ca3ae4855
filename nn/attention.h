// Multi-head attention. "Attention Is All You Need", §3.2.2, Fig. 2 right.
//
// One softmax gives each position one weighted mean of the others: it can attend to one thing well. Several
// heads, each in d_model / H dimensions of its own, attend to several things at the cost of one wide head.
#pragma once

#include "nn/dropout.h"
#include "nn/key_value_cache.h"
#include "nn/linear.h"

namespace plaingrad::nn {

struct MultiHeadOptions {
    Real dropout = 0;  // of the attention weights; the paper has none there
    bool bias = true;
    Init init = Init::xavier;
};

// What an attention is given besides its vectors. Layers hand it on unread.
struct Pass {
    Mask mask = Mask::none();
    Mode mode = Mode::eval();
    Tensor* weights = nullptr;  // receives the attention weights (B, H, T, S)
    int64_t first = 0;          // where x begins in its sentence: the position of its first token
    // Decoding. Self-attention: of the `first` positions before x; those of x are appended, and each sees all
    // positions up to itself (`mask` is not read). Attention to a memory: of the memory, which is then not
    // read.
    KeyValueCache* cache = nullptr;
};

// MultiHead(Q, K, V) = Concat(head_1, ..., head_H) W_O,  head_i = Attention(Q W_Q_i, K W_K_i, V W_V_i)
//
// The projections stand side by side in one matrix, W_Q | W_K | W_V, and in each of these the heads': head i
// is its columns i*D to i*D + D. So self-attention takes one product, and as the attention op reads heads
// where they are, nothing is split, transposed or merged.
struct MultiHeadAttention {
    // Throws Error unless d_model is a multiple of n_heads.
    MultiHeadAttention(int64_t d_model, int64_t n_heads, const Rng& rng,
                       const MultiHeadOptions& options = {});

    // Self-attention: x (B, T, d_model) -> (B, T, d_model).
    Tensor operator()(const Tensor& x, const Pass& pass) const;
    // Queries from x (B, T, d_model), keys and values from memory (B, S, d_model) -> (B, T, d_model).
    Tensor operator()(const Tensor& x, const Tensor& memory, const Pass& pass) const;

    // Keys | values of memory (B, S, d_model) -> (B, S, 2*d_model): the half of attention that does not
    // depend on the queries. Decoding computes it once: KeyValueCache(project(memory)).
    Tensor project(const Tensor& memory) const;

    void visit(Visitor& v) const {
        v("in_proj", in_proj);
        v("out_proj", out_proj);
    }

    Linear in_proj;   // d_model -> 3*d_model
    Linear out_proj;  // d_model -> d_model
    Dropout dropout;
    int64_t n_heads;

private:
    Tensor attend_cached(const Tensor& x, const Pass& pass) const;
    Tensor attend(const Tensor& x, const Tensor& keys_values, const Mask& mask, const Pass& pass) const;
    autograd::AttentionOptions op_options(const Mask& mask, const Pass& pass, const Rng& rng) const;
};

}  // namespace plaingrad::nn
