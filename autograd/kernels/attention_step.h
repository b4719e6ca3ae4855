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

// q, k, v, out: those of the whole attention. w: room for the scores of a block of keys.
inline void attend_once(const Head& h, const Real* q, const Real* k, const Real* v, Real* out,
                        Real* statistics, Real* w) {
    const Attention& a = *h.a;
    const Vec scale = broadcast(a.scale);
    const auto multiply_out = [&](Vec factor) {
        for (int64_t i = 0; i < a.d; i += kLanes)
            store(out + h.out(0) + i, a.d - i, load(out + h.out(0) + i, a.d - i) * factor);
    };
    RunningSoftmax softmax;
    for_key_blocks(h.limit(0), [&](Keys keys) {
        const int64_t n = keys.count();
        sum_transposed(n, a.d, q + h.query(0), 1, k + h.key(keys.begin), a.kv_row, w);
        Vec largest = broadcast(-kInfinity);
        for (int64_t s = 0; s < n; s += kLanes)
            largest = max(largest, load(w + s, n - s, -kInfinity));
        const Vec before = softmax.move_to(keys.begin == 0, broadcast(reduce_max(largest)) * scale);
        const Real shift = first_lane(softmax.shift);
        const Vec sum = sum_terms(n, kLanes, [&](Vec so_far, int64_t s) {
            const Vec e = exp_of(w + s, n - s, scale, shift);
            store(w + s, e);
            return so_far + e;
        });
        softmax.total = softmax.total + broadcast(reduce_add(sum));
        if (keys.begin > 0)
            multiply_out(before);
        const Out to = {out + h.out(0), keys.begin > 0};
        product(Product<Real>{n, w, 0, 1, v + h.key(keys.begin), a.kv_row, to, 0, a.d}, 1);
    });
    multiply_out(softmax.factor());
    statistics[2 * h.row(0)] = first_lane(softmax.shift);
    statistics[2 * h.row(0) + 1] = first_lane(softmax.factor());
}

}  // namespace
}  // namespace plaingrad::autograd::kernels
