// Scaled dot-product attention (§3.2.1), all heads in one op. The kernel: kernels/attention.cpp.
#include <cmath>

#include "autograd/op.h"
#include "autograd/ops.h"

namespace autograd {
namespace {

void check_sizes(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& o) {
    check(q.rank() == 3 && k.rank() == 3 && k.shape() == v.shape() && q.size(0) == k.size(0) &&
              q.size(2) == k.size(2),
          "[attention] q is ", q.shape(), ", k is ", k.shape(), ", v is ", v.shape(),
          "; q must be (B, T, H*D), k and v (B, S, H*D)");
    check(o.n_heads >= 1 && q.size(2) % o.n_heads == 0, "[attention] ", q.size(2),
          " columns cannot be divided among ", o.n_heads, " heads");
    check(o.dropout >= 0 && o.dropout < 1, "[attention] the dropout rate must be in [0, 1): got ", o.dropout);
    check(o.dropout == 0 || o.rng != nullptr, "[attention] dropout needs an Rng; pass .rng");
    o.mask.check_fits(q.size(0), q.size(1), k.size(1));
}

}  // namespace

// w = softmax(q kᵀ/√D, masked), m = dropout factors:  out = (w m) v
// dv = (w m)ᵀ dout     ds = w (m dout vᵀ - Σ w m dout vᵀ)     dq = ds k/√D,  dk = dsᵀ q/√D
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options) {
    check_sizes(q, k, v, options);
    const int64_t d = q.size(2) / options.n_heads;
    kernels::Attention a = {.batch = q.size(0),
                            .heads = options.n_heads,
                            .queries = q.size(1),
                            .keys = k.size(1),
                            .d = d,
                            .scale = static_cast<Real>(1 / std::sqrt(static_cast<double>(d))),
                            .mask = options.mask.view(),
                            .dropout = options.dropout};
    if (options.dropout > 0)
        a.key = options.rng->key();
    Tensor out = Tensor::uninitialized(q.shape());
    Tensor weights;
    if (options.weights != nullptr)
        weights = Tensor::uninitialized({a.batch, a.heads, a.queries, a.keys});
    kernels::cpu().attention(a, q.data(), k.data(), v.data(), out.mutable_data(),
                             weights.defined() ? weights.mutable_data() : nullptr);
    if (options.weights != nullptr)
        *options.weights = weights;

    return with_backward(out, {&q, &k, &v},
                         [a, mask = options.mask, dq = q.sink(), dk = k.sink(), dv = v.sink(), q = q.save(),
                          k = k.save(), v = v.save()](const Tensor& dout) {
                             const kernels::Out to_q = dq.open(), to_k = dk.open(), to_v = dv.open();
                             kernels::cpu().attention_backward(a, q.data(), k.data(), v.data(), dout.data(),
                                                               to_q, to_k, to_v);
                         });
}

}  // namespace autograd
