// Scaled dot-product attention, "Attention Is All You Need", §3.2.1, equation 1. Part of unit.cpp.
//
//   scores  = q kᵀ scale                 per head
//   weights = softmax(scores)            over the keys that the mask allows
//   out     = dropout(weights) v
//
// A task is one head of one sentence, or 1024 of its queries. Its keys are transposed once, in panels of 64
// that stay in the L1 cache, so that 16 keys are adjacent. Register tiles (product.h) write the scores of 16
// queries at a time into a small buffer, the softmax works on them there (attention_softmax.h), and tiles
// again compute the weighted sums of value rows. Rows of scores are kept whole: with 1024 keys those of 16
// queries are only 64 KiB, and no sum has to be rescaled later.
//
// The keys and values of a long text, or the scores, exceed the L2 cache: 8 MiB of keys and values, and 4 MiB
// of scores for 64 queries, are read again and again with 16,384 keys. So up to 64 queries, as many as let
// their scores stay in L2, go together through the keys and values, 512 at a time.
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
// would cost (queries x keys) a head, and reading them back is not faster. It takes 64 queries at a time
// through the keys, twice: a row's Σ w dw must be known before its first score gradient is. In between, the
// weights and their gradients of a long text leave L2, but are read in order and only once.
#include "autograd/base/parallel.h"
#include "autograd/kernels/attention_softmax.h"
#include "autograd/kernels/attention_step.h"
#include "autograd/kernels/gemm_pack.h"
#include "autograd/kernels/scratch.h"

namespace plaingrad::autograd::kernels {
namespace {

// Keys of a transposed panel: as wide as the widest tile.
constexpr int64_t kPanel = 4 * kLanes;

// Queries per block of dk's and dv's sums.
constexpr int64_t kQueryBlock = 4 * kQueries;

// Queries of a head that one task computes at most, so that a long text has work for many threads. Each packs
// the head's keys and values for itself, which is a hundredth of its work.
constexpr int64_t kTaskQueries = 16 * kQueryBlock;

// Rows of the next head that are prefetched while one is computed. Those of a short sentence are too few, and
// too far apart, for the hardware prefetcher: with 16 words, forward waited a third of its time.
constexpr int64_t kFetchedRows = 2 * kLanes;

// The width of a row of scores: an odd number of Vecs, so that a column spreads over all sets of the cache.
inline int64_t row_width(int64_t keys) { return (round_up(keys) / kLanes | 1) * kLanes; }

// How many queries share the keys and values that are fetched from L3: up to 64, if their scores fill no more
// than 5/8 of an L2 cache of 2 MiB.
inline int64_t queries_at_once(int64_t width) {
    constexpr int64_t kScores = 5 << 16;
    return larger(kQueries, smaller(kQueryBlock, kScores / width / kQueries * kQueries));
}

// f(keys) for each block of the sums over `count` keys; for an empty one if there are none.
template <class F>
void for_key_blocks(int64_t count, const F& f) {
    for (int64_t s = 0; s == 0 || s < count; s += kGemmBlockK)
        f(Keys{s, smaller(s + kGemmBlockK, count)});
}

// f(block) for each 16 queries of the group.
template <class F>
void for_blocks(const Block& group, const F& f) {
    for (int64_t r = 0; r < group.count; r += kQueries) {
        Block b = group;
        b.first += r, b.count = smaller(kQueries, group.count - r);
        b.w += r * b.width, b.dw += r * b.width, b.partial += r * b.partial_row;
        f(b);
    }
}

// Rows of a head, each k of a chain a row, or as Bf16 each pair. In place they are as far apart as all
// heads are wide, so that they share few sets of the L1 cache, and no prefetcher follows: what is read
// often is copied to be contiguous. Bfloat16 always are.
template <class T>
struct Rows {
    const T* data;
    int64_t row;
    const T* at(int64_t i) const { return data + count_of<T>(i) * row; }
};

void copy_rows(int64_t count, int64_t d, Rows<Real> from, Real* to, int64_t to_row) {
    for (int64_t r = 0; r < count; ++r)
        for (int64_t i = 0; i < d; i += kLanes)
            store(to + r * to_row + i, d - i, load(from.at(r) + i, d - i));
}

// How many numbers `packed` needs if it copies.
template <class T>
int64_t packed_size(int64_t count, int64_t d, bool copies) {
    return copies || kFactors<T> > 1 ? count_of<T>(count) * round_up(d) : 0;
}

// A copy of them, in `to` unless that is nullptr.
template <class T>
Rows<T> packed(Rows<Real> rows, int64_t count, int64_t d, Real* to) {
    T* const at = reinterpret_cast<T*>(to);
    if (to != nullptr)
        pack_right(count, d, false, rows.data, rows.row, at, round_up(d));
    return to == nullptr ? Rows<T>{reinterpret_cast<const T*>(rows.data), rows.row}
                         : Rows<T>{at, round_up(d)};
}

// Rows of which each is the factors of a chain, `depth` of them.
template <class T>
Rows<T> chain_factors(Rows<Real> rows, int64_t count, int64_t depth, Real* to) {
    T* const at = reinterpret_cast<T*>(to);
    const int64_t row = round_up(count_of<T>(depth));
    if constexpr (kFactors<T> == 1)
        return rows;
    pack_left(count, depth, false, rows.data, rows.row, at, row);
    return {at, row};
}

// The gradient of a head's keys or values, which all queries add to: in place, or in a copy, `to`.
struct Gradient {
    Out out;  // no data: it is not wanted
    int64_t row;
    Gradient(Out whole, const Head& h, Real* to) : out(whole), row(h.a->kv_row) {
        if (out.data != nullptr)
            out.data += h.key(0);
        if (out.data == nullptr || to == nullptr)
            return;
        if (out.accumulate)
            copy_rows(h.a->keys, h.a->d, {out.data, row}, to, round_up(h.a->d));
        out.data = to, row = round_up(h.a->d);
    }
    void write(const Head& h, Real* whole) const {
        if (out.data != nullptr && out.data != whole + h.key(0))
            copy_rows(h.a->keys, h.a->d, {out.data, row}, whole + h.key(0), h.a->kv_row);
    }
};

// Working memory, handed out piece by piece; nullptr for an empty one.
struct Room {
    Real* at;
    Real* take(int64_t n) { return n > 0 ? (at += n) - n : nullptr; }
};

// A head's keys or values transposed, as panels of 64, each (d, 64), packed when they are first needed. If a
// single block of queries uses them, all share one place.
template <class T>
struct Panels {
    Rows<Real> rows;
    int64_t count, d;
    bool keep;
    Real* to;
    int64_t done = 0;

    static int64_t size(int64_t count, int64_t d, bool keep) {
        return (keep ? (count + kPanel - 1) / kPanel : 1) * kPanel * count_of<T>(d);
    }
    const T* at(int64_t s) {
        T* const panel = reinterpret_cast<T*>(to) + (keep ? s * count_of<T>(d) : 0);
        if (s >= done) {
            pack_right(d, smaller(kPanel, count - s), true, rows.at(s), rows.row, panel, kPanel);
            done = s + kPanel;
        }
        return panel;
    }
};

// x kᵀ: scores before they are scaled. Over those of the keys that the last query may see, and some more,
// which are not read.
template <class T>
void dot_products(const Block& b, Keys keys, Rows<Real> rows, Panels<T>& panels, Real* to) {
    const int64_t d = b.h.a->d, end = smaller(keys.end, b.limit(b.count - 1));
    const Rows<T> x = chain_factors<T>(rows, b.count, d, b.factors);
    for (int64_t s = keys.begin; s < end; s += kPanel) {
        const int64_t columns = smaller(kPanel, round_up(end - s));
        product(Product<T>{d, x.data, x.row, 1, panels.at(s), kPanel, {to + s}, b.width, columns}, b.count);
    }
}

// out[t] = Σ_s w[t][s] rows[s], over those of the keys that query t may see.
template <class T>
void weighted_sums(const Block& b, Keys keys, const Real* w, Rows<T> rows, Out out, int64_t out_row) {
    const Attention& a = *b.h.a;
    const int64_t first = keys.begin, n = smaller(keys.end, b.limit(b.count - 1)) - first;
    if (n <= 0 && first > 0)
        return;
    out.accumulate = out.accumulate || first > 0;
    const Rows<T> x = chain_factors<T>({w + first, b.width}, b.count, n, b.factors);
    Product<T> p = {n, x.data, x.row, 1, rows.at(first), rows.row, out, out_row, a.d};
    if (a.mask.causal)
        p.staircase = Staircase::end, p.edge = b.first + 1 + a.keys - a.queries - first;
    if (a.mask.allowed == nullptr)
        product(p, b.count);
    for (int64_t r = 0; a.mask.allowed != nullptr && r < b.count; ++r)
        product_row(p, r, [&](int64_t s) { return b.h.sees(b.first + r, first + s); });
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

// Tasks per chunk, if a head is `parts` of them: eight steps of the products' sums are as much work as a
// number elsewhere.
int64_t tasks_per_chunk(const Attention& a, int64_t parts) {
    return parts > 1 ? 1 : rows_per_chunk(a.queries * a.keys * a.d / 8);
}

// The factors of a block of chains: 16 rows of q, or of weights; or the weights of 64 queries.
template <class T>
int64_t factors_size(const Attention& a, int64_t width) {
    const int64_t keys = smaller(width, kGemmBlockK), d = kQueries * round_up(count_of<T>(a.d));
    return kFactors<T> == 1 ? 0 : larger(d, kQueryBlock * keys);
}

// What all heads of a call share.
template <class T>
struct Forward {
    const Attention& a;
    const Real *q, *k, *v;
    Real *out, *weights, *statistics;
    int64_t width = row_width(a.keys), at_once = queries_at_once(width);

    // Queries begin ... end - 1.
    void run(const Head& h, int64_t begin, int64_t end) const {
        const bool keep = end - begin > kQueries;
        const int64_t panels = Panels<T>::size(a.keys, a.d, keep), factors = factors_size<T>(a, width);
        const int64_t rows = packed_size<T>(a.keys, a.d, end - begin > kQueryBlock);
        Room room = {scratch(Scratch::attention, panels + rows + factors + at_once * (width + kLanes))};
        Panels<T> k_panels = {{k + h.key(0), a.kv_row}, h.count(), a.d, keep, room.take(panels)};
        const Rows vs = packed<T>({v + h.key(0), a.kv_row}, h.limit(end - 1), a.d, room.take(rows));
        Real* const of_factors = room.take(factors);
        Block group = {h,      begin,     at_once, room.at, room.at, width, room.at + at_once * width,
                       kLanes, of_factors};
        for (; group.first < end; group.first += at_once) {
            group.count = smaller(at_once, end - group.first);
            scores(group, k_panels);
            for_blocks(group, [&](const Block& b) { exp_of_scores(b, statistics); });
            for_key_blocks(group.limit(group.count - 1), [&](Keys keys) {
                for_blocks(group, [&](const Block& b) {
                    weights_of_exp(b, keys);
                    weighted_sums(b, keys, b.w, vs, {out + h.out(b.first)}, h.out_row());
                });
            });
            if (weights != nullptr)
                write_weights(group, weights);
        }
    }
    void scores(const Block& group, Panels<T>& k_panels) const {
        for_key_blocks(group.limit(group.count - 1), [&](Keys keys) {
            for_blocks(group, [&](const Block& b) {
                dot_products(b, keys, {q + b.h.query(b.first), a.q_row}, k_panels, b.w);
                largest_scores(b, keys);
            });
        });
    }
};

template <class T>
void attention(const Attention& a, const Real* q, const Real* k, const Real* v, Real* out, Real* weights,
               Real* statistics) {
    const Forward<T> forward = {a, q, k, v, out, weights, statistics};
    const int64_t parts = (a.queries + kTaskQueries - 1) / kTaskQueries;
    parallel_for(0, a.batch * a.heads * parts, tasks_per_chunk(a, parts), [&](int64_t begin, int64_t end) {
        for (int64_t task = begin; task < end; ++task) {
            const Head h = head_of(a, task / parts);
            const int64_t first = task % parts * kTaskQueries;
            if (task + 1 < end)
                fetch_head(head_of(a, (task + 1) / parts), q, k, v, out);
            if (kFactors<T> == 1 && is_single_step(a, weights))
                attend_once(h, q, k, v, out, statistics, scratch(Scratch::attention, row_width(a.keys)));
            else
                forward.run(h, first, smaller(first + kTaskQueries, a.queries));
        }
    });
}

// out[s] = Σ_t w[t][s] rows[t], over the block's queries t that may see key s, for each of the keys.
template <class T>
void weighted_sums_by_key(const Block& b, Keys keys, const Real* w, Rows<T> rows, const Gradient& gradient) {
    const Attention& a = *b.h.a;
    Out out = gradient.out;
    if (out.data == nullptr)
        return;
    const int64_t end = b.count > 0 ? smaller(keys.end, b.limit(b.count - 1)) : 0;
    const int64_t seen = larger(0, end - keys.begin), y_row = gradient.row;
    out.data += keys.begin * y_row, out.accumulate = out.accumulate || b.first > 0;
    const Rows<T> x = packed<T>({w + keys.begin, b.width}, b.count, seen, b.factors);
    Product<T> p = {b.count, x.data, 1, x.row, rows.data, rows.row, out, y_row, a.d};
    if (a.mask.causal)  // key s is seen from query s - (keys - queries) on
        p.staircase = Staircase::begin, p.edge = keys.begin + a.queries - a.keys - b.first;
    if (a.mask.allowed == nullptr)
        product(p, seen);
    for (int64_t s = 0; a.mask.allowed != nullptr && s < seen; ++s)
        product_row(p, s, [&](int64_t t) { return b.h.sees(b.first + t, keys.begin + s); });
    if (!out.accumulate) {
        const Out rest = {out.data + seen * y_row};
        product(Product<T>{0, x.data, 1, 1, rows.data, 0, rest, y_row, a.d},
                keys.end - keys.begin - seen);  // empty sums
    }
}

// dq = dscores k,   dk = dscoresᵀ q,   dv = weightsᵀ dout
template <class T>
struct Backward {
    const Attention& a;
    const Real *q, *k, *v, *statistics, *dout;
    Out dq, dk, dv;
    int64_t width = row_width(a.keys);
    int64_t partial_row = larger(1, (a.keys + kChainKeys - 1) / kChainKeys) * kLanes;

    void run(const Head& h) const {
        const bool keep = a.queries > kQueries, pack = a.queries > kQueryBlock;
        const int64_t panels = Panels<T>::size(a.keys, a.d, keep), w_size = kQueryBlock * width;
        const int64_t rows = packed_size<T>(a.keys, a.d, pack), factors = factors_size<T>(a, width);
        const int64_t queries = packed_size<T>(kQueryBlock, a.d, pack),
                      sums = pack ? a.keys * round_up(a.d) : 0;
        Room room = {scratch(Scratch::attention, 2 * panels + rows + 2 * sums + 2 * queries + factors +
                                                     2 * w_size + kQueryBlock * partial_row)};
        Panels<T> k_panels = {{k + h.key(0), a.kv_row}, h.count(), a.d, keep, room.take(panels)};
        Panels<T> v_panels = {{v + h.key(0), a.kv_row}, h.count(), a.d, keep, room.take(panels)};
        const Rows ks = packed<T>(k_panels.rows, h.count(), a.d, room.take(rows));
        // If q, k or v are one tensor, so is the gradient: all is added in place, dq before dk before dv.
        const bool shared = (dq.data != nullptr && (dq.data == dk.data || dq.data == dv.data)) ||
                            (dk.data != nullptr && dk.data == dv.data);
        Real *const dk_copy = room.take(sums), *const dv_copy = room.take(sums);
        const Gradient dks(dk, h, shared ? nullptr : dk_copy), dvs(dv, h, shared ? nullptr : dv_copy);
        Real *const q_copy = room.take(queries), *const dout_copy = room.take(queries);
        Real* const of_factors = room.take(factors);
        Block group = {h,           0,         0, room.at, room.at + w_size, width, room.at + 2 * w_size,
                       partial_row, of_factors};
        for (int64_t& t = group.first; t == 0 || t < a.queries; t += kQueryBlock) {
            group.count = smaller(kQueryBlock, a.queries - t);
            weights_and_gradients(group, k_panels, v_panels);
            for_blocks(group, [&](const Block& b) { sum_chains(b); });
            const Rows qs = packed<T>({q + h.query(t), a.q_row}, group.count, a.d, q_copy);
            const Rows douts = packed<T>({dout + h.out(t), h.out_row()}, group.count, a.d, dout_copy);
            const int64_t seen = t == 0 ? a.keys : group.limit(group.count - 1);
            const auto by_key = [&](Keys keys) {
                weighted_sums_by_key(group, keys, group.dw, qs, dks);
                weighted_sums_by_key(group, keys, group.w, douts, dvs);
            };
            for_key_blocks(seen, [&](Keys keys) {
                for_blocks(group, [&](const Block& b) {
                    score_gradients(b, keys);
                    if (dq.data != nullptr)
                        weighted_sums(b, keys, b.dw, ks, {dq.data + h.query(b.first), dq.accumulate},
                                      a.q_row);
                });
                if (!shared)
                    by_key(keys);
            });
            if (shared)
                for_key_blocks(seen, by_key);
        }
        dks.write(h, dk.data);
        dvs.write(h, dv.data);
    }
    // The weights before dropout, and their gradients after it.
    void weights_and_gradients(const Block& group, Panels<T>& k_panels, Panels<T>& v_panels) const {
        const Head& h = group.h;
        for_key_blocks(group.limit(group.count - 1), [&](Keys keys) {
            for_blocks(group, [&](const Block& b) {
                dot_products(b, keys, {q + h.query(b.first), a.q_row}, k_panels, b.w);
                dot_products(b, keys, {dout + h.out(b.first), h.out_row()}, v_panels, b.dw);
                weights_again(b, keys, statistics);
            });
        });
    }
};

template <class T>
void attention_backward(const Attention& a, const Real* q, const Real* k, const Real* v,
                        const Real* statistics, const Real* dout, Out dq, Out dk, Out dv) {
    const Backward<T> backward = {a, q, k, v, statistics, dout, dq, dk, dv};
    parallel_for(0, a.batch * a.heads, tasks_per_chunk(a, 1), [&](int64_t begin, int64_t end) {
        for (int64_t task = begin; task < end; ++task) {
            if (task + 1 < end) {
                fetch_head(head_of(a, task + 1), q, k, v, dout);
                fetch_head(head_of(a, task + 1), dq.data, dk.data, dv.data, nullptr);
            }
            backward.run(head_of(a, task));
        }
    });
}

}  // namespace
}  // namespace plaingrad::autograd::kernels
