// Exercise 12: a faster matrix product (an evening)
//
// The idea: even in the best order, three loops reach a fraction of what a core can do, because they wait
// for memory. Each step up the staircase uses a number more often once it is loaded: from a register,
// from the nearest cache, from the next one.
//
// Given (12/given.h): three_loops, right and slow. You are compiled for this machine, with -O3 -march=native.
// Write: matmul, at least twice as fast, on one thread. First a tile of c, some rows high and some
// vectors wide, whose sums stay in registers; then blocks of b that stay in a cache; then packing.
// Read before: autograd/kernels/README.md ("The staircase"); the head of autograd/kernels/gemm.cpp
#pragma once

#include <algorithm>

#include "tests/exercises/12/given.h"

namespace plaingrad::exercises {

// answer
// Two steps of the staircase: a tile of c that stays in registers, and packed blocks of b. What is left
// to the library are threads, blocks of a for the second cache, and tiles chosen for each instruction
// set.

// The tile of c. For each l, kRows numbers of a and kColumns of b are loaded and make kRows * kColumns
// products. Its sums fill 12 of the 16 registers of AVX2, or 24 of the 32 that AVX-512 and NEON have.
// That leaves room for a and b, and there are enough independent additions to hide the 4 cycles that each
// takes.
constexpr int64_t kRows = 6;
#ifdef __AVX512F__
constexpr int64_t kColumns = 32;
#else
constexpr int64_t kColumns = 16;
#endif
// kDepth rows of packed b take 16 or 32 KiB, and stay in the nearest cache while all rows of a pass by.
constexpr int64_t kDepth = 256;

// A tile of c, rows (at most kRows) x columns (at most kColumns), += rows of a times packed b (depth,
// kColumns). The bounds of the inner loops are constants, so the compiler unrolls them, and keeps `sum`
// in registers.
inline void tile(int64_t rows, int64_t columns, int64_t depth, const Real* a, int64_t a_row,
                 const Real* packed, Real* c, int64_t c_row) {
    Real sum[kRows][kColumns] = {};
    const Real* row[kRows];  // beyond the last row it is read again, and its sums are not stored
    for (int64_t i = 0; i < kRows; ++i)
        row[i] = a + std::min(i, rows - 1) * a_row;
    for (int64_t l = 0; l < depth; ++l)
        for (int64_t i = 0; i < kRows; ++i)
            for (int64_t j = 0; j < kColumns; ++j)
                sum[i][j] += row[i][l] * packed[l * kColumns + j];
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j)
            c[i * c_row + j] += sum[i][j];
}
// end

// c (m, n) = a (m, k) b (k, n), as three_loops, for any sizes.
// answer
// kColumns columns of b are scattered over as many cache lines as b has rows. Copied side by side, they are
// read in order, once for every kRows rows of a.
// end
inline void matmul(int64_t m, int64_t n, int64_t k, const Real* a, const Real* b, Real* c) {
    // skeleton: not_written(12, "matmul", m, n, k, a, b, c);
    // answer
    std::fill(c, c + m * n, Real(0));
    std::vector<Real> packed(static_cast<std::size_t>(kDepth * kColumns));
    for (int64_t l = 0; l < k; l += kDepth)
        for (int64_t j = 0; j < n; j += kColumns) {
            const int64_t depth = std::min(kDepth, k - l), columns = std::min(kColumns, n - j);
            for (int64_t p = 0; p < depth; ++p)  // columns beyond the last are computed, but not stored
                std::copy_n(b + (l + p) * n + j, columns, packed.data() + p * kColumns);
            for (int64_t i = 0; i < m; i += kRows) {
                const int64_t rows = std::min(kRows, m - i);
                tile(rows, columns, depth, a + i * k + l, k, packed.data(), c + i * n + j, n);
            }
        }
    // end
}

}  // namespace plaingrad::exercises

// answer
// In the library: autograd/kernels/gemm.cpp, gemm
// In the library: autograd/kernels/gemm_tile.h
//
// `make bench-staircase` climbs all steps, and prints what each of them gains on this machine.
// end
