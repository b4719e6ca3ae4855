// Scaled dot-product attention, "Attention Is All You Need", §3.2.1, equation 1. Part of unit.cpp.
//
//   weights = softmax(q kᵀ scale)        per head, over the keys that the mask allows
//   out     = dropout(weights) v
//
// One task is one head of one sentence. It works query by query: a row of scores, its softmax, the
// weighted sum of value rows. Each score is an fma chain over d and each output a chain over the keys,
// 16 keys or 16 columns side by side, so a row's bits depend on its query and its allowed keys alone:
// not on padding, nor on the other queries, nor on whether the keys come from a cache.
//
// Masked keys are skipped, not filled with -inf: no NaN of theirs can reach anything. A query with no
// allowed key gives zeros. Backward recomputes the weights, as keeping them costs (queries x keys) of
// memory a head, and reading them back is not faster.
#include "autograd/base/parallel.h"
#include "autograd/base/scratch.h"
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

    int64_t stride() const { return a.heads * a.d; }
    int64_t query(int64_t t) const { return (batch * a.queries + t) * stride() + head * a.d; }
    int64_t key(int64_t s) const { return (batch * a.keys + s) * stride() + head * a.d; }
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

// The products of this file, `strip` Vecs at a time so that their chains overlap:
// y[j] = Σ_i x[i * x_stride] * m[i][j], skipping each i for which keep(i) is false.
constexpr int64_t kAttentionStrip = 4;

template <int64_t strip, class Keep>
void vector_matrix_strip(int64_t n, const Real* x, int64_t x_stride, const Real* m, int64_t stride,
                         int64_t columns, const Out& y, int64_t at, const Keep& keep) {
    Vec total[strip], block[strip];
    for (int64_t s = 0; s < strip; ++s)
        total[s] = zero();
    for (int64_t first = 0; first < n; first += kGemmBlockK) {
        for (int64_t s = 0; s < strip; ++s)
            block[s] = zero();
        const int64_t last = first + kGemmBlockK < n ? first + kGemmBlockK : n;
        for (int64_t i = first; i < last; ++i) {
            if (!keep(i))
                continue;
            const Vec factor = broadcast(x[i * x_stride]);
            for (int64_t s = 0; s < strip; ++s)
                block[s] = fma(factor, load(m + i * stride + s * kLanes, columns - s * kLanes), block[s]);
        }
        for (int64_t s = 0; s < strip; ++s)
            total[s] = first == 0 ? block[s] : total[s] + block[s];
    }
    for (int64_t s = 0; s < strip; ++s)
        put(y, at + s * kLanes, columns - s * kLanes, total[s]);
}

template <class Keep>
void vector_matrix(int64_t n, const Real* x, int64_t x_stride, const Real* m, int64_t stride, int64_t columns,
                   const Out& y, int64_t at, const Keep& keep) {
    int64_t c = 0;
    for (; columns - c > (kAttentionStrip - 1) * kLanes; c += kAttentionStrip * kLanes)
        vector_matrix_strip<kAttentionStrip>(n, x, x_stride, m + c, stride, columns - c, y, at + c, keep);
    for (; columns - c > 0; c += kLanes)
        vector_matrix_strip<1>(n, x, x_stride, m + c, stride, columns - c, y, at + c, keep);
}

constexpr auto kAll = [](int64_t) { return true; };

// The weights of query t over keys 0 .. limit, before dropout; 0 where not allowed. Returns the limit.
// keys_t: the head's keys, transposed; row: room for round_up(keys).
int64_t attention_row(const Head& h, int64_t t, const Real* q, const Real* keys_t, Real* row) {
    const int64_t n = h.limit(t), width = round_up(h.a.keys);
    vector_matrix(h.a.d, q + h.query(t), 1, keys_t, width, n, {row}, 0, kAll);
    for (int64_t s = 0; s < n; s += kLanes)
        store(row + s, n - s, load(row + s, n - s) * broadcast(h.a.scale));
    if (h.a.mask.allowed == nullptr) {
        row_softmax(n, row, row);
        return n;
    }
    int64_t count = 0;  // allowed scores moved together, as if the others did not exist ...
    for (int64_t s = 0; s < n; ++s)
        if (h.allowed(t, s))
            row[count++] = row[s];
    row_softmax(count, row, row);
    for (int64_t s = n - 1; s >= 0; --s)  // ... and back to their places
        row[s] = h.allowed(t, s) ? row[--count] : Real(0);
    return n;
}

// row *= 0 or 1/(1-p), the same in forward and backward.
void drop_weights(const Head& h, int64_t t, int64_t n, Real* row) {
    for (int64_t s = 0; h.a.dropout > 0 && s < n; s += kLanes)
        store(row + s, n - s, load(row + s, n - s) * keep_scale(h.a.key, h.weight(t) + s, h.a.dropout));
}

// Heads per chunk: enough work to be worth a thread's waking up.
int64_t heads_per_chunk(const Attention& a) {
    const int64_t work = a.queries * a.keys * a.d / 8 + 1;
    return work >= kGrainNumbers ? 1 : kGrainNumbers / work;
}

void attention(const Attention& a, const Real* q, const Real* k, const Real* v, Real* out, Real* weights) {
    parallel_for(0, a.batch * a.heads, heads_per_chunk(a), [&](int64_t begin, int64_t end) {
        const int64_t width = round_up(a.keys);
        Real* keys_t = scratch(Scratch::attention, (a.d + 1) * width);  // (d, keys)
        Real* row = keys_t + a.d * width;                               // (keys)
        for (int64_t task = begin; task < end; ++task) {
            const Head h(a, task);
            transpose_rows(a.keys, a.d, k + h.key(0), h.stride(), keys_t);
            for (int64_t t = 0; t < a.queries; ++t) {
                const int64_t n = attention_row(h, t, q, keys_t, row);
                drop_weights(h, t, n, row);
                const auto keep = [&](int64_t s) { return h.allowed(t, s); };
                vector_matrix(n, row, 1, v + h.key(0), h.stride(), a.d, {out}, h.query(t), keep);
                for (int64_t s = 0; weights != nullptr && s < a.keys; ++s)
                    weights[h.weight(t) + s] = s < n ? row[s] : Real(0);
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
    Vec dot = zero();
    for (int64_t s = 0; s < n; s += kLanes)
        dot = fma(load(w + s, n - s), load(dw + s, n - s) * dropped(s), dot);
    const Vec mean = broadcast(reduce_add(dot));
    for (int64_t s = 0; s < n; s += kLanes) {
        const Vec weight = load(w + s, n - s), m = dropped(s);
        store(dscores + s, n - s, weight * (load(dw + s, n - s) * m - mean) * broadcast(a.scale));
        store(w + s, n - s, weight * m);
    }
}

struct HeadGradient {
    Real *keys_t, *values_t, *weights, *dscores, *dw;
    static int64_t size(const Attention& a) { return (2 * a.d + 2 * a.queries + 1) * round_up(a.keys); }
    HeadGradient(const Attention& a, Real* memory) {
        const int64_t width = round_up(a.keys);
        keys_t = memory;                        // (d, keys)
        values_t = keys_t + a.d * width;        // (d, keys)
        weights = values_t + a.d * width;       // (queries, keys), after dropout
        dscores = weights + a.queries * width;  // (queries, keys), times scale
        dw = dscores + a.queries * width;       // (keys), of one query
    }
};

void attention_head_backward(const Head& h, const HeadGradient& g, const Real* q, const Real* k,
                             const Real* v, const Real* dout, Out dq, Out dk, Out dv) {
    const Attention& a = h.a;
    const int64_t width = round_up(a.keys);
    transpose_rows(a.keys, a.d, k + h.key(0), h.stride(), g.keys_t);
    transpose_rows(a.keys, a.d, v + h.key(0), h.stride(), g.values_t);
    for (int64_t t = 0; t < a.queries; ++t) {
        Real *w = g.weights + t * width, *dscores = g.dscores + t * width;
        const int64_t n = attention_row(h, t, q, g.keys_t, w);
        vector_matrix(a.d, dout + h.query(t), 1, g.values_t, width, n, {g.dw}, 0, kAll);
        for (int64_t s = 0; a.mask.allowed != nullptr && s < n; ++s)
            if (!h.allowed(t, s))
                g.dw[s] = 0;  // the value may be NaN, and 0 * NaN is
        attention_row_backward(h, t, n, g.dw, w, dscores);
        const auto keep = [&](int64_t s) { return h.allowed(t, s); };
        if (dq.data != nullptr)
            vector_matrix(n, dscores, 1, k + h.key(0), h.stride(), a.d, dq, h.query(t), keep);
    }
    for (int64_t s = 0; s < a.keys; ++s) {
        const auto keep = [&](int64_t t) { return s < h.limit(t) && h.allowed(t, s); };
        if (dk.data != nullptr)
            vector_matrix(a.queries, g.dscores + s, width, q + h.query(0), h.stride(), a.d, dk, h.key(s),
                          keep);
        if (dv.data != nullptr)
            vector_matrix(a.queries, g.weights + s, width, dout + h.query(0), h.stride(), a.d, dv, h.key(s),
                          keep);
    }
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
