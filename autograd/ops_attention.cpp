// Scaled dot-product attention (§3.2.1), all heads in one op. The kernel: kernels/attention.cpp.
#include <cmath>

#include "autograd/op.h"
#include "autograd/ops.h"
#include "autograd/plain.h"

namespace plaingrad::autograd {
namespace {

void check_options(const Tensor& q, int64_t width, const Tensor& k, const AttentionOptions& o) {
    check(o.n_heads >= 1 && width % o.n_heads == 0, "[attention] ", width,
          " columns cannot be divided among ", o.n_heads, " heads");
    check(o.dropout >= 0 && o.dropout < 1, "[attention] the dropout rate must be in [0, 1): got ", o.dropout);
    check(o.dropout == 0 || o.rng != nullptr, "[attention] dropout needs an Rng; pass .rng");
    o.mask.check_fits(q.size(0), q.size(1), k.size(1));
}

// A gradient that has its memory to itself, or the columns from `first` on of the one before.
kernels::Out open(const GradSink& sink, int64_t first, const kernels::Out& before) {
    if (first == 0)
        return sink.open();
    return {before.data == nullptr ? nullptr : before.data + first, before.accumulate};
}

// w = softmax(q kᵀ/√D, masked), m = dropout factors:  out = (w m) v
// dv = (w m)ᵀ dout     ds = w (m dout vᵀ - Σ w m dout vᵀ)     dq = ds k/√D,  dk = dsᵀ q/√D
// k and v are the columns of their tensors from k_first and v_first on. Where that is not 0, the tensor is
// also what holds the one before: q is before k, and k before v.
Tensor attend(const char* op, const Tensor& q, const Tensor& k, int64_t k_first, const Tensor& v,
              int64_t v_first, int64_t width, const AttentionOptions& options) {
    const int64_t d = width / options.n_heads;
    kernels::Attention a = {.batch = q.size(0),
                            .heads = options.n_heads,
                            .queries = q.size(1),
                            .keys = k.size(1),
                            .d = d,
                            .q_row = q.size(2),
                            .kv_row = k.size(2),
                            .scale = static_cast<Real>(1 / std::sqrt(static_cast<double>(d))),
                            .mask = options.mask.view(),
                            .dropout = options.dropout};
    if (options.dropout > 0)
        a.key = options.rng->key();
    Tensor out = Tensor::uninitialized({a.batch, a.queries, width});
    Tensor weights;
    if (options.weights != nullptr)
        weights = Tensor::uninitialized({a.batch, a.heads, a.queries, a.keys});
    Tensor statistics = Tensor::uninitialized({a.batch, a.heads, a.queries, 2});
    kernels::cpu().attention(a, q.data(), k.data() + k_first, v.data() + v_first, out.mutable_data(),
                             weights.defined() ? weights.mutable_data() : nullptr, statistics.mutable_data());
    if (options.weights != nullptr)
        *options.weights = weights;

    return with_backward(
        op, out, {&q, &k, &v},
        [a, mask = options.mask, k_first, v_first, dq = q.sink(), dk = k.sink(), dv = v.sink(), q = q.save(),
         k = k.save(), v = v.save(), statistics = statistics.save()](const Tensor& dout) {
            kernels::Out to_q = dq.open();
            const kernels::Out to_k = open(dk, k_first, to_q), to_v = open(dv, v_first - k_first, to_k);
            if (to_q.data == to_k.data && to_q.data != nullptr && !to_q.accumulate) {
                // attention(x, x, x): some of dk comes before dq
                kernels::cpu().fill(q.numel(), 0, to_q.data);
                to_q.accumulate = true;
            }
            kernels::cpu().attention_backward(a, q.data(), k.data() + k_first, v.data() + v_first,
                                              statistics.data(), dout.data(), to_q, to_k, to_v);
        });
}

}  // namespace

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options) {
    check(q.rank() == 3 && k.rank() == 3 && k.shape() == v.shape() && q.size(0) == k.size(0) &&
              q.size(2) == k.size(2),
          "[attention] q is ", q.shape(), ", k is ", k.shape(), ", v is ", v.shape(),
          "; q must be (B, T, H*D), k and v (B, S, H*D)");
    check_options(q, q.size(2), k, options);
    if (Plain::active())
        return plain::attention(q, k, v, options);
    return attend("attention", q, k, 0, v, 0, q.size(2), options);
}

Tensor self_attention(const Tensor& qkv, const AttentionOptions& options) {
    check(qkv.rank() == 3 && qkv.size(2) % 3 == 0, "[self_attention] qkv is ", qkv.shape(),
          "; it must be q | k | v, (B, T, 3*H*D)");
    const int64_t width = qkv.size(2) / 3;
    check_options(qkv, width, qkv, options);
    if (Plain::active())
        return plain::self_attention(qkv, options);
    return attend("self_attention", qkv, qkv, width, qkv, 2 * width, width, options);
}

Tensor cross_attention(const Tensor& q, const Tensor& kv, const AttentionOptions& options) {
    check(q.rank() == 3 && kv.rank() == 3 && q.size(0) == kv.size(0) && 2 * q.size(2) == kv.size(2),
          "[cross_attention] q is ", q.shape(), ", kv is ", kv.shape(),
          "; q must be (B, T, H*D), kv = k | v (B, S, 2*H*D)");
    check_options(q, q.size(2), kv, options);
    if (Plain::active())
        return plain::cross_attention(q, kv, options);
    return attend("cross_attention", q, kv, 0, kv, q.size(2), q.size(2), options);
}

}  // namespace plaingrad::autograd
