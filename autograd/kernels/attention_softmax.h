// The softmax between attention's two products, and its gradient. See attention.cpp for the whole.
//
// It works on blocks of 16 queries of a head, whose maxima and sums are reduced together (row.h), and, where
// it can, on one block of keys at a time, before and after the products, while these numbers are in the L1
// cache:
//
//   forward    largest_scores    per block of keys
//              exp_of_scores     whole rows
//              weights_of_exp    per block of keys
//   backward   weights_again     per block of keys
//              sum_chains        whole rows
//              score_gradients   per block of keys
#pragma once

#include "autograd/kernels/product.h"
#include "autograd/kernels/random.h"
#include "autograd/kernels/row.h"

namespace plaingrad::autograd::kernels {
namespace {

constexpr Real kLargest = kRealIsDouble ? Real(__DBL_MAX__) : Real(__FLT_MAX__);
constexpr int64_t kQueries = kLanes;  // of a block

inline int64_t round_up(int64_t n) { return (n + kLanes - 1) / kLanes * kLanes; }

// One head: where its rows begin, and which keys its queries see.
struct Head {
    const Attention* a;
    int64_t batch, head;
    DropOut drop_out;

    int64_t out_row() const { return a->heads * a->d; }
    int64_t out(int64_t t) const { return (batch * a->queries + t) * out_row() + head * a->d; }
    int64_t query(int64_t t) const { return (batch * a->queries + t) * a->q_row + head * a->d; }
    int64_t key(int64_t s) const {
        const int64_t sentence = a->kv_rows != nullptr ? a->kv_rows[batch] : batch;
        return (sentence * a->keys + s) * a->kv_row + head * a->d;
    }
    int64_t row(int64_t t) const { return (batch * a->heads + head) * a->queries + t; }

    int64_t count() const { return a->mask.key_counts != nullptr ? a->mask.key_counts[batch] : a->keys; }
    // Keys that query t may see, before `allowed`: those up to this number.
    int64_t limit(int64_t t) const {
        return a->mask.causal ? smaller(t + 1 + a->keys - a->queries, count()) : count();
    }
    bool sees(int64_t t, int64_t s) const {
        return s < limit(t) &&
               (a->mask.allowed == nullptr || a->mask.allowed[(batch * a->queries + t) * a->keys + s] != 0);
    }
};

inline Head head_of(const Attention& a, int64_t task) {
    return {&a, task / a.heads, task % a.heads, DropOut(a.key, a.dropout)};
}

// Queries first ... first + count - 1 of a head. Their scores, then weights, are rows of w, `width` apart; in
// backward dw is the gradient of the weights, then of the scores. `partial` is room for what is reduced over
// a row: its rows are `partial_row` apart and have 16 numbers; in backward 16 for each chain of the row's
// sum. `factors` is room for bfloat16, which are packed just before they are multiplied.
struct Block {
    Head h;
    int64_t first, count;
    Real *w, *dw;
    int64_t width;
    Real* partial;
    int64_t partial_row;
    Real* factors = nullptr;

    int64_t limit(int64_t r) const { return h.limit(first + r); }
};

// Keys begin ... end - 1 of a head.
struct Keys {
    int64_t begin, end;
};

// exp(scale x - shift) for 16 of a row's scores. Lanes from n on give 0, whatever is in memory. They are not
// computed as exp(-inf): its last step rounds to a subnormal number, which costs a processor 100 cycles.
inline Vec exp_of(const Real* row, int64_t n, Vec scale, Real shift) {
    const Vec x = load(row) * scale - broadcast(shift);
    if (n >= kLanes)
        return exp(x);
    const Mask score = first_of(n);
    return select(score, exp(select(score, x, zero())), zero());
}

// x after dropout, the same in forward and backward.
inline Vec drop(const Head& h, int64_t t, int64_t s, Vec x) {
    return h.drop_out(x, h.row(t) * h.a->keys + s);
}

// If the mask is a pattern of pairs: row[s] = value for those of the keys that are hidden.
void hide(const Block& b, Keys keys, Real* rows, Real value) {
    for (int64_t r = 0; b.h.a->mask.allowed != nullptr && r < b.count; ++r)
        for (int64_t s = keys.begin; s < smaller(keys.end, b.limit(r)); ++s)
            if (!b.h.sees(b.first + r, s))
                rows[r * b.width + s] = value;
}

// Rows that a block lacks, before all 16 are reduced.
inline void clear_rows(Real* lanes, int64_t count) {
    for (int64_t r = count; r < kQueries; ++r)
        store(lanes + r * kLanes, zero());
}

// The largest of each row's scores so far, in 16 partial maxima.
void largest_scores(const Block& b, Keys keys) {
    const Vec scale = broadcast(b.h.a->scale);
    hide(b, keys, b.w, -kInfinity);
    for (int64_t r = 0; r < b.count; ++r) {
        const Real* row = b.w + r * b.width;
        Real* const so_far = b.partial + r * b.partial_row;
        Vec largest = keys.begin == 0 ? broadcast(-kInfinity) : load(so_far);
        for (int64_t s = keys.begin, n = smaller(b.limit(r), keys.end); s < n; s += kLanes)
            largest = max(largest, load(row + s, n - s, -kInfinity) * scale);
        store(so_far, largest);
    }
}

// Turns scores into exp(score - the largest). It and 1 / Σ exp of each query are kept for backward. The
// partial maxima are 16 apart; the factors replace them.
void exp_of_scores(const Block& b, Real* statistics) {
    Real* const lanes = b.partial;
    alignas(64) Real shift[kQueries];
    clear_rows(lanes, b.count);
    const Vec scale = broadcast(b.h.a->scale);
    const Vec largest = reduce_rows(lanes, [](Vec x, Vec y) { return max(x, y); });
    store(shift, at_least(-kLargest, largest));  // a number also where no key is allowed
    for (int64_t r = 0; r < b.count; ++r) {
        Real* row = b.w + r * b.width;
        const int64_t n = b.limit(r);
        store(lanes + r * kLanes, sum_terms(n, kLanes, [&](Vec sum, int64_t s) {
                  const Vec e = exp_of(row + s, n - s, scale, shift[r]);
                  store(row + s, e);
                  return sum + e;
              }));
    }
    store(lanes, broadcast(1) / sum_rows(lanes));
    for (int64_t r = 0; r < b.count; ++r) {
        Real* kept = statistics + 2 * b.h.row(b.first + r);
        kept[0] = shift[r];
        kept[1] = lanes[r];
    }
}

// Turns these into the weights, after dropout.
void weights_of_exp(const Block& b, Keys keys) {
    for (int64_t r = 0; r < b.count; ++r) {
        Real* row = b.w + r * b.width;
        const Vec factor = broadcast(b.partial[r]);
        for (int64_t s = keys.begin, n = smaller(b.limit(r), keys.end); s < n; s += kLanes)
            store(row + s, drop(b.h, b.first + r, s, load(row + s) * factor));
    }
}

constexpr int64_t kChainKeys = kChain * kLanes;  // of a chain of a row's sum

// With m the dropout factors, dscores = scale w (dw m - Σ w dw m). Here scores become w again, and each chain
// of the sum is computed; blocks of keys begin where a chain does.
void weights_again(const Block& b, Keys keys, const Real* statistics) {
    const Vec scale = broadcast(b.h.a->scale);
    hide(b, keys, b.w, -kInfinity);
    hide(b, keys, b.dw, 0);  // the value may be NaN, and 0 * NaN is
    for (int64_t r = 0; r < b.count; ++r) {
        Real *row = b.w + r * b.width, *drow = b.dw + r * b.width;
        const int64_t n = smaller(b.limit(r), keys.end), t = b.first + r;
        const Real* kept = statistics + 2 * b.h.row(t);
        for (int64_t first = keys.begin; first == 0 || first < n; first += kChainKeys)
            store(b.partial + r * b.partial_row + first / kChain,
                  sum_chain(first, smaller(n, first + kChainKeys), kLanes, zero(), [&](Vec dot, int64_t s) {
                      const Vec w = exp_of(row + s, n - s, scale, kept[0]) * broadcast(kept[1]);
                      store(row + s, w);
                      return fma(w, drop(b.h, t, s, load(drow + s, n - s)), dot);
                  }));
    }
}

// The first 16 of `partial` become Σ w dw m of each query.
void sum_chains(const Block& b) {
    alignas(64) Real lanes[kQueries * kLanes];
    clear_rows(lanes, b.count);
    for (int64_t r = 0; r < b.count; ++r)
        store(lanes + r * kLanes,
              tree(0, (larger(1, b.limit(r)) + kChainKeys - 1) / kChainKeys, 1, [&](int64_t chain, int64_t) {
                  return load(b.partial + r * b.partial_row + chain * kLanes);
              }));
    store(b.partial, sum_rows(lanes));
}

// In place, the weights become those after dropout, and the gradients of the weights those of q kᵀ.
void score_gradients(const Block& b, Keys keys) {
    const Vec scale = broadcast(b.h.a->scale);
    for (int64_t r = 0; r < b.count; ++r) {
        Real *row = b.w + r * b.width, *drow = b.dw + r * b.width;
        const int64_t n = smaller(b.limit(r), keys.end);
        for (int64_t s = keys.begin; s < n; s += kLanes) {
            const Vec w = load(row + s), m = drop(b.h, b.first + r, s, broadcast(1));
            store(drow + s, w * (load(drow + s, n - s) * m - broadcast(b.partial[r])) * scale);
            store(row + s, w * m);
        }
    }
}

}  // namespace
}  // namespace plaingrad::autograd::kernels
