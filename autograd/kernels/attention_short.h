// Attention of a short text, at most 16 queries and 16 keys. Part of attention.cpp.
//
// Blocks made for long texts cost a short one more than its arithmetic. Here the scores lie transposed: a Vec has
// one key's for all queries. So the maximum and the sum over the keys are those of whole Vecs, and nothing goes
// from lane to lane. Every number is computed in the same order as in blocks, so the bits are the same.
#pragma once

#include "autograd/kernels/attention_products.h"

namespace plaingrad::autograd::kernels {
namespace {

// Numbers of a row of transposed scores; and the most keys.
constexpr int64_t kShort = kLanes;

// Its mask is no pattern, and the elements of dropout are all in the first block (random.h).
inline bool is_short(const Attention& a) {
    return a.queries <= kQueries && a.keys <= kShort && a.mask.allowed == nullptr &&
           a.batch * a.heads * a.queries * a.keys <= int64_t(UINT32_MAX);
}

// Queries, or gradients of outputs, transposed: (d, 16).
template <class T>
const T* transposed(const Block& b, Rows<Real> rows, Real* to) {
    T* const at = reinterpret_cast<T*>(to);
    pack_right(b.h.a->d, b.count, true, rows.data, rows.row, at, kShort);
    return at;
}

// to[s] = keys[s] qᵀ: scores before they are scaled. `queries` is transposed.
template <class T>
void dot_products_by_key(const Block& b, Rows<Real> keys, const T* queries, Real* to) {
    const int64_t d = b.h.a->d, n = b.seen();
    const Chains<T> x = along_rows<T>(keys.data, keys.row, n, d, b.factors);
    product<1>(Product<T>{d, x.data, x.row, x.step, queries, kShort, {to}, kShort, kShort}, n);
}

// Key s for all queries; `fill` for those that do not see it.
inline Vec seen_or(const Block& b, int64_t s, Vec x, Real fill) {
    const Attention& a = *b.h.a;
    return a.mask.causal ? select(first_of(s - a.keys + a.queries), broadcast(fill), x) : x;
}
inline Vec exp_by_key(const Block& b, int64_t s, Vec shift) {
    const Vec x = load(b.w + s * kShort) * broadcast(b.h.a->scale) - shift;
    return seen_or(b, s, exp(seen_or(b, s, x, 0)), 0);
}
inline Vec drop_by_key(const Block& b, int64_t s, Vec x) {
    const auto keys = static_cast<uint32_t>(b.h.a->keys);
    const auto first = static_cast<uint32_t>(b.h.row(0) * keys + s);
    return b.h.drop_out.in_first_block(x, int_broadcast(first) + lane_numbers() * int_broadcast(keys));
}

// The keys' terms, joined by the tree in which reduce_each joins the lanes of a row.
template <class Join, class F>
Vec for_keys(int64_t n, Real nothing, const Join& join, const F& term) {
    Vec terms[kShort];
    for (int64_t s = 0; s < kShort; ++s)
        terms[s] = s < n ? term(s) : broadcast(nothing);
#pragma GCC unroll 4
    for (int64_t half = kShort / 2; half > 0; half /= 2)
#pragma GCC unroll 8
        for (int64_t s = 0; s < half; ++s)
            terms[s] = join(terms[s], terms[s + half]);
    return terms[0];
}

// Turns scores into exp(score - shift), after dropout.
inline RunningSoftmax exp_of_scores_by_key(const Block& b) {
    const int64_t n = b.seen();
    RunningSoftmax softmax;
    softmax.move_to(true, for_keys(n, -kInfinity, kLargestOf, [&](int64_t s) {
                              return seen_or(b, s, load(b.w + s * kShort), -kInfinity);
                          }) * broadcast(b.h.a->scale));
    softmax.total = for_keys(n, 0, kSumOf, [&](int64_t s) {
        const Vec e = exp_by_key(b, s, softmax.shift);
        store(b.w + s * kShort, drop_by_key(b, s, e));
        return e;
    });
    return softmax;
}

// As score_gradients.
inline void score_gradients_by_key(const Block& b, const Real* statistics, Vec dots) {
    alignas(64) Real shifts[kQueries] = {};
    for (int64_t r = 0; r < b.count; ++r)
        shifts[r] = kept_of(b, r, statistics)[0];
    const Vec shift = load(shifts), scale = broadcast(b.h.a->scale);
    for (int64_t s = 0, n = b.seen(); s < n; ++s) {
        Real *const row = b.w + s * kShort, *const drow = b.dw + s * kShort;
        const Vec e = exp_by_key(b, s, shift), m = drop_by_key(b, s, broadcast(1));
        store(drow, e * (load(drow) * m - dots) * scale);
        store(row, e * m);
    }
}

}  // namespace
}  // namespace plaingrad::autograd::kernels
