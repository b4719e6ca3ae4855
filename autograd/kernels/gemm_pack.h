// Packing: copies a block of an operand into the order in which the tiles will read it, one address
// after the other. See gemm.cpp for the reasons.
#pragma once

#include "autograd/kernels/gemm_tile.h"

namespace plaingrad::autograd::kernels {
namespace {

constexpr int64_t gemm_min(int64_t a, int64_t b) { return a < b ? a : b; }
constexpr int64_t gemm_max(int64_t a, int64_t b) { return a > b ? a : b; }
constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The gap between two packed rows of a. If they were a power of two apart, the rows of a tile would share
// one set of the L1 cache.
constexpr int64_t kPackGap = kLanes;

// Up to 16 rows of up to 16 numbers from `from` on; what is missing reads as 0.
inline void load_square(int64_t rows, int64_t columns, const Real* from, int64_t ld, Vec (&x)[kLanes]) {
    if (rows >= kLanes && columns >= kLanes) {
#pragma GCC unroll 16
        for (int i = 0; i < kLanes; ++i)
            x[i] = load(from + i * ld);
    } else {
        for (int i = 0; i < kLanes; ++i)
            x[i] = i < rows ? load(from + i * ld, columns) : zero();
    }
}

template <class T>
Vec factor(Vec x) {
    if constexpr (kFactors<T> == 1)
        return x;
    else
        return rounded(x);
}

// to[j * to_ld + i] = from[i * ld + j] for i < rows and j < columns, as T: a Bf16 is rounded. Whole Vecs are
// written: each row of `to` has room for a multiple of 16 numbers, and what is beyond `rows` becomes 0.
template <class T = Real>
void pack_transposed(int64_t rows, int64_t columns, const Real* from, int64_t ld, Real* to, int64_t to_ld) {
    for (int64_t i = 0; i < rows; i += kLanes)
        for (int64_t j = 0; j < columns; j += kLanes) {
            Vec x[kLanes];
            load_square(rows - i, columns - j, from + i * ld + j, ld, x);
            for (int r = 0; r < kLanes; ++r)  // no prefetcher follows so many rows
                __builtin_prefetch(from + (i + kLanes + r) * ld + j);
            transpose(x);
            Real* const out = to + j * to_ld + i;
#pragma GCC unroll 16
            for (int r = 0; r < kLanes; ++r)
                if (r < columns - j)
                    store(out + r * to_ld, factor<T>(x[r]));
        }
}

// to[i * to_ld + j] = from[i * ld + j] for i < rows and j < columns, as T, and 0 up to the whole Vec.
template <class T = Real>
void pack(int64_t rows, int64_t columns, const Real* from, int64_t ld, Real* to, int64_t to_ld) {
    for (int64_t i = 0; i < rows; ++i, from += ld, to += to_ld)
        for (int64_t j = 0; j < columns; j += kLanes)
            store(to + j, factor<T>(load(from + j, columns - j)));
}

// ---- both operands of a product. Each row of op(a) becomes a row, of op(b) each k, or each pair.

template <class T>
void pack_left(int64_t rows, int64_t depth, bool transposed, const Real* from, int64_t ld, T* to,
               int64_t row) {
    Real* const numbers = reinterpret_cast<Real*>(to);
    transposed ? pack_transposed<T>(depth, rows, from, ld, numbers, row)
               : pack<T>(rows, depth, from, ld, numbers, row);
}

template <class T>
void pack_right(int64_t depth, int64_t columns, bool transposed, const Real* from, int64_t ld, T* to,
                int64_t row) {
    Real* const numbers = reinterpret_cast<Real*>(to);
    transposed ? pack_transposed<T>(columns, depth, from, ld, numbers, row)
               : pack<T>(depth, columns, from, ld, numbers, row);
    if (depth % kFactors<T> != 0)  // half of a pair is missing
        for (int64_t j = 0; j < columns; j += kLanes)
            store(numbers + depth * row + j, zero());
}

// Panels of Rounded with their pairs in words, which are half as large, and back.
inline void join(int64_t pairs, const Rounded* from, Halves* to) {
    for (int64_t i = 0; i < pairs; ++i, from += 2 * kTileColumns, to += kTileColumns)
        for (int64_t j = 0; j < kTileColumns; j += kLanes)
            store(to + j, halves_of(load(from + j), load(from + kTileColumns + j)));
}
template <class T>
void unpack(int64_t pairs, const Halves* from, T* to) {
    Real* numbers = reinterpret_cast<Real*>(to);
    for (int64_t i = 0; i < pairs; ++i, from += kTileColumns)
        for (int64_t part = 0; part < 2; ++part, numbers += kTileColumns)
            for (int64_t j = 0; j < kTileColumns; j += kLanes)
                store(numbers + j, load_part<Rounded>(from + j, 0, part));
}

#if defined(__AVX512BF16__)
// words(i, j) gives 16 words of row i from column j on, of which there are `rows` and `columns`.
void pack_words(int64_t rows, int64_t columns, const auto& words, Halves* to, int64_t to_ld) {
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; j += kLanes)
            store(to + i * to_ld + j, words(i, j));
}
void pack_words_transposed(int64_t rows, int64_t columns, const auto& words, Halves* to, int64_t to_ld) {
    for (int64_t i = 0; i < rows; i += kLanes)
        for (int64_t j = 0; j < columns; j += kLanes) {
            Vec x[kLanes];
            for (int r = 0; r < kLanes; ++r)
                x[r] = i + r < rows ? from_bits(words(i + r, j)) : zero();
            transpose(x);
            for (int r = 0; r < kLanes && r < columns - j; ++r)
                store(to + (j + r) * to_ld + i, bits(x[r]));
        }
}

// The pairs of rows that are next to each other, of `rows` rows; word (i, j) is in column j.
auto pairs_of_rows(int64_t rows, int64_t columns, const Real* from, int64_t ld) {
    return [=](int64_t i, int64_t j) {
        const Real* const even = from + 2 * i * ld + j;
        return halves_of(load(even, columns - j), 2 * i + 1 < rows ? load(even + ld, columns - j) : zero());
    };
}
// The pairs of columns that are next to each other, of `columns` columns; word (i, j) is in row i.
auto pairs_of_columns(int64_t columns, const Real* from, int64_t ld) {
    return [=](int64_t i, int64_t j) {
        const Real* const low = from + i * ld + 2 * j;
        const int64_t left = columns - 2 * j;
        return halves_along(load(low, left), left > kLanes ? load(low + kLanes, left - kLanes) : zero());
    };
}

template <>
void pack_left(int64_t rows, int64_t depth, bool transposed, const Real* from, int64_t ld, Halves* to,
               int64_t row) {
    const int64_t pairs = ceil_div(depth, 2);
    transposed ? pack_words_transposed(pairs, rows, pairs_of_rows(depth, rows, from, ld), to, row)
               : pack_words(rows, pairs, pairs_of_columns(depth, from, ld), to, row);
}
template <>
void pack_right(int64_t depth, int64_t columns, bool transposed, const Real* from, int64_t ld, Halves* to,
                int64_t row) {
    const int64_t pairs = ceil_div(depth, 2);
    transposed ? pack_words_transposed(columns, pairs, pairs_of_columns(depth, from, ld), to, row)
               : pack_words(pairs, columns, pairs_of_rows(depth, columns, from, ld), to, row);
}
#endif

}  // namespace
}  // namespace plaingrad::autograd::kernels
