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

// to[j * to_ld + i] = from[i * ld + j] for i < rows and j < columns. Whole Vecs are written: each row of
// `to` has room for a multiple of 16 numbers, and what is beyond `rows` becomes 0.
inline void pack_transposed(int64_t rows, int64_t columns, const Real* from, int64_t ld, Real* to,
                            int64_t to_ld) {
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
                    store(out + r * to_ld, x[r]);
        }
}

// to[k * kTileColumns + j] = from[k * ld + j] for k < depth and j < columns, and 0 up to the whole Vec.
inline void pack_panel(int64_t depth, int64_t columns, const Real* from, int64_t ld, Real* to) {
    for (int64_t k = 0; k < depth; ++k, from += ld, to += kTileColumns)
        for (int64_t j = 0; j < columns; j += kLanes)
            store(to + j, load(from + j, columns - j));
}

}  // namespace
}  // namespace plaingrad::autograd::kernels
