// Attention of a single query: what each step of decoding computes for each sentence and head.
//
// The blocks of attention.cpp are made for 16 queries, which share the transposed keys and whose maxima and
// sums are reduced together. With one query that machinery costs more than the arithmetic. Here the scores
// are a thin product (gemm_thin.h), which transposes keys on their way through the registers. Every number is
// computed in the same order as there, so the bits are the same: with the cache and without.
#pragma once

#include "autograd/kernels/attention_softmax.h"
#include "autograd/kernels/gemm_thin.h"

namespace plaingrad::autograd::kernels {
namespace {

// The weights are not wanted, none is dropped, and the allowed keys are the first ones.
inline bool is_single_step(const Attention& a, const Real* weights) {
    return a.queries == 1 && weights == nullptr && a.dropout == 0 && a.mask.allowed == nullptr;
}

// q, k, v, out: those of the whole attention. w: room for the scores, whole Vecs.
inline void attend_once(const Head& h, const Real* q, const Real* k, const Real* v, Real* out,
                        Real* statistics, Real* w) {
    const Attention& a = *h.a;
    const int64_t n = h.limit(0);
    sum_transposed(n, a.d, q + h.query(0), 1, k + h.key(0), a.kv_row, w);
    const Vec scale = broadcast(a.scale);
    Vec largest = broadcast(-kInfinity);
    for (int64_t s = 0; s < n; s += kLanes)
        largest = max(largest, load(w + s, n - s, -kInfinity) * scale);
    const Real shift = first_lane(at_least(-kLargest, broadcast(reduce_max(largest))));
    const Real factor = Real(1) / reduce_add(sum_terms(n, kLanes, [&](Vec sum, int64_t s) {
                            const Vec e = exp_of(w + s, n - s, scale, shift);
                            store(w + s, e);
                            return sum + e;
                        }));
    for (int64_t s = 0; s < n; s += kLanes)
        store(w + s, load(w + s) * broadcast(factor));
    for (int64_t s = 0; s == 0 || s < n; s += kGemmBlockK)
        product(Product<Real>{smaller(kGemmBlockK, n - s),
                              w + s,
                              0,
                              1,
                              v + h.key(s),
                              a.kv_row,
                              {out + h.out(0), s > 0},
                              0,
                              a.d},
                1);
    statistics[2 * h.row(0)] = shift;
    statistics[2 * h.row(0) + 1] = factor;
}

}  // namespace
}  // namespace plaingrad::autograd::kernels
