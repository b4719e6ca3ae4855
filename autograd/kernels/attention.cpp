// Scaled dot-product attention, "Attention Is All You Need", §3.2.1, equation 1. Part of unit.cpp.
//
//   weights = softmax(q kᵀ scale)        per head, over the keys that the mask allows
//   out     = dropout(weights) v
//
// One task is one head of one sentence. It takes a few queries at a time: their rows of scores, the softmax
// of each, the weighted sums of value rows. Each score is an fma chain over d and each output a chain over
// the keys, 16 keys or 16 columns side by side, so a row's bits depend on its query and its allowed keys
// alone: not on padding, nor on the other queries, nor on whether the keys come from a cache.
//
// Masked keys are skipped, not filled with -inf: no NaN of theirs can reach anything. A query with no
// allowed key gives zeros. Backward recomputes the weights, as keeping them costs (queries x keys) of
// memory a head, and reading them back is not faster.
#include "autograd/base/parallel.h"
#include "autograd/base/scratch.h"
#include "autograd/kernels/product.h"
#include "autograd/kernels/random.h"
#include "autograd/kernels/row.h"

namespace autograd::kernels {
namespace {

inline int64_t round_up(int64_t n) { return (n + kLanes - 1) / kLanes * kLanes; }

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
    int64_t weight(int64_t t) const { return ((batch * a.heads + head) * a.queries + t) * a.keys; }

    // Keys that query t may see, before `allowed`: those up to this number.
    int64_t limit(int64_t t) const {
        int64_t n = a.mask.key_counts != nullptr ? a.mask.key_counts[batch] : a.keys;
        if (a.mask.causal) {
            const int64_t causal = t + 1 + a.keys - a.queries;
            n = causal < n ? causal : n;
        }
        return n < 0 ? 0 : n;
    }
    bool allowed(int64_t t, int64_t s) const {
        return a.mask.allowed == nullptr || a.mask.allowed[(batch * a.queries + t) * a.keys + s] != 0;
    }
};

// to (d, round_up(n)) = the transpose of n rows of d, so that 16 keys stand side by side.
void transpose_rows(int64_t n, int64_t d, const Real* rows, int64_t stride, Real* to) {
    const int64_t width = round_up(n);
    for (int64_t s = 0; s < n; ++s)
        for (int64_t i = 0; i < d; ++i)
            to[i * width + s] = rows[s * stride + i];
    for (int64_t i = 0; i < d; ++i)
        for (int64_t s = n; s < width; ++s)
            to[i * width + s] = 0;
}

// row = softmax(scale row) of its first n numbers. Rows have room for whole Vecs, so nothing is masked here
// but the last lanes' values: a masked store is slow to read back.
void softmax_of_scores(int64_t n, Real scale, Real* row) {
    Vec largest = broadcast(-kInfinity);
    for (int64_t s = 0; s < n; s += kLanes) {
        Vec x = load(row + s) * broadcast(scale);
        if (n - s < kLanes)
            x = select(first_of(n - s), x, broadcast(-kInfinity));
        store(row + s, x);
        largest = max(largest, x);
    }
    const Vec shift = broadcast(reduce_max(largest));
    Vec sum = zero();
    for (int64_t s = 0; s < n; s += kLanes) {
        const Vec e = exp(load(row + s) - shift);
        store(row + s, e);
        sum = sum + e;
    }
    const Vec factor = broadcast(Real(1) / reduce_add(sum));
    for (int64_t s = 0; s < n; s += kLanes)
        store(row + s, load(row + s) * factor);
}

// The weights of query t over keys 0 .. limit, before dropout, in the place of its q kᵀ; 0 where not allowed.
// Returns the limit.
int64_t weights_of(const Head& h, int64_t t, Real* row) {
    const int64_t n = h.limit(t);
    if (h.a.mask.allowed == nullptr) {
        softmax_of_scores(n, h.a.scale, row);
        return n;
    }
    int64_t count = 0;  // allowed scores moved together, as if the others did not exist ...
    for (int64_t s = 0; s < n; ++s)
        if (h.allowed(t, s))
            row[count++] = row[s];
    softmax_of_scores(count, h.a.scale, row);
    for (int64_t s = round_up(n) - 1; s >= 0; --s)  // ... and back to their places, zeros elsewhere
        row[s] = s < n && h.allowed(t, s) ? row[--count] : Real(0);
    // The last Vec's other lanes: scores of hidden keys, perhaps NaN, and backward multiplies whole Vecs.
    for (int64_t s = n; s < round_up(n); ++s)
        row[s] = 0;
    return n;
}

// row *= 0 or 1/(1-p), the same in forward and backward.
void drop_weights(const Head& h, int64_t t, int64_t n, Real* row) {
    for (int64_t s = 0; h.a.dropout > 0 && s < n; s += kLanes)
        store(row + s, load(row + s) * keep_scale(h.a.key, h.weight(t) + s, h.a.dropout));
}

// Heads per chunk: enough work to be worth a thread's waking up.
int64_t heads_per_chunk(const Attention& a) {
    const int64_t work = a.queries * a.keys * a.d / 8 + 1;
    return work >= kGrainNumbers ? 1 : kGrainNumbers / work;
}

// Whether every query sees the same keys, so that rows can be multiplied together.
bool uniform(const Attention& a) { return !a.mask.causal && a.mask.allowed == nullptr; }

// out[t] = Σ_s w[t][s] rows[s], over the keys that query t may see; w (queries, width).
void weighted_sums(const Head& h, int64_t first, int64_t last, const Real* w, int64_t width, const Real* rows,
                   Out out, int64_t out_row) {
    Product p = {h.limit(last - 1), w, width, 1, rows, h.a.kv_row, out, out_row, h.a.d};
    if (uniform(h.a)) {
        product(p, last - first);
        return;
    }
    for (int64_t t = first; t < last; ++t) {
        p.n = h.limit(t);
        row_product(p, t - first, 0, [&](int64_t s) { return h.allowed(t, s); });
    }
}

void attention_queries(const Head& h, int64_t first, int64_t last, const Real* q, const Real* keys_t,
                       const Real* v, Real* w, Real* out, Real* weights) {
    const int64_t width = round_up(h.a.keys);
    // Whole vectors: what comes out for the keys beyond the last query's limit is not read.
    const int64_t columns = round_up(h.limit(last - 1));
    product({h.a.d, q + h.query(first), h.a.q_row, 1, keys_t, width, {w}, width, columns}, last - first);
    for (int64_t t = first; t < last; ++t) {
        Real* row = w + (t - first) * width;
        const int64_t n = weights_of(h, t, row);
        drop_weights(h, t, n, row);
        for (int64_t s = 0; weights != nullptr && s < h.a.keys; ++s)
            weights[h.weight(t) + s] = s < n ? row[s] : Real(0);
    }
    weighted_sums(h, first, last, w, width, v + h.key(0), {out + h.out(first)}, h.out_row());
}

void attention(const Attention& a, const Real* q, const Real* k, const Real* v, Real* out, Real* weights) {
    parallel_for(0, a.batch * a.heads, heads_per_chunk(a), [&](int64_t begin, int64_t end) {
        const int64_t width = round_up(a.keys);
        Real* keys_t = scratch(Scratch::attention, (a.d + kTileRows) * width);  // (d, keys)
        Real* w = keys_t + a.d * width;                                         // (some queries, keys)
        for (int64_t task = begin; task < end; ++task) {
            const Head h(a, task);
            transpose_rows(a.keys, a.d, k + h.key(0), a.kv_row, keys_t);
            for (int64_t t = 0; t < a.queries; t += kTileRows) {
                const int64_t last = t + kTileRows < a.queries ? t + kTileRows : a.queries;
                attention_queries(h, t, last, q, keys_t, v, w, out, weights);
            }
        }
    });
}

// With w = softmax(scores), m = the dropout factors, dw = dout vᵀ:
//   dscores = w * (dw m - Σ w dw m)        dq = scale dscores k,   dk = scale dscoresᵀ q,   dv = (w m)ᵀ dout
// One query's row of w m and of scale * dscores, from its row of dw.
void attention_row_backward(const Head& h, int64_t t, int64_t n, const Real* dw, Real* w, Real* dscores) {
    const Attention& a = h.a;
    const auto dropped = [&](int64_t s) {
        return a.dropout > 0 ? keep_scale(a.key, h.weight(t) + s, a.dropout) : broadcast(1);
    };
    Vec dot = zero();  // w is 0 from n on; dw may be anything there, and is masked
    for (int64_t s = 0; s < n; s += kLanes)
        dot = fma(load(w + s), load(dw + s, n - s) * dropped(s), dot);
    const Vec mean = broadcast(reduce_add(dot));
    for (int64_t s = 0; s < n; s += kLanes) {
        const Vec weight = load(w + s), m = dropped(s);
        store(dscores + s, weight * (load(dw + s, n - s) * m - mean) * broadcast(a.scale));
        store(w + s, weight * m);
    }
}

struct HeadGradient {
    Real *keys_t, *values_t, *weights, *dscores, *dweights;
    static int64_t size(const Attention& a) { return (2 * a.d + 3 * a.queries) * round_up(a.keys); }
    HeadGradient(const Attention& a, Real* memory) {
        const int64_t width = round_up(a.keys);
        keys_t = memory;                         // (d, keys)
        values_t = keys_t + a.d * width;         // (d, keys)
        weights = values_t + a.d * width;        // (queries, keys), after dropout
        dscores = weights + a.queries * width;   // (queries, keys), times scale
        dweights = dscores + a.queries * width;  // (queries, keys)
    }
};

// out[s] = Σ_t w[t][s] rows[t], over the queries t that may see key s; w (queries, width).
void weighted_sums_by_key(const Head& h, const Real* w, const Real* rows, int64_t row, Out out) {
    const Attention& a = h.a;
    const Product p = {a.queries, w,  1, round_up(a.keys), rows, row, {out.data + h.key(0), out.accumulate},
                       a.kv_row,  a.d};
    int64_t s = 0;
    if (uniform(a)) {
        s = h.limit(0);
        product(p, s);
    }
    for (; s < a.keys; ++s)
        row_product(p, s, 0, [&](int64_t t) { return s < h.limit(t) && h.allowed(t, s); });
}

void attention_head_backward(const Head& h, const HeadGradient& g, const Real* q, const Real* k,
                             const Real* v, const Real* dout, Out dq, Out dk, Out dv) {
    const Attention& a = h.a;
    const int64_t width = round_up(a.keys), columns = a.queries > 0 ? round_up(h.limit(a.queries - 1)) : 0;
    transpose_rows(a.keys, a.d, k + h.key(0), a.kv_row, g.keys_t);
    transpose_rows(a.keys, a.d, v + h.key(0), a.kv_row, g.values_t);
    product({a.d, q + h.query(0), a.q_row, 1, g.keys_t, width, {g.weights}, width, columns}, a.queries);
    product({a.d, dout + h.out(0), h.out_row(), 1, g.values_t, width, {g.dweights}, width, columns},
            a.queries);
    for (int64_t t = 0; t < a.queries; ++t) {
        Real *w = g.weights + t * width, *dw = g.dweights + t * width;
        const int64_t n = weights_of(h, t, w);
        for (int64_t s = 0; a.mask.allowed != nullptr && s < n; ++s)
            if (!h.allowed(t, s))
                dw[s] = 0;  // the value may be NaN, and 0 * NaN is
        attention_row_backward(h, t, n, dw, w, g.dscores + t * width);
    }
    if (dq.data != nullptr)
        weighted_sums(h, 0, a.queries, g.dscores, width, k + h.key(0), {dq.data + h.query(0), dq.accumulate},
                      a.q_row);
    if (dk.data != nullptr)
        weighted_sums_by_key(h, g.dscores, q + h.query(0), a.q_row, dk);
    if (dv.data != nullptr)
        weighted_sums_by_key(h, g.weights, dout + h.out(0), h.out_row(), dv);
}

void attention_backward(const Attention& a, const Real* q, const Real* k, const Real* v, const Real* dout,
                        Out dq, Out dk, Out dv) {
    parallel_for(0, a.batch * a.heads, heads_per_chunk(a), [&](int64_t begin, int64_t end) {
        const HeadGradient memory(a, scratch(Scratch::attention, HeadGradient::size(a)));
        for (int64_t task = begin; task < end; ++task)
            attention_head_backward(Head(a, task), memory, q, k, v, dout, dq, dk, dv);
    });
}

}  // namespace
}  // namespace autograd::kernels
