// The softmax between attention's two products, and its gradient. See attention.cpp for the whole.
//
// It works on 16 queries of a head and one block of keys at a time, between the products, while the scores
// are in the L1 cache. The maxima and sums of the 16 rows are reduced together (row.h).
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
        return (sentence * (a->keys + a->kv_spare) + s) * a->kv_row + head / a->group * a->d;
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

// Keys begin ... end - 1 of a head. All blocks but the last have kKeyBlock. With 256, texts of 4096 words
// took a tenth longer (Zen 5), because the output is read and written for each block.
constexpr int64_t kKeyBlock = 512;
struct Keys {
    int64_t begin, end;
    int64_t count() const { return end - begin; }
};

// f(keys) for each block of the first `count` keys; for an empty block if there are none.
template <class F>
void for_key_blocks(int64_t count, const F& f) {
    for (int64_t s = 0; s == 0 || s < count; s += kKeyBlock)
        f(Keys{s, larger(s, smaller(s + kKeyBlock, count))});
}

// Queries first ... first + count - 1 of a head, and a block of keys. The scores, then weights, are rows of
// w, `width` apart; in backward dw is the gradient of the weights, then of the scores. `factors` is room for
// bfloat16, which are packed just before they are multiplied.
struct Block {
    Head h;
    int64_t first, count;
    Real *w, *dw;
    int64_t width;
    Real* factors;
    Keys keys = {};

    // How many of the keys row r sees, before `allowed`; and how many the last row does, which sees most.
    int64_t seen(int64_t r) const { return larger(0, smaller(h.limit(first + r), keys.end) - keys.begin); }
    int64_t seen() const { return count > 0 ? seen(count - 1) : 0; }
    bool sees(int64_t r, int64_t s) const { return h.sees(first + r, keys.begin + s); }
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

// Row r's number s and the 15 after it, after dropout, the same in forward and backward.
inline Vec drop(const Block& b, int64_t r, int64_t s, Vec x) {
    return b.h.drop_out(x, b.h.row(b.first + r) * b.h.a->keys + b.keys.begin + s);
}

// If the mask is a pattern of pairs: row[s] = value for those of the keys that are hidden.
void hide(const Block& b, Real* rows, Real value) {
    for (int64_t r = 0; b.h.a->mask.allowed != nullptr && r < b.count; ++r)
        for (int64_t s = 0; s < b.seen(r); ++s)
            if (!b.sees(r, s))
                rows[r * b.width + s] = value;
}

// A number for each of 16 rows.
struct alignas(64) Lanes {
    Real of[kQueries];
    explicit Lanes(Vec x) { store(of, x); }
};

// f(r), a Vec of each row, reduced to one number a row; 0 for rows that the block lacks.
template <class Reduce, class F>
[[gnu::always_inline]] inline Vec for_rows_of(const Block& b, const Reduce& reduce, const F& f) {
    alignas(64) Real lanes[kQueries * kLanes];
    for (int64_t r = 0; r < kQueries; ++r)
        store(lanes + r * kLanes, r < b.count ? f(r) : zero());
    return reduce_rows(lanes, reduce);
}

constexpr auto kLargestOf = [](Vec x, Vec y) { return max(x, y); };
constexpr auto kSumOf = [](Vec x, Vec y) { return x + y; };

// ---- forward: a softmax that sees the keys once (Milakov and Gimelshein 2018, algorithm 3)
//
// The largest score of a row is known only at its end. So exp(score - shift) takes for the shift the largest
// so far; when a larger one comes, all sums up to there are multiplied by exp(old shift - new shift).

struct RunningSoftmax {
    Vec shift, total;  // Σ exp(score - shift)

    // Before the terms of a block with this largest score: returns what sums up to there are multiplied by.
    Vec move_to(bool first_block, Vec largest) {
        largest = at_least(-kLargest, largest);  // a number also where no key is allowed
        const Vec before = first_block ? largest : shift;
        shift = max(before, largest);
        const Vec factor = exp(before - shift);
        total = first_block ? zero() : total * factor;
        return factor;
    }
    // 1 / Σ exp; 0 if no key was allowed.
    Vec factor() const { return select(equal(total, zero()), zero(), broadcast(1) / total); }
};

// Turns scores into exp(score - shift), after dropout. Returns what the output so far is multiplied by.
inline Vec exp_of_scores(const Block& b, RunningSoftmax& softmax) {
    const Vec scale = broadcast(b.h.a->scale);
    hide(b, b.w, -kInfinity);
    const Vec largest = for_rows_of(b, kLargestOf, [&](int64_t r) {
        const Real* const row = b.w + r * b.width;
        Vec so_far = broadcast(-kInfinity);
        for (int64_t s = 0, n = b.seen(r); s < n; s += kLanes)
            so_far = max(so_far, load(row + s, n - s, -kInfinity));
        return so_far;
    });
    const Vec before = softmax.move_to(b.keys.begin == 0, largest * scale);
    const Lanes shift(softmax.shift);
    softmax.total = softmax.total + for_rows_of(b, kSumOf, [&](int64_t r) {
                        Real* const row = b.w + r * b.width;
                        const int64_t n = b.seen(r);
                        return sum_terms(n, kLanes, [&](Vec sum, int64_t s) {
                            const Vec e = exp_of(row + s, n - s, scale, shift.of[r]);
                            store(row + s, drop(b, r, s, e));
                            return sum + e;
                        });
                    });
    return before;
}

// ---- from the two numbers of each query that forward kept: its last shift, and 1 / Σ exp

inline const Real* kept_of(const Block& b, int64_t r, const Real* statistics) {
    return statistics + 2 * b.h.row(b.first + r);
}

// Turns scores into weights, after dropout: forward needs them only to show them.
void weights_of_scores(const Block& b, const Real* statistics) {
    const Vec scale = broadcast(b.h.a->scale);
    for (int64_t r = 0; r < b.count; ++r) {
        const Real* const kept = kept_of(b, r, statistics);
        Real* const row = b.w + r * b.width;
        for (int64_t s = 0, n = b.seen(r); s < n; s += kLanes)
            store(row + s, drop(b, r, s, exp_of(row + s, n - s, scale, kept[0]) * broadcast(kept[1])));
    }
}

// With e = exp(score - shift), m dropout's factors and dout' = dout / Σ exp:
//     dscores = scale e (m dout' vᵀ - dout'·out)
// From scores in w and dout' vᵀ in dw to e m in w, which dv needs, and dscores in dw. dots: dout'·out.
void score_gradients(const Block& b, const Real* statistics, const Lanes& dots) {
    const Vec scale = broadcast(b.h.a->scale);
    hide(b, b.w, -kInfinity);
    hide(b, b.dw, 0);  // the value may be NaN, and 0 * NaN is
    for (int64_t r = 0; r < b.count; ++r) {
        Real *const row = b.w + r * b.width, *const drow = b.dw + r * b.width;
        const Real shift = kept_of(b, r, statistics)[0];
        for (int64_t s = 0, n = b.seen(r); s < n; s += kLanes) {
            const Vec e = exp_of(row + s, n - s, scale, shift), m = drop(b, r, s, broadcast(1));
            store(drow + s, e * (load(drow + s, n - s) * m - broadcast(dots.of[r])) * scale);
            store(row + s, e * m);
        }
    }
}

}  // namespace
}  // namespace plaingrad::autograd::kernels
