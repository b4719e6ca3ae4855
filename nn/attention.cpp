#include "nn/attention.h"

#include "nn/probe.h"

namespace plaingrad::nn {

MultiHeadAttention::MultiHeadAttention(int64_t d_model, int64_t n_heads_, const Rng& rng,
                                       const MultiHeadOptions& options)
    : in_proj(side_by_side(d_model, {{"q_proj", d_model}, {"k_proj", d_model}, {"v_proj", d_model}}, rng,
                           {.bias = options.bias, .init = options.init})),
      out_proj(d_model, d_model, rng.fork("out_proj"), {.bias = options.bias, .init = options.init}),
      dropout(options.dropout, rng.fork("dropout")),
      n_heads(n_heads_) {
    check(n_heads >= 1 && d_model % n_heads == 0, "[MultiHeadAttention] d_model = ", d_model,
          " must be a multiple of n_heads = ", n_heads);
}

Tensor MultiHeadAttention::operator()(const Tensor& x, const Pass& pass) const {
    if (pass.cache != nullptr)
        return attend_cached(x, pass);
    const Tensor qkv = in_proj(x, pass.mode);  // (B, T, 3*d_model)
    const Rng rng = dropout.rng_in(pass.mode);
    const Tensor heads = autograd::self_attention(qkv, op_options(pass.mask, pass, rng),
                                                  pass.mode.precision());  // (B, T, d_model)
    return out_proj(heads, pass.mode);                                     // (B, T, d_model)
}

Tensor MultiHeadAttention::operator()(const Tensor& x, const Tensor& memory, const Pass& pass) const {
    return attend(x, pass.cache != nullptr ? pass.cache->stored() : project(memory, pass.mode), pass.mask,
                  pass);
}

Tensor MultiHeadAttention::project(const Tensor& memory, const Mode& mode) const {
    const int64_t width = out_proj.weight->size(0);  // d_model
    return autograd::linear_columns(memory, in_proj.weight, in_proj.bias, width, 2 * width,
                                    mode.precision());  // (B, S, 2*d_model)
}

Tensor MultiHeadAttention::attend_cached(const Tensor& x, const Pass& pass) const {
    KeyValueCache& cache = *pass.cache;
    check(pass.first == cache.length(), "[MultiHeadAttention] the cache has ", cache.length(),
          " positions, so x must begin at position ", cache.length(), ": got ", pass.first);
    cache.append(project(x, pass.mode));
    // A causal mask aligns the last query with the last key, so with several queries only the filled part of
    // the cache is passed. A single query sees all keys and reads the cache in place. The weights for a
    // probe need the filled part, too, to have no empty columns.
    if (x.size(1) > 1 || pass.mode.probe != nullptr)
        return attend(x, cache.filled(), Mask::causal(), pass);
    const std::vector<int32_t> all(static_cast<std::size_t>(x.size(0)), static_cast<int32_t>(cache.length()));
    return attend(x, cache.stored(), Mask::key_counts(all), pass);
}

Tensor MultiHeadAttention::attend(const Tensor& x, const Tensor& keys_values, const Mask& mask,
                                  const Pass& pass) const {
    const int64_t width = out_proj.weight->size(0);  // d_model
    const Rng rng = dropout.rng_in(pass.mode);
    const Precision p = pass.mode.precision();
    const Tensor q =
        autograd::linear_columns(x, in_proj.weight, in_proj.bias, 0, width, p);  // (B, T, d_model)
    const Tensor heads = autograd::cross_attention(q, keys_values, op_options(mask, pass, rng), p);
    return out_proj(heads, pass.mode);  // (B, T, d_model)
}

autograd::AttentionOptions MultiHeadAttention::op_options(const Mask& mask, const Pass& pass,
                                                          const Rng& rng) const {
    const Real p = dropout.rate_in(pass.mode);
    Tensor* const weights = pass.mode.probe != nullptr ? &pass.mode.probe->place(*this) : nullptr;
    const auto* const rows = pass.cache != nullptr ? pass.cache->rows() : nullptr;
    return {.n_heads = n_heads, .mask = mask, .dropout = p, .rng = &rng, .weights = weights, .kv_rows = rows};
}

}  // namespace plaingrad::nn
