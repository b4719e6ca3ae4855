// Scaled dot-product attention, "Attention Is All You Need", §3.2.1, equation 1. Part of unit.cpp.
//
//   weights = softmax(q kᵀ scale)        per head, over the keys that the mask allows
//   out     = dropout(weights) v
//
// A task is a head of a sentence. Its keys are transposed once, so that 16 of them stand side by side. Then come
// blocks of 16 queries: their scores by register tiles (product.h) into a small buffer that stays in the L1
// cache, the softmax on them there (attention_softmax.h), the weighted sums of value rows by tiles again. Whole
// rows are kept, as up to 1024 keys a block's scores are 64 KiB, and no sum has to be corrected later.
//
// Each score is a chain of fma over d and each output a chain over the keys, so a row's bits depend on its query
// and its allowed keys alone: not on padding, nor on the other queries, nor on whether the keys come from a cache.
//
// Masked keys are skipped, not filled with -inf: no NaN of theirs can reach anything. Under a causal mask a tile's
// rows end one after the other; tiles above the diagonal are left out. A pattern of allowed pairs goes row by row.
// A query with no allowed key gives zeros.
//
// Backward computes the weights again, from two numbers a query that forward kept: storing them costs (queries x
// keys) a head, and reading them back is not faster. It takes 64 queries at a time: their weights and gradients of
// scores stay in the L2 cache until keys and values have got theirs.
#include "autograd/base/parallel.h"
#include "autograd/base/scratch.h"
#include "autograd/kernels/attention_softmax.h"

namespace autograd::kernels {
namespace {

constexpr int64_t kBackwardQueries = 4 * kQueries;

// Scores of the blocks that go side by side: a third of the L1 cache.
constexpr int64_t kTogetherNumbers = 4096;

// Of a row of scores: an odd number of Vecs, so that a column of them spreads over all sets of the cache.
inline int64_t row_width(int64_t keys) { return (round_up(keys) / kLanes | 1) * kLanes; }

// Heads that go side by side, or blocks of one head: 1 of the two.
struct Together {
    int64_t heads, blocks;
};
Together together(const Attention& a) {
    const int64_t fit = larger(1, smaller(kTogether, kTogetherNumbers / (kQueries * row_width(a.keys))));
    return a.queries <= kQueries ? Together{fit, 1} : Together{1, fit};
}

// Heads per chunk: enough work to be worth a thread's waking up.
int64_t heads_per_chunk(const Attention& a) {
    const int64_t work = a.queries * a.keys * a.d / 8 + 1;
    return work >= kGrainNumbers ? 1 : kGrainNumbers / work;
}

// to (d, width) = the transpose of n rows of d, with zeros up to a whole Vec. Four times over, each Vec is
// interleaved with the one 8 further on: then 16 x 16 numbers are transposed.
void transpose_rows(int64_t n, int64_t d, const Real* rows, int64_t row, Real* to, int64_t width) {
    constexpr int half = kLanes / 2;
    for (int64_t s = 0; s < n; s += kLanes)
        for (int64_t i = 0; i < d; i += kLanes) {
            Vec x[kLanes], y[kLanes];
#pragma GCC unroll 16
            for (int r = 0; r < kLanes; ++r)
                x[r] = s + r < n ? load(rows + (s + r) * row + i, d - i) : zero();
#pragma GCC unroll 2
            for (int twice = 0; twice < 2; ++twice) {
#pragma GCC unroll 8
                for (int r = 0; r < half; ++r) {
                    y[2 * r] = interleave_low(x[r], x[r + half]);
                    y[2 * r + 1] = interleave_high(x[r], x[r + half]);
                }
#pragma GCC unroll 8
                for (int r = 0; r < half; ++r) {
                    x[2 * r] = interleave_low(y[r], y[r + half]);
                    x[2 * r + 1] = interleave_high(y[r], y[r + half]);
                }
            }
#pragma GCC unroll 16
            for (int r = 0; r < kLanes; ++r)
                if (i + r < d)
                    store(to + (i + r) * width + s, x[r]);
        }
}

// Blocks of queries first .. last - 1 of some heads, with memory for their rows from w and dw on.
int64_t divide(const Attention& a, int64_t task, int64_t heads, int64_t first, int64_t last, Real* w,
               Real* dw, Block* blocks) {
    const int64_t width = row_width(a.keys);
    int64_t n = 0;
    for (int64_t i = 0; i < heads; ++i)
        for (int64_t t = first; t < last; t += kQueries, ++n) {
            const int64_t at = n * kQueries * width;
            blocks[n] = {head_of(a, task + i), i, t, smaller(kQueries, last - t), w + at, dw + at, width};
        }
    return n;
}

// scores = x kᵀ, over the keys that the last query may see, and some more: what comes out there is not read.
void scores(const Block& b, const Real* x, int64_t x_row, const Real* keys_t, Real* to) {
    const int64_t d = b.h.a->d, columns = round_up(b.limit(b.count - 1));
    product({d, x, x_row, 1, keys_t + b.number * d * b.width, b.width, {to}, b.width, columns}, b.count);
}

// out[t] = Σ_s w[t][s] rows[s], over the keys that query t may see.
void weighted_sums(const Block& b, const Real* w, const Real* rows, Out out, int64_t out_row) {
    const Attention& a = *b.h.a;
    Product p = {b.limit(b.count - 1), w, b.width, 1, rows + b.h.key(0), a.kv_row, out, out_row, a.d};
    if (a.mask.causal)
        p.staircase = Staircase::end, p.edge = b.first + 1 + a.keys - a.queries;
    if (a.mask.allowed == nullptr)
        return product(p, b.count);
    for (int64_t r = 0; r < b.count; ++r)
        product_row(p, r, [&](int64_t s) { return b.h.sees(b.first + r, s); });
}

void write_weights(const Block& b, Real* weights) {
    const int64_t keys = b.h.a->keys;
    for (int64_t r = 0; r < b.count; ++r)
        for (int64_t s = 0; s < keys; ++s)
            weights[b.h.row(b.first + r) * keys + s] =
                b.h.sees(b.first + r, s) ? b.w[r * b.width + s] : Real(0);
}

void attention(const Attention& a, const Real* q, const Real* k, const Real* v, Real* out, Real* weights,
               Real* statistics) {
    parallel_for(0, a.batch * a.heads, heads_per_chunk(a), [&](int64_t begin, int64_t end) {
        const int64_t width = row_width(a.keys), transposed = a.d * width;
        const Together side = together(a);
        Real* keys_t = scratch(Scratch::attention, side.heads * transposed + kTogether * kQueries * width);
        Real* w = keys_t + side.heads * transposed;
        for (int64_t task = begin; task < end; task += side.heads) {
            const int64_t heads = smaller(side.heads, end - task);
            for (int64_t i = 0; i < heads; ++i) {
                const Head h = head_of(a, task + i);
                transpose_rows(h.count(), a.d, k + h.key(0), a.kv_row, keys_t + i * transposed, width);
            }
            for (int64_t t = 0; t < a.queries; t += side.blocks * kQueries) {
                Block blocks[kTogether];
                const int64_t last = smaller(t + side.blocks * kQueries, a.queries);
                const int64_t n = divide(a, task, heads, t, last, w, w, blocks);
                for (const Block* b = blocks; b < blocks + n; ++b)
                    scores(*b, q + b->h.query(b->first), a.q_row, keys_t, b->w);
                softmax_of_scores(blocks, n, statistics);
                for (const Block* b = blocks; b < blocks + n; ++b) {
                    if (weights != nullptr)
                        write_weights(*b, weights);
                    weighted_sums(*b, b->w, v, {out + b->h.out(b->first)}, b->h.out_row());
                }
            }
        }
    });
}

// out[s] = Σ_t w[t][s] rows[t], over the queries t = first ... that may see key s.
void weighted_sums_by_key(const Head& h, int64_t first, int64_t count, const Real* w, const Real* rows,
                          int64_t row, Out out) {
    const Attention& a = *h.a;
    const int64_t seen = count > 0 ? h.limit(first + count - 1) : 0;
    out.data += h.key(0);
    Product p = {count, w, 1, row_width(a.keys), rows, row, out, a.kv_row, a.d};
    if (a.mask.causal)  // key s is seen from query s - (keys - queries) on
        p.staircase = Staircase::begin, p.edge = a.queries - a.keys - first;
    if (a.mask.allowed == nullptr)
        product(p, seen);
    for (int64_t s = 0; a.mask.allowed != nullptr && s < seen; ++s)
        product_row(p, s, [&](int64_t t) { return h.sees(first + t, s); });
    if (!out.accumulate) {
        const Out rest = {out.data + seen * a.kv_row};
        product({0, w, 1, 1, rows, row, rest, a.kv_row, a.d}, a.keys - seen);  // empty sums
    }
}

// dq = dscores k,   dk = dscoresᵀ q,   dv = weightsᵀ dout
struct Backward {
    const Attention& a;
    const Real *q, *k, *v, *statistics, *dout;
    Out dq, dk, dv;
    Together side = together(a);
    int64_t width = row_width(a.keys), transposed = a.d * width;
    int64_t rows = larger(kBackwardQueries, side.heads* kQueries);

    // Some heads side by side.
    void operator()(int64_t task, int64_t heads) const {
        Real* keys_t = scratch(Scratch::attention, 2 * (side.heads * transposed + rows * width));
        Real *values_t = keys_t + side.heads * transposed, *w = values_t + side.heads * transposed;
        for (int64_t i = 0; i < heads; ++i) {
            const Head h = head_of(a, task + i);
            transpose_rows(h.count(), a.d, k + h.key(0), a.kv_row, keys_t + i * transposed, width);
            transpose_rows(h.count(), a.d, v + h.key(0), a.kv_row, values_t + i * transposed, width);
        }
        for (int64_t first = 0; first == 0 || first < a.queries; first += kBackwardQueries) {
            const int64_t last = smaller(first + kBackwardQueries, a.queries);
            for (int64_t t = first; t < last; t += side.blocks * kQueries)
                queries(task, heads, t, smaller(t + side.blocks * kQueries, last), w + (t - first) * width,
                        keys_t, values_t);
            for (int64_t i = 0; i < heads; ++i)
                keys(head_of(a, task + i), first, last - first, w + i * kQueries * width);
        }
    }

    void queries(int64_t task, int64_t heads, int64_t first, int64_t last, Real* w, const Real* keys_t,
                 const Real* values_t) const {
        Block blocks[kTogether];
        const int64_t n = divide(a, task, heads, first, last, w, w + rows * width, blocks);
        for (const Block* b = blocks; b < blocks + n; ++b) {
            scores(*b, q + b->h.query(b->first), a.q_row, keys_t, b->w);
            scores(*b, dout + b->h.out(b->first), b->h.out_row(), values_t, b->dw);
        }
        softmax_backward(blocks, n, statistics);
        for (const Block* b = blocks; dq.data != nullptr && b < blocks + n; ++b)
            weighted_sums(*b, b->dw, k, {dq.data + b->h.query(b->first), dq.accumulate}, a.q_row);
    }

    void keys(const Head& h, int64_t first, int64_t count, const Real* w) const {
        if (dk.data != nullptr)
            weighted_sums_by_key(h, first, count, w + rows * width, q + h.query(first), a.q_row,
                                 {dk.data, dk.accumulate || first > 0});
        if (dv.data != nullptr)
            weighted_sums_by_key(h, first, count, w, dout + h.out(first), h.out_row(),
                                 {dv.data, dv.accumulate || first > 0});
    }
};

void attention_backward(const Attention& a, const Real* q, const Real* k, const Real* v,
                        const Real* statistics, const Real* dout, Out dq, Out dk, Out dv) {
    parallel_for(0, a.batch * a.heads, heads_per_chunk(a), [&](int64_t begin, int64_t end) {
        const Backward backward{a, q, k, v, statistics, dout, dq, dk, dv};
        for (int64_t task = begin; task < end; task += backward.side.heads)
            backward(task, smaller(backward.side.heads, end - task));
    });
}

}  // namespace
}  // namespace autograd::kernels
