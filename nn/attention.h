// Multi-head attention. "Attention Is All You Need", §3.2.2, Fig. 2 right.
#pragma once

#include "nn/dropout.h"
#include "nn/linear.h"

namespace nn {

struct AttentionOptions {
    Real dropout = 0;  // of the attention weights; the paper has none there
    bool bias = true;
    Init init = Init::xavier;
};

// What the memory of an attention becomes before queries meet it. Kept in decoding, where the memory stays
// and queries come one by one.
struct KeysValues {
    Tensor keys, values;  // (B, S, d_model)
};

// MultiHead(Q, K, V) = Concat(head_1, ..., head_H) W_O,  head_i = Attention(Q W_Q_i, K W_K_i, V W_V_i)
//
// The heads' projections stand side by side in one matrix each: head i is columns i*D to i*D + D. The
// attention op reads them there, so nothing is split, transposed or merged.
struct MultiHeadAttention {
    // Throws Error unless d_model is a multiple of n_heads.
    MultiHeadAttention(int64_t d_model, int64_t n_heads, const Rng& rng,
                       const AttentionOptions& options = {});

    // query (B, T, d_model), memory (B, S, d_model) -> (B, T, d_model). Self-attention: both are the same.
    // If `weights` is given it receives the attention weights (B, H, T, S).
    Tensor operator()(const Tensor& query, const Tensor& memory, const Mask& mask, const Mode& mode,
                      Tensor* weights = nullptr) const;

    // The same in two halves.
    KeysValues project(const Tensor& memory) const;
    Tensor attend(const Tensor& query, const KeysValues& memory, const Mask& mask, const Mode& mode,
                  Tensor* weights = nullptr) const;

    void visit(Visitor& v) const {
        v("q_proj", q_proj);
        v("k_proj", k_proj);
        v("v_proj", v_proj);
        v("out_proj", out_proj);
    }

    Linear q_proj, k_proj, v_proj, out_proj;  // d_model -> d_model
    Dropout dropout;
    int64_t n_heads;
};

}  // namespace nn
