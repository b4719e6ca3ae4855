// Multi-head attention. "Attention Is All You Need", §3.2.2, Fig. 2 right.
#pragma once

#include "nn/dropout.h"
#include "nn/linear.h"

namespace plaingrad::nn {

struct AttentionOptions {
    Real dropout = 0;  // of the attention weights; the paper has none there
    bool bias = true;
    Init init = Init::xavier;
};

// MultiHead(Q, K, V) = Concat(head_1, ..., head_H) W_O,  head_i = Attention(Q W_Q_i, K W_K_i, V W_V_i)
//
// The projections stand side by side in one matrix, W_Q | W_K | W_V, and in each of these the heads': head i is
// its columns i*D to i*D + D. So self-attention takes one product, and as the attention op reads heads where
// they are, nothing is split, transposed or merged.
struct MultiHeadAttention {
    // Throws Error unless d_model is a multiple of n_heads.
    MultiHeadAttention(int64_t d_model, int64_t n_heads, const Rng& rng,
                       const AttentionOptions& options = {});

    // Self-attention: x (B, T, d_model) -> (B, T, d_model).
    // If `weights` is given it receives the attention weights (B, H, T, S).
    Tensor operator()(const Tensor& x, const Mask& mask, const Mode& mode, Tensor* weights = nullptr) const;
    // query (B, T, d_model), memory (B, S, d_model) -> (B, T, d_model)
    Tensor operator()(const Tensor& query, const Tensor& memory, const Mask& mask, const Mode& mode,
                      Tensor* weights = nullptr) const {
        return attend(query, project(memory), mask, mode, weights);
    }

    // The same in two halves, for decoding, where the memory stays and queries come one by one: first what queries
    // meet, keys | values (B, S, 2*d_model).
    Tensor project(const Tensor& memory) const;
    Tensor attend(const Tensor& query, const Tensor& keys_values, const Mask& mask, const Mode& mode,
                  Tensor* weights = nullptr) const;

    void visit(Visitor& v) const {
        v("in_proj", in_proj);
        v("out_proj", out_proj);
    }

    Linear in_proj;   // d_model -> 3*d_model
    Linear out_proj;  // d_model -> d_model
    Dropout dropout;
    int64_t n_heads;

private:
    autograd::AttentionOptions op_options(const Mask& mask, const Mode& mode, const Rng& rng,
                                          Tensor* weights) const;
};

}  // namespace plaingrad::nn
