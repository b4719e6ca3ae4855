// Scaled dot-product attention, "Attention Is All You Need", §3.2.1, equation 1. Part of unit.cpp.
//
//   scores  = q kᵀ scale                 per head
//   weights = softmax(scores)            over the keys that the mask allows
//   out     = dropout(weights) v
//
// Scores would fill (queries x keys) numbers a head: 1 GiB with 16,384 words. They are never stored. A task
// is one head of one sentence, or 1024 of its queries, and takes the keys and values 512 at a time, which
// stay in the L2 cache. Keys are transposed, in panels of 64 that stay in L1, so that 16 are adjacent. For
// each 16 queries, register tiles (product.h) write the scores into 33 KiB, where they become exp(score -
// shift) (attention_softmax.h), and tiles again add the weighted sums of value rows to the output. After the
// last block of keys the output is divided by Σ exp. This is FlashAttention's order (Dao et al. 2022,
// algorithm 1), there for the memory of a GPU.
//
// Each score is a chain of fma over d, and each output one over every 512 keys, added in order, so a row's
// bits depend on its query and its allowed keys alone: not on padding, nor on the other queries, nor on
// whether the keys come from a cache.
//
// Masked keys are skipped, not filled with -inf, so a NaN in one cannot spread. Under a causal mask each row
// of a tile ends one key after the row above; tiles above the diagonal are skipped. A pattern of allowed
// pairs is processed row by row. A query with no allowed key gives zeros.
//
// Backward computes the scores again, and the weights from two numbers per query that forward kept: storing
// them would cost (queries x keys) a head, and reading them back is not faster. The gradient of score s
// needs a sum over all of its row's keys j: ds_s = w_s (dw_s - Σ_j w_j dw_j). With dropout's factors m_j,
// out is Σ_j m_j w_j v_j and dw_j is m_j (dout·v_j), so Σ_j w_j dw_j = dout·out, which is known at once. So
// a block of keys with their gradients stays in L2 while all queries pass by, 64 at a time.
#include <cassert>

#include "autograd/base/parallel.h"
#include "autograd/kernels/attention_products.h"
#include "autograd/kernels/attention_step.h"
#include "autograd/kernels/scratch.h"

namespace plaingrad::autograd::kernels {
namespace {

// Queries of a head that one task computes at most, so that a long text has work for many threads. Each packs
// the head's keys and values for itself, which is a hundredth of its work.
constexpr int64_t kTaskQueries = 16 * kQueryBlock;

// Rows of the next head that are prefetched while one is computed. Those of a short sentence are too few, and
// too far apart, for the hardware prefetcher: with 16 words, forward waited a third of its time.
constexpr int64_t kFetchedRows = 2 * kLanes;

// Working memory, handed out piece by piece; nullptr for an empty one.
struct Room {
    Real *at, *end;
    explicit Room(int64_t n) : at(scratch(Scratch::attention, n)), end(at + n) {}
    Real* take(int64_t n) {
        assert(n <= end - at);
        return n > 0 ? (at += n) - n : nullptr;
    }
};

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

// Tasks per chunk, if a head is `parts` of them, or `heads` are one: eight steps of the products' sums are as
// much work as a number elsewhere.
int64_t tasks_per_chunk(const Attention& a, int64_t parts, int64_t heads) {
    const int64_t numbers = a.queries * a.keys * a.d / 8 * heads;
    return parts > 1 ? 1 : rows_per_chunk(a.batch * a.heads / heads, numbers);
}

// What all heads of a call share.
template <class T>
struct Forward {
    const Attention& a;
    const Real *q, *k, *v;
    Real *out, *weights, *statistics;

    // Queries begin ... end - 1.
    void run(const Head& h, int64_t begin, int64_t end) const {
        const int64_t panels = Panels<T>::size(a), width = score_width(a), factors = factors_size<T>(a);
        const int64_t values = packed_size<T>(keys_of(a), a.d, end - begin > kQueryBlock);
        const int64_t running = 2 * round_up(end - begin);
        Room room(panels + values + kQueries * width + factors + running);
        Real *const of_keys = room.take(panels), *const of_values = room.take(values);
        Block b = {h, begin, 0, room.take(kQueries * width), nullptr, width, room.take(factors)};
        const auto for_blocks = [&](const auto& f) {
            for (b.first = begin; b.first < end; b.first += kQueries) {
                b.count = smaller(kQueries, end - b.first);
                f();
            }
        };
        for_key_blocks(h.limit(end - 1), [&](Keys keys) {
            const Panels<T> ks({k + h.key(keys.begin), a.kv_row}, keys.count(), a.d, of_keys);
            const Rows vs = packed<T>({v + h.key(keys.begin), a.kv_row}, keys.count(), a.d, of_values);
            b.keys = keys;
            for_blocks([&] {
                if (keys.begin == 0 || b.seen() > 0)
                    add_keys(b, ks, vs, room.at + 2 * (b.first - begin));
            });
        });
        if (weights != nullptr)
            for_key_blocks(a.keys, [&](Keys keys) {
                const Panels<T> ks({k + h.key(keys.begin), a.kv_row}, keys.count(), a.d, of_keys);
                b.keys = keys;
                for_blocks([&] { write_weights(b, ks); });
            });
    }
    // running: the 16 shifts and 16 totals of the softmax, from one block of keys to the next.
    void add_keys(const Block& b, const Panels<T>& ks, Rows<T> vs, Real* running) const {
        const bool first = b.keys.begin == 0, last = b.h.limit(b.first + b.count - 1) <= b.keys.end;
        RunningSoftmax softmax =
            first ? RunningSoftmax{} : RunningSoftmax{load(running), load(running + kLanes)};
        dot_products(b, {q + b.h.query(b.first), a.q_row}, ks, b.w);
        const Vec before = exp_of_scores(b, softmax);
        if (!first)
            multiply_out(b, before);
        weighted_sums(b, b.w, vs, {out + b.h.out(b.first), !first}, b.h.out_row());
        if (last)
            return finish(b, softmax);
        store(running, softmax.shift);
        store(running + kLanes, softmax.total);
    }
    void multiply_out(const Block& b, Vec factors) const {
        const Lanes factor(factors);
        for (int64_t r = 0; r < b.count; ++r)
            for (int64_t i = 0; i < a.d; i += kLanes) {
                Real* const to = out + b.h.out(b.first + r) + i;
                store(to, a.d - i, load(to, a.d - i) * broadcast(factor.of[r]));
            }
    }
    void finish(const Block& b, const RunningSoftmax& softmax) const {
        const Lanes shift(softmax.shift), factor(softmax.factor());
        multiply_out(b, softmax.factor());
        for (int64_t r = 0; r < b.count; ++r) {
            Real* const kept = statistics + 2 * b.h.row(b.first + r);
            kept[0] = shift.of[r], kept[1] = factor.of[r];
        }
    }
    void write_weights(const Block& b, const Panels<T>& ks) const {
        dot_products(b, {q + b.h.query(b.first), a.q_row}, ks, b.w);
        weights_of_scores(b, statistics);
        for (int64_t r = 0; r < b.count; ++r)
            for (int64_t s = 0; s < b.keys.count(); ++s)
                weights[b.h.row(b.first + r) * a.keys + b.keys.begin + s] =
                    b.sees(r, s) ? b.w[r * b.width + s] : Real(0);
    }
};

template <class T>
void attention(const Attention& a, const Real* q, const Real* k, const Real* v, Real* out, Real* weights,
               Real* statistics) {
    const Forward<T> forward = {a, q, k, v, out, weights, statistics};
    const int64_t parts = (a.queries + kTaskQueries - 1) / kTaskQueries;
    parallel_for(0, a.batch * a.heads * parts, tasks_per_chunk(a, parts, 1), [&](int64_t begin, int64_t end) {
        for (int64_t task = begin; task < end; ++task) {
            const Head h = head_of(a, task / parts);
            const int64_t first = task % parts * kTaskQueries;
            if (task + 1 < end)
                fetch_head(head_of(a, (task + 1) / parts), q, k, v, out);
            if (is_single_step(a, weights))
                attend_once<T>(h, q, k, v, out, statistics, scratch(Scratch::attention, step_size<T>(a)));
            else
                forward.run(h, first, smaller(first + kTaskQueries, a.queries));
        }
    });
}

// The gradient of a block of keys or values, which all queries add to: in place, or in a copy, `to`.
class Gradient {
public:
    Gradient(Out whole, const Head& h, Keys keys, Real* to) : place_(whole), h_(h), keys_(keys), copy_(to) {
        if (place_.data != nullptr)
            place_.data += h.key(keys.begin);
        if (copies() && place_.accumulate)
            copy_rows(keys.count(), h.a->d, {place_.data, h.a->kv_row}, to, row());
    }
    template <class T>
    void add(const Block& b, const Real* w, Rows<T> rows) const {
        if (place_.data != nullptr)
            weighted_sums_by_key(b, w, rows,
                                 {copies() ? copy_ : place_.data, place_.accumulate || b.first > 0}, row());
    }
    void write() const {
        if (copies())
            copy_rows(keys_.count(), h_.a->d, {copy_, row()}, place_.data, h_.a->kv_row);
    }

private:
    bool copies() const { return place_.data != nullptr && copy_ != nullptr; }
    int64_t row() const { return copies() ? round_up(h_.a->d) : h_.a->kv_row; }

    Out place_;  // no data: it is not wanted
    const Head& h_;
    Keys keys_;
    Real* copy_;
};

// With e = exp(score - shift), m dropout's factors and dout' = dout / Σ exp:
//     dv = (e m)ᵀ dout'     ds = scale e (m dout' vᵀ - dout'·out)     dq = ds k,  dk = dsᵀ q
template <class T>
struct Backward {
    const Attention& a;
    const Real *q, *k, *v, *out, *statistics, *dout;
    Out dq, dk, dv;

    // Where a head's working memory is.
    struct Rooms {
        Real *ks, *vs, *k_rows, *dk, *dv, *q, *dout, *packed_dout, *factors, *w, *dw;
    };

    void run(const Head& h) const {
        const bool copies = a.queries > kQueryBlock;
        const int64_t panels = Panels<T>::size(a), rows = packed_size<T>(keys_of(a), a.d, copies);
        const int64_t sums = copies ? keys_of(a) * round_up(a.d) : 0;
        const int64_t queries = packed_size<T>(kQueryBlock, a.d, copies), douts = kQueryBlock * round_up(a.d);
        const int64_t packed_douts = packed_size<T>(kQueryBlock, a.d, false);
        const int64_t factors = factors_size<T>(a), width = score_width(a), w = kQueryBlock * width;
        Room room(2 * panels + rows + 2 * sums + queries + douts + packed_douts + factors + 2 * w);
        Rooms to;
        to.ks = room.take(panels), to.vs = room.take(panels), to.k_rows = room.take(rows);
        to.dk = room.take(sums), to.dv = room.take(sums);
        to.q = room.take(queries), to.dout = room.take(douts), to.packed_dout = room.take(packed_douts);
        to.factors = room.take(factors), to.w = room.take(w), to.dw = room.take(w);
        for_key_blocks(a.keys, [&](Keys keys) { add_keys(h, keys, width, to); });
    }
    void add_keys(const Head& h, Keys keys, int64_t width, const Rooms& to) const {
        const Rows<Real> k_rows = {k + h.key(keys.begin), a.kv_row},
                         v_rows = {v + h.key(keys.begin), a.kv_row};
        const int64_t seen = smaller(keys.end, h.limit(a.queries - 1)) - keys.begin;
        const Panels<T> ks(k_rows, seen, a.d, to.ks), vs(v_rows, seen, a.d, to.vs);
        const Rows<T> rows = packed<T>(k_rows, larger(0, seen), a.d, to.k_rows);
        const Gradient dks(dk, h, keys, to.dk), dvs(dv, h, keys, to.dv);
        Block group = {h, 0, 0, to.w, to.dw, width, to.factors, keys};
        for (int64_t& t = group.first; t == 0 || t < a.queries; t += kQueryBlock) {
            group.count = smaller(kQueryBlock, a.queries - t);
            if (t > 0 && keys.begin > 0 && group.seen() == 0)
                continue;  // the first group writes, even zeros; of the first keys, all do
            for (int64_t r = 0; r < group.count; r += kQueries) {
                Block b = group;
                b.first += r, b.count = smaller(kQueries, group.count - r);
                b.w += r * width, b.dw += r * width;
                of_queries(b, ks, vs, rows, to.dout + r * round_up(a.d));
            }
            const Rows<Real> douts = {to.dout, round_up(a.d)};
            dks.add(group, to.dw, packed<T>({q + h.query(t), a.q_row}, group.count, a.d, to.q));
            dvs.add(group, to.w, packed<T>(douts, group.count, a.d, to.packed_dout));
        }
        dks.write();
        dvs.write();
    }
    // dq, and in b.w and b.dw the factors of dv and dk. `douts`: dout' of these queries goes there.
    void of_queries(const Block& b, const Panels<T>& ks, const Panels<T>& vs, Rows<T> rows,
                    Real* douts) const {
        const Lanes dots(divided(b, douts));
        dot_products(b, {q + b.h.query(b.first), a.q_row}, ks, b.w);
        dot_products(b, {douts, round_up(a.d)}, vs, b.dw);
        score_gradients(b, statistics, dots);
        if (dq.data != nullptr)
            weighted_sums(b, b.dw, rows, {dq.data + b.h.query(b.first), dq.accumulate || b.keys.begin > 0},
                          a.q_row);
    }
    // Writes dout' and returns dout'·out.
    Vec divided(const Block& b, Real* douts) const {
        return for_rows_of(b, kSumOf, [&](int64_t r) {
            const int64_t from = b.h.out(b.first + r);
            const Vec factor = broadcast(kept_of(b, r, statistics)[1]);
            return sum_terms(a.d, kLanes, [&](Vec dot, int64_t i) {
                const Vec x = load(dout + from + i, a.d - i) * factor;
                store(douts + r * round_up(a.d) + i, x);
                return fma(x, load(out + from + i, a.d - i), dot);
            });
        });
    }
};

// A head of keys and values is one task, however long, with all heads of queries that read it, one after the
// other: dq, dk and dv are sums in a fixed order over keys, over queries and over these heads.
template <class T>
void attention_backward(const Attention& a, const Real* q, const Real* k, const Real* v, const Real* out,
                        const Real* statistics, const Real* dout, Out dq, Out dk, Out dv) {
    const Backward<T> first = {a, q, k, v, out, statistics, dout, dq, dk, dv};
    Backward<T> others = first;
    others.dk.accumulate = others.dv.accumulate = true;
    const int64_t tasks = a.batch * a.heads / a.group;
    parallel_for(0, tasks, tasks_per_chunk(a, 1, a.group), [&](int64_t begin, int64_t end) {
        for (int64_t head = begin * a.group; head < end * a.group; ++head) {
            if (head + 1 < end * a.group) {
                fetch_head(head_of(a, head + 1), q, k, v, dout);
                fetch_head(head_of(a, head + 1), dq.data, dk.data, dv.data, out);
            }
            (head % a.group == 0 ? first : others).run(head_of(a, head));
        }
    });
}

}  // namespace
}  // namespace plaingrad::autograd::kernels
