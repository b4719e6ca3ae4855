// Scaled dot-product attention, "Attention Is All You Need", §3.2.1, equation 1. Part of unit.cpp.
//
//   scores  = q kᵀ scale                 per head
//   weights = softmax(scores)            over the keys that the mask allows
//   out     = dropout(weights) v
//
// A task is one head of one sentence. Its keys are transposed once, so that 16 of them are adjacent. Then it
// processes blocks of 16 queries: register tiles (product.h) write their scores into a small buffer that
// stays in the L1 or L2 cache, the softmax works on them there (attention_softmax.h), and tiles again compute
// the weighted sums of value rows. Rows of scores are kept whole: with 1024 keys a block's scores are only
// 64 KiB, and no sum has to be rescaled later.
//
// Each score is a chain of fma over d, and each output one over every 512 keys, added in order, so a row's
// bits depend on its query and its allowed keys alone: not on padding, nor on the other queries, nor on
// whether the keys come from a cache.
//
// Masked keys are skipped, not filled with -inf, so a NaN in one cannot spread. Under a causal mask each row
// of a tile ends one key after the row above; tiles above the diagonal are skipped. A pattern of allowed
// pairs is processed row by row. A query with no allowed key gives zeros.
//
// Backward computes the weights again, from two numbers per query that forward kept: storing the weights
// would cost (queries x keys) a head, and reading them back is not faster. It processes 64 queries at a time:
// their weights and score gradients stay in the L2 cache until the gradients of keys and values have used
// them.
#include "autograd/base/parallel.h"
#include "autograd/kernels/attention_softmax.h"
#include "autograd/kernels/attention_step.h"
#include "autograd/kernels/gemm_pack.h"
#include "autograd/kernels/scratch.h"

namespace plaingrad::autograd::kernels {
namespace {

constexpr int64_t kBackwardQueries = 4 * kQueries;

// Rows of the next head that are prefetched while one is computed. Those of a short sentence are too few, and
// too far apart, for the hardware prefetcher: with 16 words, forward waited a third of its time.
constexpr int64_t kFetchedRows = 2 * kLanes;

// The width of a row of scores: an odd number of Vecs, so that a column spreads over all sets of the cache.
inline int64_t row_width(int64_t keys) { return (round_up(keys) / kLanes | 1) * kLanes; }

// Heads per chunk: eight steps of the products' sums are as much work as a number elsewhere.
int64_t heads_per_chunk(const Attention& a) { return rows_per_chunk(a.queries * a.keys * a.d / 8); }

// Queries from t on, at most 16.
Block block(const Head& h, int64_t t, Real* w, Real* dw) {
    return {h, t, smaller(kQueries, h.a->queries - t), w, dw, row_width(h.a->keys)};
}

// x kᵀ: scores before they are scaled. Over the keys that the last query may see, and some more, which are
// not read.
void dot_products(const Block& b, const Real* x, int64_t x_row, const Real* keys_t, Real* to) {
    const int64_t d = b.h.a->d, columns = round_up(b.limit(b.count - 1));
    product({d, x, x_row, 1, keys_t, b.width, {to}, b.width, columns}, b.count);
}

// out[t] = Σ_s w[t][s] rows[s], over the keys that query t may see.
void weighted_sums(const Block& b, const Real* w, const Real* rows, Out out, int64_t out_row) {
    const Attention& a = *b.h.a;
    const int64_t keys = b.limit(b.count - 1);
    for (int64_t first = 0; first == 0 || first < keys; first += kGemmBlockK, out.accumulate = true) {
        Product p = {smaller(kGemmBlockK, keys - first),
                     w + first,
                     b.width,
                     1,
                     rows + b.h.key(first),
                     a.kv_row,
                     out,
                     out_row,
                     a.d};
        if (a.mask.causal)
            p.staircase = Staircase::end, p.edge = b.first + 1 + a.keys - a.queries - first;
        if (a.mask.allowed == nullptr)
            product(p, b.count);
        for (int64_t r = 0; a.mask.allowed != nullptr && r < b.count; ++r)
            product_row(p, r, [&](int64_t s) { return b.h.sees(b.first + r, first + s); });
    }
}

void write_weights(const Block& b, Real* weights) {
    const int64_t keys = b.h.a->keys;
    for (int64_t r = 0; r < b.count; ++r)
        for (int64_t s = 0; s < keys; ++s)
            weights[b.h.row(b.first + r) * keys + s] =
                b.h.sees(b.first + r, s) ? b.w[r * b.width + s] : Real(0);
}

// Inline, because gcc treats a function that only prefetches as having no effect, and removes its calls.
[[gnu::always_inline]] inline void fetch(const Real* x, int64_t first, int64_t rows, int64_t d, int64_t row) {
    for (int64_t r = 0; x != nullptr && r < smaller(rows, kFetchedRows); ++r)
        for (int64_t i = 0; i < d; i += kLanes)
            __builtin_prefetch(x + first + r * row + i);
}

// Any may be nullptr.
[[gnu::always_inline]] inline void fetch_head(const Head& h, const Real* q, const Real* k, const Real* v,
                                              const Real* out) {
    const Attention& a = *h.a;
    fetch(q, h.query(0), a.queries, a.d, a.q_row);
    fetch(k, h.key(0), h.count(), a.d, a.kv_row);
    fetch(v, h.key(0), h.count(), a.d, a.kv_row);
    fetch(out, h.out(0), a.queries, a.d, h.out_row());
}

void attention(const Attention& a, const Real* q, const Real* k, const Real* v, Real* out, Real* weights,
               Real* statistics) {
    parallel_for(0, a.batch * a.heads, heads_per_chunk(a), [&](int64_t begin, int64_t end) {
        const int64_t width = row_width(a.keys);
        Real* keys_t = scratch(Scratch::attention, (a.d + kQueries) * width);  // (d, keys)
        for (int64_t task = begin; task < end; ++task) {
            const Head h = head_of(a, task);
            if (task + 1 < end)
                fetch_head(head_of(a, task + 1), q, k, v, out);
            if (is_single_step(a, weights)) {
                attend_once(h, q, k, v, out, statistics, keys_t);
                continue;
            }
            pack_transposed(h.count(), a.d, k + h.key(0), a.kv_row, keys_t, width);
            for (int64_t t = 0; t < a.queries; t += kQueries) {
                const Block b = block(h, t, keys_t + a.d * width, nullptr);
                dot_products(b, q + h.query(t), a.q_row, keys_t, b.w);
                softmax_of_scores(b, statistics);
                if (weights != nullptr)
                    write_weights(b, weights);
                weighted_sums(b, b.w, v, {out + h.out(t)}, h.out_row());
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
void attention_backward(const Attention& a, const Real* q, const Real* k, const Real* v,
                        const Real* statistics, const Real* dout, Out dq, Out dk, Out dv) {
    parallel_for(0, a.batch * a.heads, heads_per_chunk(a), [&](int64_t begin, int64_t end) {
        const int64_t width = row_width(a.keys);
        Real* keys_t = scratch(Scratch::attention, 2 * (a.d + kBackwardQueries) * width);  // (d, keys)
        Real *values_t = keys_t + a.d * width, *w = values_t + a.d * width,
             *dw = w + kBackwardQueries * width;
        for (int64_t task = begin; task < end; ++task) {
            const Head h = head_of(a, task);
            pack_transposed(h.count(), a.d, k + h.key(0), a.kv_row, keys_t, width);
            pack_transposed(h.count(), a.d, v + h.key(0), a.kv_row, values_t, width);
            if (task + 1 < end) {
                fetch_head(head_of(a, task + 1), q, k, v, dout);
                fetch_head(head_of(a, task + 1), dq.data, dk.data, dv.data, nullptr);
            }
            for (int64_t first = 0; first == 0 || first < a.queries; first += kBackwardQueries) {
                const int64_t count = smaller(kBackwardQueries, a.queries - first);
                for (int64_t t = first; t < first + count; t += kQueries) {
                    const Block b = block(h, t, w + (t - first) * width, dw + (t - first) * width);
                    dot_products(b, q + h.query(t), a.q_row, keys_t, b.w);
                    dot_products(b, dout + h.out(t), h.out_row(), values_t, b.dw);
                    softmax_backward(b, statistics);
                    if (dq.data != nullptr)
                        weighted_sums(b, b.dw, k, {dq.data + h.query(t), dq.accumulate}, a.q_row);
                }
                if (dk.data != nullptr)
                    weighted_sums_by_key(h, first, count, dw, q + h.query(first), a.q_row,
                                         {dk.data, dk.accumulate || first > 0});
                if (dv.data != nullptr)
                    weighted_sums_by_key(h, first, count, w, dout + h.out(first), h.out_row(),
                                         {dv.data, dv.accumulate || first > 0});
            }
        }
    });
}

}  // namespace
}  // namespace plaingrad::autograd::kernels
