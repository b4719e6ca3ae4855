#include "nn/attention.h"

namespace nn {

MultiHeadAttention::MultiHeadAttention(int64_t d_model, int64_t n_heads_, const Rng& rng,
                                       const AttentionOptions& options)
    : q_proj(d_model, d_model, rng.fork("q_proj"), {.bias = options.bias, .init = options.init}),
      k_proj(d_model, d_model, rng.fork("k_proj"), {.bias = options.bias, .init = options.init}),
      v_proj(d_model, d_model, rng.fork("v_proj"), {.bias = options.bias, .init = options.init}),
      out_proj(d_model, d_model, rng.fork("out_proj"), {.bias = options.bias, .init = options.init}),
      dropout(options.dropout, rng.fork("dropout")),
      n_heads(n_heads_) {
    autograd::check(n_heads >= 1 && d_model % n_heads == 0, "[MultiHeadAttention] d_model = ", d_model,
                    " must be a multiple of n_heads = ", n_heads);
}

Tensor MultiHeadAttention::operator()(const Tensor& query, const Tensor& memory, const Mask& mask,
                                      const Mode& mode, Tensor* weights) const {
    const KeysValues projected = project(memory);
    return attend(query, projected, mask, mode, weights);
}

KeysValues MultiHeadAttention::project(const Tensor& memory) const {
    const Tensor keys = k_proj(memory);    // (B, S, d_model)
    const Tensor values = v_proj(memory);  // (B, S, d_model)
    return {keys, values};
}

Tensor MultiHeadAttention::attend(const Tensor& query, const KeysValues& memory, const Mask& mask,
                                  const Mode& mode, Tensor* weights) const {
    const Rng rng = mode.rng.fork(dropout.stream);
    const Tensor q = q_proj(query);  // (B, T, d_model)
    const Tensor heads = autograd::attention(q, memory.keys, memory.values,
                                             {.n_heads = n_heads,
                                              .mask = mask,
                                              .dropout = mode.training ? dropout.rate : 0,
                                              .rng = &rng,
                                              .weights = weights});  // (B, T, d_model)
    return out_proj(heads);                                          // (B, T, d_model)
}

}  // namespace nn
