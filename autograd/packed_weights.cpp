#include "autograd/packed_weights.h"

#include "autograd/base/check.h"

namespace plaingrad::autograd {

const Real* PackedWeights::packed(const kernels::Gemm& g, const Tensor& weight, const Real* b, Precision p) {
    const Real* const end = b + (g.b_transposed ? (g.n - 1) * g.ldb + g.k : (g.k - 1) * g.ldb + g.n);
    check(b >= weight.data() && end <= weight.data() + weight.numel(), "[PackedWeights] a factor (", g.k,
          ", ", g.n, ") does not lie within weight ", weight.shape());
    const std::tuple key(b, g.n, g.k, g.ldb, g.b_transposed, p);
    auto at = entries_.find(key);
    if (at == entries_.end() || !at->second.weight.is_current()) {
        const Tensor copy = Tensor::uninitialized({kernels::packed_size(g.n, g.k, p)});
        kernels::cpu().products(p).pack(g, b, copy.mutable_data());
        at = entries_.insert_or_assign(key, Entry{weight.save(), copy}).first;
    }
    return at->second.copy.data();
}

}  // namespace plaingrad::autograd
