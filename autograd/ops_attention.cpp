// Scaled dot-product attention (§3.2.1), all heads in one op. The kernel: kernels/attention.cpp.
//
// It equals the composition in ops.h. The implementation in plain.cpp stores two (B, H, T, S) tensors, reads
// and writes them about ten times, and first copies each head's columns into a contiguous block. The kernel
// processes a few queries at a time, whose scores stay in the cache, and reads q, k and v where the
// projections left them: in three tensors, in one, or with k and v in one. So there are three ops. Each says
// where its operands and their gradients begin; everything else is shared.
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

// q, k: the tensors that contain the queries and keys. The result points into the mask, so the closure keeps
// the mask alive.
kernels::Attention sizes_of(const Tensor& q, const Tensor& k, int64_t width, const AttentionOptions& o) {
    const FloatControl ieee;
    const int64_t d = width / o.n_heads;
    return {.batch = q.size(0),
            .heads = o.n_heads,
            .queries = q.size(1),
            .keys = k.size(1),
            .d = d,
            .q_row = q.size(2),
            .kv_row = k.size(2),
            .scale = static_cast<Real>(1 / std::sqrt(static_cast<double>(d))),
            .mask = o.mask.view(),
            .dropout = o.dropout,
            .key = o.dropout > 0 ? o.rng->key() : kernels::RandomKey{}};
}

struct Attended {
    Tensor out, statistics;  // what backward needs of the softmax
};

// w = softmax(q kᵀ/√D, masked), m = dropout factors:  out = (w m) v
Attended attend(const kernels::Attention& a, const Real* q, const Real* k, const Real* v, Tensor* weights) {
    Attended y = {Tensor::uninitialized({a.batch, a.queries, a.heads * a.d}),
                  Tensor::uninitialized({a.batch, a.heads, a.queries, 2})};
    Tensor w;
    if (weights != nullptr)
        w = Tensor::uninitialized({a.batch, a.heads, a.queries, a.keys});
    kernels::cpu().attention(a, q, k, v, y.out.mutable_data(),
                             weights != nullptr ? w.mutable_data() : nullptr, y.statistics.mutable_data());
    if (weights != nullptr)
        *weights = w;
    return y;
}

kernels::Out from_column(const kernels::Out& out, int64_t first) {
    return {out.data == nullptr ? nullptr : out.data + first, out.accumulate};
}

// The kernel interleaves writes to dq, dk and dv. If dq shares memory with dk or dv, as in
// attention(x, x, x), overwriting would lose gradients. So that memory is zeroed first and everything
// accumulates.
kernels::Out beside(kernels::Out dq, const kernels::Out& dk, const kernels::Out& dv, int64_t numel) {
    if (dq.data == nullptr || dq.accumulate || (dq.data != dk.data && dq.data != dv.data))
        return dq;
    kernels::cpu().fill(numel, 0, dq.data);
    return {dq.data, true};
}

}  // namespace

// The gradients of all three inputs, with w and m as above:
// dv = (w m)ᵀ dout     ds = w (m dout vᵀ - Σ w m dout vᵀ)     dq = ds k/√D,  dk = dsᵀ q/√D
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options) {
    check(q.rank() == 3 && k.rank() == 3 && k.shape() == v.shape() && q.size(0) == k.size(0) &&
              q.size(2) == k.size(2),
          "[attention] q is ", q.shape(), ", k is ", k.shape(), ", v is ", v.shape(),
          "; q must be (B, T, H*D), k and v (B, S, H*D)");
    check_options(q, q.size(2), k, options);
    if (Plain::active())
        return plain::attention(q, k, v, options);
    const kernels::Attention a = sizes_of(q, k, q.size(2), options);
    const Attended y = attend(a, q.data(), k.data(), v.data(), options.weights);
    return with_backward("attention", y.out, {&q, &k, &v},
                         [a, mask = options.mask, dq = q.sink(), dk = k.sink(), dv = v.sink(), q = q.save(),
                          k = k.save(), v = v.save(), statistics = y.statistics.save()](const Tensor& dout) {
                             const kernels::Out to_q = dq.open(), to_k = dk.open(), to_v = dv.open();
                             kernels::cpu().attention_backward(
                                 a, q.data(), k.data(), v.data(), statistics.data(), dout.data(),
                                 beside(to_q, to_k, to_v, q.numel()), to_k, to_v);
                         });
}

// qkv = q | k | v, columns side by side; the gradient has the same layout.
Tensor self_attention(const Tensor& qkv, const AttentionOptions& options) {
    check(qkv.rank() == 3 && qkv.size(2) % 3 == 0, "[self_attention] qkv is ", qkv.shape(),
          "; it must be q | k | v, (B, T, 3*H*D)");
    const int64_t width = qkv.size(2) / 3;
    check_options(qkv, width, qkv, options);
    if (Plain::active())
        return plain::self_attention(qkv, options);
    const kernels::Attention a = sizes_of(qkv, qkv, width, options);
    const Real* const q = qkv.data();
    const Attended y = attend(a, q, q + width, q + 2 * width, options.weights);
    return with_backward("self_attention", y.out, {&qkv},
                         [a, width, mask = options.mask, dqkv = qkv.sink(), qkv = qkv.save(),
                          statistics = y.statistics.save()](const Tensor& dout) {
                             const kernels::Out to = dqkv.open();
                             const Real* const from = qkv.data();
                             kernels::cpu().attention_backward(
                                 a, from, from + width, from + 2 * width, statistics.data(), dout.data(), to,
                                 from_column(to, width), from_column(to, 2 * width));
                         });
}

// kv = k | v, columns side by side; the gradient has the same layout.
Tensor cross_attention(const Tensor& q, const Tensor& kv, const AttentionOptions& options) {
    check(q.rank() == 3 && kv.rank() == 3 && q.size(0) == kv.size(0) && 2 * q.size(2) == kv.size(2),
          "[cross_attention] q is ", q.shape(), ", kv is ", kv.shape(),
          "; q must be (B, T, H*D), kv = k | v (B, S, 2*H*D)");
    const int64_t width = q.size(2);
    check_options(q, width, kv, options);
    if (Plain::active())
        return plain::cross_attention(q, kv, options);
    const kernels::Attention a = sizes_of(q, kv, width, options);
    const Attended y = attend(a, q.data(), kv.data(), kv.data() + width, options.weights);
    return with_backward(
        "cross_attention", y.out, {&q, &kv},
        [a, width, mask = options.mask, dq = q.sink(), dkv = kv.sink(), q = q.save(), kv = kv.save(),
         statistics = y.statistics.save()](const Tensor& dout) {
            const kernels::Out to_q = dq.open(), to_k = dkv.open(), to_v = from_column(to_k, width);
            kernels::cpu().attention_backward(a, q.data(), kv.data(), kv.data() + width, statistics.data(),
                                              dout.data(), beside(to_q, to_k, to_v, q.numel()), to_k, to_v);
        });
}

}  // namespace plaingrad::autograd
