// Scaled dot-product attention (§3.2.1), all heads in one op. The kernel: kernels/attention.cpp.
//
// It equals the composition in ops.h, which would keep the scores of all heads, (B, H, T, S), twice over,
// and read and write them some ten times; and its products would want each head's columns copied together
// first. The kernel reads q, k and v where the projections left them: in tensors of their own, or side by
// side in one.
#include <cmath>

#include "autograd/op.h"
#include "autograd/ops.h"
#include "autograd/plain.h"

namespace plaingrad::autograd {
namespace {

// Columns first ... first + H*D of a tensor (B, T, ...).
struct View {
    const Tensor& tensor;
    int64_t first = 0;
    const Real* data() const { return tensor.data() + first; }
};
kernels::Out from_column(const kernels::Out& out, int64_t first) {
    return {out.data == nullptr ? nullptr : out.data + first, out.accumulate};
}

struct Gradients {
    kernels::Out q, k, v;
};

// The kernel writes dq of some queries after dk and dv of others: where they share memory that is to be
// overwritten, as in attention(x, x, x), that would lose what is there. All are added to zeros instead.
Gradients separate(Gradients to, int64_t numel) {
    if (to.q.data != nullptr && !to.q.accumulate && (to.q.data == to.k.data || to.q.data == to.v.data)) {
        kernels::cpu().fill(numel, 0, to.q.data);
        to.q.accumulate = true;
    }
    return to;
}

void check_options(const Tensor& q, int64_t width, const Tensor& k, const AttentionOptions& o) {
    check(o.n_heads >= 1 && width % o.n_heads == 0, "[attention] ", width,
          " columns cannot be divided among ", o.n_heads, " heads");
    check(o.dropout >= 0 && o.dropout < 1, "[attention] the dropout rate must be in [0, 1): got ", o.dropout);
    check(o.dropout == 0 || o.rng != nullptr, "[attention] dropout needs an Rng; pass .rng");
    o.mask.check_fits(q.size(0), q.size(1), k.size(1));
}

kernels::Attention settings(const Tensor& q, const Tensor& k, int64_t width, const AttentionOptions& o) {
    const FloatControl ieee;
    const int64_t d = width / o.n_heads;
    kernels::Attention a = {.batch = q.size(0),
                            .heads = o.n_heads,
                            .queries = q.size(1),
                            .keys = k.size(1),
                            .d = d,
                            .q_row = q.size(2),
                            .kv_row = k.size(2),
                            .scale = static_cast<Real>(1 / std::sqrt(static_cast<double>(d))),
                            .mask = o.mask.view(),
                            .dropout = o.dropout};
    if (o.dropout > 0)
        a.key = o.rng->key();
    return a;
}

// w = softmax(q kᵀ/√D, masked), m = dropout factors:  out = (w m) v
// dv = (w m)ᵀ dout     ds = w (m dout vᵀ - Σ w m dout vᵀ)     dq = ds k/√D,  dk = dsᵀ q/√D
// open() -> Gradients: where the three gradients go, columns as those of the views.
template <class Open>
Tensor attend(const char* op, const View& q, const View& k, const View& v, int64_t width,
              const AttentionOptions& options, const Open& open) {
    const kernels::Attention a = settings(q.tensor, k.tensor, width, options);
    Tensor out = Tensor::uninitialized({a.batch, a.queries, width});
    Tensor weights;
    if (options.weights != nullptr)
        weights = Tensor::uninitialized({a.batch, a.heads, a.queries, a.keys});
    Tensor statistics = Tensor::uninitialized({a.batch, a.heads, a.queries, 2});
    kernels::cpu().attention(a, q.data(), k.data(), v.data(), out.mutable_data(),
                             weights.defined() ? weights.mutable_data() : nullptr, statistics.mutable_data());
    if (options.weights != nullptr)
        *options.weights = weights;

    return with_backward(
        op, out, {&q.tensor, &k.tensor, &v.tensor},
        [a, open, mask = options.mask, k_first = k.first, v_first = v.first, q = q.tensor.save(),
         k = k.tensor.save(), v = v.tensor.save(), statistics = statistics.save()](const Tensor& dout) {
            const Gradients to = open();
            kernels::cpu().attention_backward(a, q.data(), k.data() + k_first, v.data() + v_first,
                                              statistics.data(), dout.data(), to.q, to.k, to.v);
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
    return attend("attention", {q}, {k}, {v}, q.size(2), options,
                  [dq = q.sink(), dk = k.sink(), dv = v.sink(), numel = q.numel()] {
                      const kernels::Out to_q = dq.open(), to_k = dk.open();
                      return separate({to_q, to_k, dv.open()}, numel);
                  });
}

Tensor self_attention(const Tensor& qkv, const AttentionOptions& options) {
    check(qkv.rank() == 3 && qkv.size(2) % 3 == 0, "[self_attention] qkv is ", qkv.shape(),
          "; it must be q | k | v, (B, T, 3*H*D)");
    const int64_t width = qkv.size(2) / 3;
    check_options(qkv, width, qkv, options);
    if (Plain::active())
        return plain::self_attention(qkv, options);
    return attend("self_attention", {qkv}, {qkv, width}, {qkv, 2 * width}, width, options,
                  [dqkv = qkv.sink(), width] {
                      const kernels::Out to = dqkv.open();
                      return Gradients{to, from_column(to, width), from_column(to, 2 * width)};
                  });
}

Tensor cross_attention(const Tensor& q, const Tensor& kv, const AttentionOptions& options) {
    check(q.rank() == 3 && kv.rank() == 3 && q.size(0) == kv.size(0) && 2 * q.size(2) == kv.size(2),
          "[cross_attention] q is ", q.shape(), ", kv is ", kv.shape(),
          "; q must be (B, T, H*D), kv = k | v (B, S, 2*H*D)");
    const int64_t width = q.size(2);
    check_options(q, width, kv, options);
    if (Plain::active())
        return plain::cross_attention(q, kv, options);
    return attend("cross_attention", {q}, {kv}, {kv, width}, width, options,
                  [dq = q.sink(), dkv = kv.sink(), width, numel = q.numel()] {
                      const kernels::Out to_q = dq.open(), to_k = dkv.open();
                      return separate({to_q, to_k, from_column(to_k, width)}, numel);
                  });
}

}  // namespace plaingrad::autograd
