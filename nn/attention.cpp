#include "nn/attention.h"

#include "nn/probe.h"

namespace plaingrad::nn {

static Linear input_projection(int64_t d_model, int64_t n_heads, const Rng& rng, const MultiHeadOptions& o) {
    check(n_heads >= 1 && (o.head_dim > 0 || d_model % n_heads == 0),
          "[MultiHeadAttention] d_model = ", d_model, " must be a multiple of n_heads = ", n_heads);
    check(o.head_dim >= 0, "[MultiHeadAttention] head_dim must not be negative: got ", o.head_dim);
    check(o.n_kv_heads >= 0 && (o.n_kv_heads == 0 || n_heads % o.n_kv_heads == 0),
          "[MultiHeadAttention] n_heads = ", n_heads, " must be a multiple of n_kv_heads = ", o.n_kv_heads);
    const int64_t d = o.head_dim > 0 ? o.head_dim : d_model / n_heads;
    const int64_t kv = (o.n_kv_heads > 0 ? o.n_kv_heads : n_heads) * d;
    return side_by_side(d_model, {{"q_proj", n_heads * d}, {"k_proj", kv}, {"v_proj", kv}}, rng,
                        {.bias = o.bias, .init = o.init});
}

MultiHeadAttention::MultiHeadAttention(int64_t d_model, int64_t n_heads_, const Rng& rng,
                                       const MultiHeadOptions& o)
    : in_proj(input_projection(d_model, n_heads_, rng, o)),
      out_proj(o.head_dim > 0 ? n_heads_ * o.head_dim : d_model, d_model, rng.fork("out_proj"),
               {.bias = o.bias && o.out_bias, .init = o.init}),
      dropout(o.dropout, rng.fork("dropout")),
      n_heads(n_heads_),
      n_kv_heads(o.n_kv_heads > 0 ? o.n_kv_heads : n_heads_) {}

Tensor MultiHeadAttention::operator()(const Tensor& x, const Pass& pass) const {
    if (pass.cache != nullptr)
        return attend_cached(x, pass);
    const Tensor qkv = turned(in_proj(x), n_heads + n_kv_heads, pass);  // (B, T, (H + 2*G)*D)
    const Rng rng = dropout.rng_in(pass.mode);
    const Tensor heads = autograd::self_attention(qkv, op_options(pass.mask, pass, rng));  // (B, T, H*D)
    return out_proj(heads);                                                                // (B, T, d_model)
}

Tensor MultiHeadAttention::operator()(const Tensor& x, const Tensor& memory, const Pass& pass) const {
    const Tensor keys_values = pass.cache != nullptr ? pass.cache->stored() : project(memory);
    return attend(queries(x), keys_values, pass.mask, pass);
}

// The first heads of x, turned by their positions' angles if there are any.
Tensor MultiHeadAttention::turned(Tensor x, int64_t heads, const Pass& pass) const {
    return pass.rotary != nullptr ? (*pass.rotary)(std::move(x), heads, pass.first) : x;
}

Tensor MultiHeadAttention::queries(const Tensor& x) const {
    const int64_t width = out_proj.weight->size(0);                              // H*D
    return autograd::linear_columns(x, in_proj.weight, in_proj.bias, 0, width);  // (B, T, H*D)
}

Tensor MultiHeadAttention::project(const Tensor& memory) const {
    const int64_t width = out_proj.weight->size(0), all = in_proj.weight->size(1);  // H*D, (H + 2*G)*D
    return autograd::linear_columns(memory, in_proj.weight, in_proj.bias, width,
                                    all - width);  // (B, S, 2*G*D)
}

Tensor MultiHeadAttention::attend_cached(const Tensor& x, const Pass& pass) const {
    KeyValueCache& cache = *pass.cache;
    check(pass.first == cache.length(), "[MultiHeadAttention] the cache has ", cache.length(),
          " positions, so x must begin at position ", cache.length(), ": got ", pass.first);
    const Tensor all = turned(in_proj(x), n_heads + n_kv_heads, pass);  // (B, T, (H + 2*G)*D)
    const int64_t width = out_proj.weight->size(0);                     // H*D
    cache.append(autograd::slice(all, -1, width, all.size(2)));         // keys are kept as they were turned
    const Tensor q = autograd::slice(all, -1, 0, width);                // (B, T, H*D)
    // A causal mask aligns the last query with the last key, so with several queries only the filled part of
    // the cache is passed. A single query sees all keys and reads the cache in place. The weights for a
    // probe need the filled part, too, to have no empty columns.
    if (x.size(1) > 1 || pass.mode.probe != nullptr)
        return attend(q, cache.filled(), Mask::causal(), pass);
    const std::vector<int32_t> keys(static_cast<std::size_t>(x.size(0)),
                                    static_cast<int32_t>(cache.length()));
    return attend(q, cache.stored(), Mask::key_counts(keys), pass);
}

Tensor MultiHeadAttention::attend(const Tensor& q, const Tensor& keys_values, const Mask& mask,
                                  const Pass& pass) const {
    const Rng rng = dropout.rng_in(pass.mode);
    const Tensor heads =
        autograd::cross_attention(q, keys_values, op_options(mask, pass, rng));  // (B, T, H*D)
    return out_proj(heads);                                                      // (B, T, d_model)
}

autograd::AttentionOptions MultiHeadAttention::op_options(const Mask& mask, const Pass& pass,
                                                          const Rng& rng) const {
    const Real p = dropout.rate_in(pass.mode);
    Tensor* const weights = pass.mode.probe != nullptr ? &pass.mode.probe->place(*this) : nullptr;
    const auto* const rows = pass.cache != nullptr ? pass.cache->rows() : nullptr;
    return {.n_heads = n_heads,
            .n_kv_heads = n_kv_heads,
            .mask = mask,
            .dropout = p,
            .rng = &rng,
            .weights = weights,
            .kv_rows = rows};
}

}  // namespace plaingrad::nn
