#include "nn/attention.h"

#include "nn/probe.h"

namespace plaingrad::nn {
namespace {

int64_t kv_heads(int64_t n_heads, const MultiHeadOptions& o) {
    return o.n_kv_heads > 0 ? o.n_kv_heads : n_heads;
}

// The projections of queries, of keys and of values: H*D, G*D and G*D columns.
std::vector<Projection> projections(const char* layer, int64_t d_model, int64_t n_heads,
                                    const MultiHeadOptions& o) {
    check(n_heads >= 1 && (o.head_dim > 0 || d_model % n_heads == 0), "[", layer, "] d_model = ", d_model,
          " must be a multiple of n_heads = ", n_heads);
    check(o.head_dim >= 0, "[", layer, "] head_dim must not be negative: got ", o.head_dim);
    check(o.n_kv_heads >= 0 && n_heads % kv_heads(n_heads, o) == 0, "[", layer, "] n_heads = ", n_heads,
          " must be a multiple of n_kv_heads = ", o.n_kv_heads);
    const int64_t d = o.head_dim > 0 ? o.head_dim : d_model / n_heads, kv = kv_heads(n_heads, o) * d;
    return {{"q_proj", n_heads * d}, {"k_proj", kv}, {"v_proj", kv}};
}

LinearOptions linear_options(const MultiHeadOptions& o) { return {.bias = o.bias, .init = o.init}; }
LinearOptions output_options(const MultiHeadOptions& o) {
    return {.bias = o.bias && o.out_bias, .init = o.init};
}

template <class Attention>
autograd::AttentionOptions options_of(const Attention& layer, const Mask& mask, const Pass& pass,
                                      const Rng& rng) {
    return {.n_heads = layer.n_heads,
            .n_kv_heads = layer.n_kv_heads,
            .mask = mask,
            .dropout = layer.dropout.rate_in(pass.mode),
            .rng = &rng,
            .weights = pass.mode.probe != nullptr ? &pass.mode.probe->place(layer) : nullptr,
            .kv_rows = pass.cache != nullptr ? pass.cache->rows() : nullptr,
            .kv_length = pass.cache != nullptr ? pass.cache->length() : 0};
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(int64_t d_model, int64_t n_heads_, const Rng& rng,
                                       const MultiHeadOptions& o)
    : in_proj(side_by_side(d_model, projections("MultiHeadAttention", d_model, n_heads_, o), rng,
                           linear_options(o))),
      out_proj(projections("MultiHeadAttention", d_model, n_heads_, o)[0].out, d_model, rng.fork("out_proj"),
               output_options(o)),
      dropout(o.dropout, rng.fork("dropout")),
      n_heads(n_heads_),
      n_kv_heads(kv_heads(n_heads_, o)) {}

Tensor MultiHeadAttention::operator()(const Tensor& x, const Pass& pass) const {
    const Rng rng = dropout.rng_in(pass.mode);
    const int64_t first = pass.cache != nullptr ? pass.cache->length() : 0;  // the position of x[:, 0]
    Tensor qkv = in_proj(x);                                                 // (B, T, (H + 2*G)*D)
    if (pass.rotary != nullptr)  // turns q and k by the angles of their positions
        qkv = (*pass.rotary)(std::move(qkv), n_heads + n_kv_heads, first);
    if (pass.cache == nullptr) {
        const Tensor heads =
            autograd::self_attention(qkv, options_of(*this, pass.mask, pass, rng));  // (B, T, H*D)
        return out_proj(heads);                                                      // (B, T, d_model)
    }
    const int64_t width = out_proj.weight->size(0);                     // H*D
    const Tensor q = autograd::slice(qkv, -1, 0, width);                // (B, T, H*D)
    pass.cache->append(autograd::slice(qkv, -1, width, qkv.size(2)));   // from now on it has all keys
    const auto options = options_of(*this, Mask::causal(), pass, rng);  // the last query sees the last key
    const Tensor& kv = pass.cache->stored();                            // (B, S, 2*G*D)
    return out_proj(autograd::cross_attention(q, kv, options));         // (B, T, d_model)
}

CrossAttention::CrossAttention(int64_t d_model, int64_t n_heads_, const Rng& rng, const MultiHeadOptions& o)
    : q_proj(side_by_side(d_model, {projections("CrossAttention", d_model, n_heads_, o)[0]}, rng,
                          linear_options(o))),
      kv_proj(side_by_side(d_model,
                           {projections("CrossAttention", d_model, n_heads_, o)[1],
                            projections("CrossAttention", d_model, n_heads_, o)[2]},
                           rng, linear_options(o))),
      out_proj(q_proj.weight->size(1), d_model, rng.fork("out_proj"), output_options(o)),
      dropout(o.dropout, rng.fork("dropout")),
      n_heads(n_heads_),
      n_kv_heads(kv_heads(n_heads_, o)) {}

Tensor CrossAttention::operator()(const Tensor& x, const Tensor& memory, const Pass& pass) const {
    const Rng rng = dropout.rng_in(pass.mode);
    const Tensor kv = pass.cache != nullptr ? pass.cache->stored() : kv_proj(memory);  // (B, S, 2*G*D)
    const Tensor q = q_proj(x);                                                        // (B, T, H*D)
    const Tensor heads =
        autograd::cross_attention(q, kv, options_of(*this, pass.mask, pass, rng));  // (B, T, H*D)
    return out_proj(heads);                                                         // (B, T, d_model)
}

}  // namespace plaingrad::nn
