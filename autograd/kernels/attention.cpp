// Scaled dot-product attention, "Attention Is All You Need", §3.2.1, equation 1. Part of unit.cpp.
//
//   weights = softmax(q kᵀ scale)        per head, over the keys that the mask allows
//   out     = dropout(weights) v
//
#include "autograd/base/parallel.h"
#include "autograd/base/scratch.h"
#include "autograd/kernels/product.h"
#include "autograd/kernels/random.h"
#include "autograd/kernels/row.h"

namespace autograd::kernels {
namespace {

inline int64_t round_up(int64_t n) { return (n + kLanes - 1) / kLanes * kLanes; }

// Queries whose softmax is taken together: their 16 maxima, and their 16 sums, fill one Vec.
constexpr int64_t kQueries = kLanes;

// Queries of a block of backward: a multiple of kQueries.
constexpr int64_t kBackwardQueries = 64;

constexpr Real kLargest = kRealIsDouble ? Real(__DBL_MAX__) : Real(__FLT_MAX__);

// One head: where its rows begin, and how far they are apart.
struct Head {
    const Attention& a;
    int64_t batch, head;

    Head(const Attention& attention, int64_t task)
        : a(attention), batch(task / attention.heads), head(task % attention.heads) {}

    int64_t out_row() const { return a.heads * a.d; }
    int64_t out(int64_t t) const { return (batch * a.queries + t) * out_row() + head * a.d; }
    int64_t query(int64_t t) const { return (batch * a.queries + t) * a.q_row + head * a.d; }
    int64_t key(int64_t s) const { return (batch * a.keys + s) * a.kv_row + head * a.d; }
    int64_t row(int64_t t) const { return (batch * a.heads + head) * a.queries + t; }

    int64_t count() const { return a.mask.key_counts != nullptr ? a.mask.key_counts[batch] : a.keys; }
    // Keys that query t may see, before `allowed`: those up to this number.
    int64_t limit(int64_t t) const {
        return a.mask.causal ? smaller(t + 1 + a.keys - a.queries, count()) : count();
    }
    bool sees(int64_t t, int64_t s) const {
        return s < limit(t) &&
               (a.mask.allowed == nullptr || a.mask.allowed[(batch * a.queries + t) * a.keys + s] != 0);
    }
};

// Rows of scores: one more Vec than the keys need if their number is even, so that the rows' lines of memory
// spread over all sets of the cache.
inline int64_t row_width(int64_t keys) { return (round_up(keys) / kLanes | 1) * kLanes; }

// x[i] joined with x[i + half] for all i < half, then with half of that: 16 Vecs become one, whose lane r is the
// reduction of Vec r by the tree that reduce_add has.
template <int half = kLanes / 2, class F>
inline Vec reduce_each(Vec* x, const F& f) {
#pragma GCC unroll 8
    for (int i = 0; i < half; ++i)
        x[i] = f(interleave_low(x[i], x[i + half]), interleave_high(x[i], x[i + half]));
    if constexpr (half > 1)
        return reduce_each<half / 2>(x, f);
    else
        return x[0];
}
template <class F>
inline Vec reduce_each_row(const Real* rows, const F& f) {
    Vec x[kLanes];
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i)
        x[i] = load(rows + i * kLanes);
    return reduce_each(x, f);
}

// to (d, width) = the transpose of n rows of d, so that 16 keys stand side by side; zeros up to a whole Vec.
// Four times, each Vec is interleaved with the one 8 further: 16 x 16 numbers are then transposed.
void transpose_rows(int64_t n, int64_t d, const Real* rows, int64_t row, Real* to, int64_t width) {
    for (int64_t s = 0; s < n; s += kLanes)
        for (int64_t i = 0; i < d; i += kLanes) {
            Vec x[kLanes], y[kLanes];
#pragma GCC unroll 16
            for (int r = 0; r < kLanes; ++r)
                x[r] = s + r < n ? load(rows + (s + r) * row + i, d - i) : zero();
#pragma GCC unroll 2
            for (int round = 0; round < 2; ++round) {
#pragma GCC unroll 8
                for (int r = 0; r < kLanes / 2; ++r) {
                    y[2 * r] = interleave_low(x[r], x[r + kLanes / 2]);
                    y[2 * r + 1] = interleave_high(x[r], x[r + kLanes / 2]);
                }
#pragma GCC unroll 8
                for (int r = 0; r < kLanes / 2; ++r) {
                    x[2 * r] = interleave_low(y[r], y[r + kLanes / 2]);
                    x[2 * r + 1] = interleave_high(y[r], y[r + kLanes / 2]);
                }
            }
#pragma GCC unroll 16
            for (int r = 0; r < kLanes; ++r)
                if (i + r < d)
                    store(to + (i + r) * width + s, x[r]);
        }
}

// Some queries of a head, at most kQueries, and their scores: rows of w, `width` apart.
struct Block {
    const Head& h;
    int64_t first, count;
    Real* w;
    int64_t width;

    Real* row(int64_t r) const { return w + r * width; }
    int64_t limit(int64_t r) const { return h.limit(first + r); }
};

// 16 of a row's scores, times scale; those from n on are no scores.
inline Vec scaled(const Real* row, int64_t n, Vec scale) {
    const Vec x = load(row) * scale;
    return n >= kLanes ? x : select(first_of(n), x, broadcast(-kInfinity));
}

// With a pattern of allowed pairs: scores of the others become -inf.
void hide_scores(const Block& b) {
    for (int64_t r = 0; b.h.a.mask.allowed != nullptr && r < b.count; ++r)
        for (int64_t s = 0; s < b.limit(r); ++s)
            if (!b.h.sees(b.first + r, s))
                b.row(r)[s] = -kInfinity;
}

// row *= 0 or 1/(1-p), the same in forward and backward.
inline Vec drop(const Head& h, int64_t t, int64_t s, Vec x) {
    return h.a.dropout > 0 ? x * keep_scale(h.a.key, h.row(t) * h.a.keys + s, h.a.dropout) : x;
}

// Scores become weights; largest score and 1 / Σ exp are kept.
void softmax_of_scores(const Block& b, Real* statistics) {
    alignas(64) Real lanes[kQueries * kLanes], shift[kQueries], factor[kQueries];
    const Vec scale = broadcast(b.h.a.scale);
    hide_scores(b);
    for (int64_t r = 0; r < b.count; ++r) {
        const int64_t n = b.limit(r);
        Vec largest = broadcast(-kInfinity);
        for (int64_t s = 0; s < n; s += kLanes)
            largest = max(largest, scaled(b.row(r) + s, n - s, scale));
        store(lanes + r * kLanes, largest);
    }
    // A number also where no key is allowed, though nobody reads that query's weights.
    store(shift, at_least(-kLargest, reduce_each_row(lanes, [](Vec x, Vec y) { return max(x, y); })));
    for (int64_t r = 0; r < b.count; ++r) {
        const int64_t n = b.limit(r);
        Vec sum = zero();
        for (int64_t s = 0; s < n; s += kLanes) {
            const Vec e = exp(scaled(b.row(r) + s, n - s, scale) - broadcast(shift[r]));
            store(b.row(r) + s, e);
            sum = sum + e;
        }
        store(lanes + r * kLanes, sum);
    }
    store(factor, broadcast(1) / reduce_each_row(lanes, [](Vec x, Vec y) { return x + y; }));
    for (int64_t r = 0; r < b.count; ++r) {
        const int64_t n = b.limit(r);
        for (int64_t s = 0; s < n; s += kLanes)
            store(b.row(r) + s, drop(b.h, b.first + r, s, load(b.row(r) + s) * broadcast(factor[r])));
        statistics[2 * r] = shift[r];
        statistics[2 * r + 1] = factor[r];
    }
}

// out[t] = Σ_s w[t][s] rows[s], over the keys that query t may see.
void weighted_sums(const Block& b, const Real* rows, Out out, int64_t out_row) {
    const Attention& a = b.h.a;
    const Product p = {b.limit(b.count - 1),
                       b.w,
                       b.width,
                       1,
                       rows,
                       a.kv_row,
                       out,
                       out_row,
                       a.d,
                       a.mask.causal ? Staircase::end : Staircase::none,
                       b.first + 1 + a.keys - a.queries};
    if (a.mask.allowed == nullptr)
        return product(p, b.count);
    for (int64_t r = 0; r < b.count; ++r)
        product_row(p, r, [&](int64_t s) { return b.h.sees(b.first + r, s); });
}

// w = q kᵀ, over the keys that the last query may see, and some more.
void scores(const Block& b, const Real* q, int64_t q_row, const Real* keys_t) {
    const int64_t columns = round_up(b.limit(b.count - 1));
    product({b.h.a.d, q, q_row, 1, keys_t, b.width, {b.w}, b.width, columns}, b.count);
}

void write_weights(const Block& b, Real* weights) {
    const int64_t keys = b.h.a.keys;
    for (int64_t r = 0; r < b.count; ++r)
        for (int64_t s = 0; s < keys; ++s)
            weights[(b.h.row(b.first + r)) * keys + s] = b.h.sees(b.first + r, s) ? b.row(r)[s] : Real(0);
}

// Heads per chunk: enough work to be worth a thread's waking up.
int64_t heads_per_chunk(const Attention& a) {
    const int64_t work = a.queries * a.keys * a.d / 8 + 1;
    return work >= kGrainNumbers ? 1 : kGrainNumbers / work;
}

void attention(const Attention& a, const Real* q, const Real* k, const Real* v, Real* out, Real* weights,
               Real* statistics) {
    parallel_for(0, a.batch * a.heads, heads_per_chunk(a), [&](int64_t begin, int64_t end) {
        const int64_t width = row_width(a.keys);
        Real* keys_t = scratch(Scratch::attention, (a.d + kQueries) * width);  // (d, keys)
        Real* w = keys_t + a.d * width;                                        // (kQueries, keys)
        for (int64_t task = begin; task < end; ++task) {
            const Head h(a, task);
            transpose_rows(h.count(), a.d, k + h.key(0), a.kv_row, keys_t, width);
            for (int64_t t = 0; t < a.queries; t += kQueries) {
                const Block b = {h, t, smaller(kQueries, a.queries - t), w, width};
                scores(b, q + h.query(t), a.q_row, keys_t);
                softmax_of_scores(b, statistics + 2 * h.row(t));
                if (weights != nullptr)
                    write_weights(b, weights);
                weighted_sums(b, v + h.key(0), {out + h.out(t)}, h.out_row());
            }
        }
    });
}

// With w = softmax(scores), m = the dropout factors, dw = dout vᵀ:
//   dscores = w * (dw m - Σ w dw m)        dq = scale dscores k,   dk = scale dscoresᵀ q,   dv = (w m)ᵀ dout
// A block's scores become w m, and its dw becomes scale * dscores.
void softmax_backward(const Block& b, const Real* statistics, Real* dw) {
    const Attention& a = b.h.a;
    alignas(64) Real lanes[kQueries * kLanes];
    hide_scores(b);
    for (int64_t r = 0; r < b.count; ++r) {
        const int64_t n = b.limit(r), t = b.first + r;
        for (int64_t s = 0; a.mask.allowed != nullptr && s < n; ++s)
            if (!b.h.sees(t, s))
                dw[r * b.width + s] = 0;  // the value may be NaN, and 0 * NaN is
        Vec dot = zero();
        for (int64_t s = 0; s < n; s += kLanes) {
            const Vec e = exp(scaled(b.row(r) + s, n - s, broadcast(a.scale)) - broadcast(statistics[2 * r]));
            const Vec w = e * broadcast(statistics[2 * r + 1]);
            store(b.row(r) + s, w);
            dot = fma(w, drop(b.h, t, s, load(dw + r * b.width + s, n - s)), dot);
        }
        store(lanes + r * kLanes, dot);
    }
    alignas(64) Real mean[kQueries];
    store(mean, reduce_each_row(lanes, [](Vec x, Vec y) { return x + y; }));
    for (int64_t r = 0; r < b.count; ++r) {
        const int64_t n = b.limit(r), t = b.first + r;
        for (int64_t s = 0; s < n; s += kLanes) {
            Real *at_w = b.row(r) + s, *at_dw = dw + r * b.width + s;
            const Vec w = load(at_w), m = drop(b.h, t, s, broadcast(1));
            store(at_dw, w * (load(at_dw, n - s) * m - broadcast(mean[r])) * broadcast(a.scale));
            store(at_w, w * m);
        }
    }
}

// out[s] = Σ_t w[t][s] rows[t], over the queries t of a block that may see key s.
void weighted_sums_by_key(const Head& h, int64_t first, int64_t count, const Real* w, int64_t width,
                          const Real* rows, int64_t row, Out out) {
    const Attention& a = h.a;
    Product p = {count, w, 1, width, rows, row, {out.data + h.key(0), out.accumulate}, a.kv_row, a.d};
    int64_t seen = count > 0 ? h.limit(first + count - 1) : 0;
    if (a.mask.allowed != nullptr)
        for (int64_t s = 0; s < seen; ++s)
            product_row(p, s, [&](int64_t t) { return h.sees(first + t, s); });
    if (a.mask.allowed == nullptr) {
        // key s is seen by queries t >= s - (keys - queries), of the block's numbers t - first
        if (a.mask.causal)
            p.staircase = Staircase::begin, p.edge = -(a.keys - a.queries) - first;
        product(p, seen);
    }
    if (!out.accumulate && seen < a.keys) {
        p.n = 0, p.staircase = Staircase::none;
        p.y.data += seen * a.kv_row;
        product(p, a.keys - seen);
    }
}

struct HeadGradient {
    Real *keys_t, *values_t, *w, *dw;
    static int64_t size(const Attention& a) { return 2 * (a.d + kBackwardQueries) * row_width(a.keys); }
    HeadGradient(const Attention& a, Real* memory) {
        const int64_t width = row_width(a.keys);
        keys_t = memory;                    // (d, keys)
        values_t = keys_t + a.d * width;    // (d, keys)
        w = values_t + a.d * width;         // (kBackwardQueries, keys): weights
        dw = w + kBackwardQueries * width;  // (kBackwardQueries, keys): their gradients
    }
};

void attention_head_backward(const Head& h, const HeadGradient& g, const Real* q, const Real* k,
                             const Real* v, const Real* statistics, const Real* dout, Out dq, Out dk,
                             Out dv) {
    const Attention& a = h.a;
    const int64_t width = row_width(a.keys);
    transpose_rows(h.count(), a.d, k + h.key(0), a.kv_row, g.keys_t, width);
    transpose_rows(h.count(), a.d, v + h.key(0), a.kv_row, g.values_t, width);
    for (int64_t first = 0; first == 0 || first < a.queries; first += kBackwardQueries) {
        const int64_t count = smaller(kBackwardQueries, a.queries - first);
        for (int64_t t = first; t < first + count; t += kQueries) {
            const int64_t rows = smaller(kQueries, first + count - t);
            const Block b = {h, t, rows, g.w + (t - first) * width, width};
            const Block db = {h, t, rows, g.dw + (t - first) * width, width};
            scores(b, q + h.query(t), a.q_row, g.keys_t);
            scores(db, dout + h.out(t), h.out_row(), g.values_t);
            softmax_backward(b, statistics + 2 * h.row(t), db.w);
            if (dq.data != nullptr)
                weighted_sums(db, k + h.key(0), {dq.data + h.query(t), dq.accumulate}, a.q_row);
        }
        if (dk.data != nullptr)
            weighted_sums_by_key(h, first, count, g.dw, width, q + h.query(first), a.q_row, dk);
        if (dv.data != nullptr)
            weighted_sums_by_key(h, first, count, g.w, width, dout + h.out(first), h.out_row(), dv);
        dk.accumulate = dv.accumulate = true;
    }
}

void attention_backward(const Attention& a, const Real* q, const Real* k, const Real* v,
                        const Real* statistics, const Real* dout, Out dq, Out dk, Out dv) {
    parallel_for(0, a.batch * a.heads, heads_per_chunk(a), [&](int64_t begin, int64_t end) {
        const HeadGradient memory(a, scratch(Scratch::attention, HeadGradient::size(a)));
        for (int64_t task = begin; task < end; ++task)
            attention_head_backward(Head(a, task), memory, q, k, v, statistics, dout, dq, dk, dv);
    });
}

}  // namespace
}  // namespace autograd::kernels
