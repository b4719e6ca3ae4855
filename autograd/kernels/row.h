// What several kernels do to one row of numbers, 16 lanes at a time.
//
// A row's sum is kept in 16 partial sums, element i in lane i mod 16, and these are added by one fixed
// tree at the end: the bits depend on the row alone. Lanes beyond the end contribute an exact 0.
//
// Every addition rounds, and if the terms are equal, always in the same direction: 0.1 added 10⁷ times, in
// sequential blocks of 4096, was off by 2e-5. So a chain has at most 16 additions (64 in the sums over many
// rows of layer norm's gain and bias), an error of at most 2e-7. The chains are added as a binary tree, whose
// depth grows only with the logarithm of the length.
#pragma once

#include "autograd/base/parallel.h"
#include "autograd/kernels/kernels.h"
#include "autograd/kernels/math.h"
#include "autograd/kernels/simd.h"

namespace plaingrad::autograd::kernels {
namespace {

constexpr Real kInfinity = static_cast<Real>(__builtin_inf());

constexpr int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
constexpr int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

// A chunk of parallel_for should be worth handing to a thread: about 8,000 numbers, some microseconds of work
// against the one that the hand-over takes.
constexpr int64_t kGrainNumbers = 8192;

// Rows of n numbers in a chunk. There is an even number of chunks, all of one size, so that two threads are
// done at the same time.
inline int64_t rows_per_chunk(int64_t rows, int64_t n) {
    const int64_t numbers = rows * (n + 1), pairs = 1 + numbers / (2 * kGrainNumbers);
    return numbers <= kGrainNumbers ? larger(1, rows) : (rows + 2 * pairs - 1) / (2 * pairs);
}

// f(begin, end) for the chunks of so many rows of n numbers.
template <class F>
void for_chunks(int64_t rows, int64_t n, const F& f) {
    parallel_for(0, rows, rows_per_chunk(rows, n), f);
}

// f(row) for every row of n numbers.
template <class F>
void for_rows(int64_t rows, int64_t n, const F& f) {
    for_chunks(rows, n, [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r)
            f(r);
    });
}

inline Real row_max(int64_t n, const Real* x) {
    Vec largest = broadcast(-kInfinity);
    for (int64_t i = 0; i < n; i += kLanes)
        largest = max(largest, load(x + i, n - i, -kInfinity));
    return reduce_max(largest);
}

constexpr int64_t kChain = 16;  // additions in sequence

// sum + Σ of the terms begin, begin + step, ... < end; add(sum, i) adds term i.
template <class Sum, class F>
[[gnu::always_inline]] inline Sum sum_chain(int64_t begin, int64_t end, int64_t step, Sum sum, const F& add) {
    for (int64_t i = begin; i < end; i += step)
        sum = add(sum, i);
    return sum;
}
// leaf(begin, end) + ... as a binary tree over leaves of this size: its left half has the largest power of
// two of them.
template <class Leaf>
auto tree(int64_t begin, int64_t end, int64_t size, const Leaf& leaf) -> decltype(leaf(begin, end)) {
    if (end - begin <= size)
        return leaf(begin, end);
    int64_t half = size;
    while (2 * half < end - begin)
        half *= 2;
    const auto left = tree(begin, begin + half, size, leaf);
    return left + tree(begin + half, end, size, leaf);
}
// The same for any number of terms: a tree of chains.
template <class Sum, class F>
Sum sum_tree(int64_t begin, int64_t end, int64_t step, const Sum& nothing, const F& add) {
    return tree(begin, end, kChain * step,
                [&](int64_t first, int64_t last) { return sum_chain(first, last, step, nothing, add); });
}
// n / step terms. Most rows are one chain, which stays inline.
template <class Sum, class F>
inline Sum sum_terms(int64_t n, int64_t step, const Sum& nothing, const F& add) {
    return n <= kChain * step ? sum_chain(0, n, step, nothing, add) : sum_tree(0, n, step, nothing, add);
}
template <class F>
inline Vec sum_terms(int64_t n, int64_t step, const F& add) {
    return sum_terms(n, step, zero(), add);
}

// Two sums in one pass over a row.
struct TwoSums {
    Vec a = zero(), b = zero();
    friend TwoSums operator+(const TwoSums& x, const TwoSums& y) { return {x.a + y.a, x.b + y.b}; }
};

// The 16 partial sums.
inline Vec row_sums(int64_t n, const Real* x) {
    return sum_terms(n, kLanes, [&](Vec sum, int64_t i) { return sum + load(x + i, n - i); });
}
inline Real row_sum(int64_t n, const Real* x) { return reduce_add(row_sums(n, x)); }

inline Real row_dot(int64_t n, const Real* x, const Real* y) {
    return reduce_add(sum_terms(
        n, kLanes, [&](Vec sum, int64_t i) { return fma(load(x + i, n - i), load(y + i, n - i), sum); }));
}

// Σ exp(x - shift)
inline Real row_sum_exp(int64_t n, const Real* x, Real shift) {
    return reduce_add(sum_terms(n, kLanes, [&](Vec sum, int64_t i) {
        return sum + exp(load(x + i, n - i, -kInfinity) - broadcast(shift));
    }));
}

// Σ (x - shift)
inline Real row_sum_above(int64_t n, const Real* x, Real shift) {
    return reduce_add(sum_terms(
        n, kLanes, [&](Vec sum, int64_t i) { return sum + (load(x + i, n - i, shift) - broadcast(shift)); }));
}

// Reduces 16 vectors at once: lane r of the result is vector r's sum (or maximum, ...), by the tree that
// reduce_add has, since interleaving Vec i with i + half puts those lanes side by side that the tree joins
// next. 15 operations and 30 interleaves, independent of each other, instead of 16 dependent chains of 4.
// All 16 must be there; x is working memory.
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
inline Vec reduce_rows(const Real* rows, const F& f) {
    Vec x[kLanes];
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i)
        x[i] = load(rows + i * kLanes);
    return reduce_each(x, f);
}
inline Vec sum_rows(const Real* rows) {
    return reduce_rows(rows, [](Vec x, Vec y) { return x + y; });
}

inline Real first_lane(Vec x) {
    Real lane[kLanes];
    store(lane, x);
    return lane[0];
}

// y = exp(x - max) / Σ exp(x - max); y may be x.
inline void row_softmax(int64_t n, const Real* x, Real* y) {
    const Real shift = row_max(n, x);
    const Vec sum = sum_terms(n, kLanes, [&](Vec so_far, int64_t i) {
        const Vec e = exp(load(x + i, n - i, -kInfinity) - broadcast(shift));
        store(y + i, n - i, e);
        return so_far + e;
    });
    const Vec factor = broadcast(Real(1) / reduce_add(sum));
    for (int64_t i = 0; i < n; i += kLanes)
        store(y + i, n - i, load(y + i, n - i) * factor);
}

// Writes or adds n <= 16 lanes at out.data + at.
inline void put(const Out& out, int64_t at, int64_t n, Vec value) {
    Real* to = out.data + at;
    store(to, n, out.accumulate ? load(to, n) + value : value);
}

// Iterates over the rows (the three outer loops) and keeps the operands' offsets.
class RowWalk {
public:
    RowWalk(const Loop4& loop, int64_t row) : loop_(loop) {
        for (int d = 2; d >= 0; --d) {
            index_[d] = row % loop.size[d];
            row /= loop.size[d];
            a += index_[d] * loop.a[d];
            b += index_[d] * loop.b[d];
        }
    }
    void next() {
        for (int d = 2; d >= 0; --d) {
            a += loop_.a[d];
            b += loop_.b[d];
            if (++index_[d] < loop_.size[d])
                return;
            a -= loop_.a[d] * index_[d];
            b -= loop_.b[d] * index_[d];
            index_[d] = 0;
        }
    }
    int64_t a = 0, b = 0;

private:
    const Loop4& loop_;
    int64_t index_[3];
};

}  // namespace
}  // namespace plaingrad::autograd::kernels
