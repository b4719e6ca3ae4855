// Attention of a single query: what each step of decoding computes for each sentence and head.
//
// The blocks of attention.cpp are made for 16 queries, which share the transposed keys and whose maxima and
// sums are reduced together. With one query that machinery costs more than the arithmetic. Here the scores
// are a thin product (gemm_thin.h), which transposes keys on their way through the registers. Every number is
// computed in the same order as there, so the bits are the same: with the cache and without.
#pragma once

#include "autograd/kernels/attention_products.h"
#include "autograd/kernels/gemm_thin.h"

namespace plaingrad::autograd::kernels {
namespace {

// The weights are not wanted, none is dropped, and the allowed keys are the first ones.
inline bool is_single_step(const Attention& a, const Real* weights) {
    return a.queries == 1 && weights == nullptr && a.dropout == 0 && a.mask.allowed == nullptr;
}

// out = Σ_s w[s] rows[s], n rows of d numbers. Bfloat16: rows are rounded on their way through the registers,
// four Vecs at a time.
inline void weighted_sum(int64_t n, int64_t d, const Real* w, Rows<Real> rows, Out out) {
    product(Product<Real>{n, w, 0, 1, rows.data, rows.row, out, 0, d}, 1);
}
inline void weighted_sum(int64_t n, int64_t d, const Bf16* w, Rows<Real> rows, Out out) {
    for (int64_t first = 0; first < d; first += 4 * kLanes) {
        Vec sums[4] = {};
        const auto for_vecs = [&](const auto& f) {
#pragma GCC unroll 4
            for (int64_t j = 0; j < 4; ++j)
                if (first + j * kLanes < d)
                    f(first + j * kLanes, d - first - j * kLanes, sums[j]);
        };
        {
            [[maybe_unused]] const Arithmetic<Bf16> arithmetic{};
            for (int64_t s = 0; s < n; s += 2)
                for_vecs([&](int64_t at, int64_t lanes, Vec& sum) {
                    const Vec odd = s + 1 < n ? load(rows.at(s + 1) + at, lanes) : zero();
                    sum = add_pair(w + count_of<Bf16>(s), 1, load(rows.at(s) + at, lanes), odd, sum);
                });
        }
        for_vecs([&](int64_t at, int64_t lanes, const Vec& sum) { put(out, at, lanes, sum); });
    }
}

// What attend_once needs: the scores of a block of keys, and as bfloat16 the factors q and weights.
template <class T>
int64_t step_size(const Attention& a) {
    return score_width(a) + 2 * factors_size<T>(a);
}

// q, k, v, out: those of the whole attention. w: step_size numbers.
template <class T>
void attend_once(const Head& h, const Real* q, const Real* k, const Real* v, Real* out, Real* statistics,
                 Real* w) {
    const Attention& a = *h.a;
    Real *const of_q = w + score_width(a), *const of_w = of_q + factors_size<T>(a);
    const Rows<T> x = chain_factors<T>({q + h.query(0), a.q_row}, 1, a.d, of_q);
    const Vec scale = broadcast(a.scale);
    const auto multiply_out = [&](Vec factor) {
        for (int64_t i = 0; i < a.d; i += kLanes)
            store(out + h.out(0) + i, a.d - i, load(out + h.out(0) + i, a.d - i) * factor);
    };
    RunningSoftmax softmax;
    for_key_blocks(h.limit(0), [&](Keys keys) {
        const int64_t n = keys.count();
        sum_transposed(n, a.d, x.data, 1, k + h.key(keys.begin), a.kv_row, w);
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
        const Rows<T> factors = chain_factors<T>({w, 0}, 1, n, of_w);
        weighted_sum(n, a.d, factors.data, {v + h.key(keys.begin), a.kv_row},
                     {out + h.out(0), keys.begin > 0});
    });
    multiply_out(softmax.factor());
    statistics[2 * h.row(0)] = first_lane(softmax.shift);
    statistics[2 * h.row(0) + 1] = first_lane(softmax.factor());
}

}  // namespace
}  // namespace plaingrad::autograd::kernels
