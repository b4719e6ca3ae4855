// Attention's kernels on one sentence whose numbers are drawn from seeds, to be changed before a call.
#pragma once

#include "tests/autograd/values.h"

namespace plaingrad::tests {

struct Attend {
    using Reals = std::vector<Real>;
    autograd::kernels::Attention a = {};
    Reals q, k, v, dout, out, statistics, dq, dk, dv;

    Attend(int64_t heads, int64_t queries, int64_t keys, int64_t d, Real scale) {
        a.batch = 1, a.heads = heads, a.queries = queries, a.keys = keys, a.d = d, a.scale = scale;
        a.q_row = a.kv_row = heads * d;
        q = numbers(queries * heads * d, 1), k = numbers(keys * heads * d, 2);
        v = numbers(keys * heads * d, 3), dout = numbers(queries * heads * d, 4);
        out = dq = Reals(q.size(), kNan), dk = dv = Reals(k.size(), kNan);
        statistics.assign(static_cast<std::size_t>(2 * heads * queries), kNan);
    }
    void forward(const autograd::kernels::Products& products, Real* weights = nullptr) {
        products.attention(a, q.data(), k.data(), v.data(), out.data(), weights, statistics.data());
    }
    // Bits 1, 2, 4: the gradient of q, k, v is wanted, and is added to what is there.
    void backward(const autograd::kernels::Products& products, int wanted = 7, int added = 0) {
        const auto sink = [&](Reals& x, int bit) {
            return autograd::kernels::Out{wanted & bit ? x.data() : nullptr, (added & bit) != 0};
        };
        products.attention_backward(a, q.data(), k.data(), v.data(), out.data(), statistics.data(),
                                    dout.data(), sink(dq, 1), sink(dk, 2), sink(dv, 4));
    }
    // The same for query t alone.
    Attend query(int64_t t) const {
        Attend one = *this;
        one.a.queries = 1;
        one.q.assign(q.begin() + t * a.q_row, q.begin() + (t + 1) * a.q_row);
        one.out.assign(one.q.size(), kNan);
        return one;
    }
};

// Both precisions.
inline std::vector<autograd::kernels::Products> each_precision() {
    return {autograd::kernels::cpu().float32, autograd::kernels::cpu().bf16};
}

}  // namespace plaingrad::tests
