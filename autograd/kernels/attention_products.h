// Attention's products, with the operands packed as they need it. See attention.cpp for the whole.
//
//   dot_products           x kᵀ: scores of 16 queries, or the gradients of their weights
//   weighted_sums          w v: a sum over keys for each query
//   weighted_sums_by_key   wᵀ dout: a sum over queries for each key
#pragma once

#include "autograd/kernels/attention_softmax.h"
#include "autograd/kernels/gemm_pack.h"

namespace plaingrad::autograd::kernels {
namespace {

// Keys of a transposed panel: as wide as the widest tile.
constexpr int64_t kPanel = 4 * kLanes;

// Queries per block of dk's and dv's sums.
constexpr int64_t kQueryBlock = 4 * kQueries;

// Keys in a block, at most; and the width of a row of their scores: an odd number of Vecs, so that a column
// spreads over all sets of the cache.
inline int64_t keys_of(const Attention& a) { return smaller(a.keys, kKeyBlock); }
inline int64_t score_width(const Attention& a) { return (round_up(keys_of(a)) / kLanes | 1) * kLanes; }

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

// What packed factors of either kind of sums need: 16 rows of q, dout or weights, or the weights of 64
// queries.
template <class T>
int64_t factors_size(const Attention& a) {
    const int64_t keys = round_up(keys_of(a)), depth = round_up(count_of<T>(larger(a.d, keys)));
    return kFactors<T> == 1 ? 0 : larger(kQueries * depth, count_of<T>(kQueryBlock) * keys);
}

// The keys or values of a block transposed, as panels of 64, each (d, 64).
template <class T>
struct Panels {
    static int64_t size(const Attention& a) {
        return (keys_of(a) + kPanel - 1) / kPanel * kPanel * count_of<T>(a.d);
    }
    Panels(Rows<Real> rows, int64_t count, int64_t d, Real* to) : data(reinterpret_cast<T*>(to)), depth(d) {
        for (int64_t s = 0; s < count; s += kPanel)
            pack_right(d, smaller(kPanel, count - s), true, rows.at(s), rows.row, data + s * count_of<T>(d),
                       kPanel);
    }
    const T* at(int64_t s) const { return data + s * count_of<T>(depth); }

    T* data;
    int64_t depth;
};

// x kᵀ: scores before they are scaled. Over those of the keys that the last query may see, and some more,
// which are not read.
template <class T>
void dot_products(const Block& b, Rows<Real> rows, const Panels<T>& panels, Real* to) {
    const int64_t d = b.h.a->d, n = b.seen();
    const Rows<T> x = chain_factors<T>(rows, b.count, d, b.factors);
    for (int64_t s = 0; s < n; s += kPanel) {
        const int64_t columns = smaller(kPanel, round_up(n - s));
        product(Product<T>{d, x.data, x.row, 1, panels.at(s), kPanel, {to + s}, b.width, columns}, b.count);
    }
}

// out[t] = Σ_s w[t][s] rows[s], over those of the keys that query t may see.
template <class T>
void weighted_sums(const Block& b, const Real* w, Rows<T> rows, Out out, int64_t out_row) {
    const Attention& a = *b.h.a;
    const int64_t n = b.seen();
    const Rows<T> x = chain_factors<T>({w, b.width}, b.count, n, b.factors);
    Product<T> p = {n, x.data, x.row, 1, rows.data, rows.row, out, out_row, a.d};
    if (a.mask.causal)
        p.staircase = Staircase::end, p.edge = b.first + 1 + a.keys - a.queries - b.keys.begin;
    int64_t first = 0;  // row that sees a key: to add 0 to what is there would turn -0 to +0
    while (out.accumulate && first < b.count && b.seen(first) == 0)
        ++first;
    if (a.mask.allowed == nullptr)
        product(p, b.count, first);
    for (int64_t r = first; a.mask.allowed != nullptr && r < b.count; ++r)
        product_row(p, r, [&](int64_t s) { return b.sees(r, s); });
}

// out[s] = Σ_t w[t][s] rows[t], over the block's queries t that may see key s, for each of the keys.
template <class T>
void weighted_sums_by_key(const Block& b, const Real* w, Rows<T> rows, Out out, int64_t out_row) {
    const Attention& a = *b.h.a;
    const int64_t seen = b.seen();
    const Rows<T> x = packed<T>({w, b.width}, b.count, seen, b.factors);
    Product<T> p = {b.count, x.data, 1, x.row, rows.data, rows.row, out, out_row, a.d};
    if (a.mask.causal)  // key s is seen from query s - (keys - queries) on
        p.staircase = Staircase::begin, p.edge = b.keys.begin + a.queries - a.keys - b.first;
    if (a.mask.allowed == nullptr)
        product(p, seen);
    for (int64_t s = 0; a.mask.allowed != nullptr && s < seen; ++s)
        product_row(p, s, [&](int64_t t) { return b.sees(t, s); });
    if (!out.accumulate) {
        const Out rest = {out.data + seen * out_row};
        product(Product<T>{0, x.data, 1, 1, rows.data, 0, rest, out_row, a.d},
                b.keys.count() - seen);  // empty sums
    }
}

}  // namespace
}  // namespace plaingrad::autograd::kernels
