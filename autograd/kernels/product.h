// Rows times a small matrix, for attention: the register tile of gemm_tile.h, without packing and threads,
// and with a staircase in it, as under a causal mask each row sees one more than the row before.
//
//   staircase_end                   staircase_begin
//   row 0   x x x x . . .           row 0   x x x x x x x      x   seen: in the chain of the row's sums
//   row 1   x x x x x . .           row 1   . x x x x x x      .   not read: it may be NaN
//   row 2   x x x x x x .           row 2   . . x x x x x
//
// Everything that all rows of a tile see is one loop, as in any matrix product. Only a triangle remains,
// whose size is known at compile time. Each result is one chain of fma over what its row sees, from zero and
// in order, whatever tile it is in.
#pragma once

#include "autograd/kernels/kernels.h"
#include "autograd/kernels/row.h"

namespace plaingrad::autograd::kernels {
namespace {

enum class Staircase { none, end, begin };

// y[r] = Σ_i x[r][i] m[i] over the i that row r sees, 0 <= i < n, of these
//   none    all
//   end     i < edge + r
//   begin   i >= edge + r
// m has `columns` columns.
struct Product {
    int64_t n;
    const Real* x;
    int64_t x_row, x_step;  // from row to row, from i to i + 1
    const Real* m;
    int64_t m_row;
    Out y;
    int64_t y_row, columns;
    Staircase staircase = Staircase::none;
    int64_t edge = 0;
};

template <int rows, int vecs, bool partial>
struct ProductTile {
    Vec sum[rows][vecs];
    const Product& p;
    const Real *x, *m;
    int64_t lanes;  // of m's only Vec, if partial: 1 .. kLanes

    // One step of the chains of rows begin .. end - 1.
    template <int begin, int end>
    [[gnu::always_inline]] void step(int64_t i) {
        Vec ms[vecs];
#pragma GCC unroll 8
        for (int j = 0; j < vecs; ++j)
            ms[j] = partial ? load_first(m + i * p.m_row, lanes) : load(m + i * p.m_row + j * kLanes);
#pragma GCC unroll 16
        for (int r = begin; r < end; ++r) {
            const Vec factor = broadcast(x[r * p.x_row + i * p.x_step]);
#pragma GCC unroll 8
            for (int j = 0; j < vecs; ++j)
                sum[r][j] = fma(factor, ms[j], sum[r][j]);
        }
    }
    // The triangle of steps from `first` on: rows 0 .. 0, then 0 .. 1, and so on; or, after what all rows
    // have seen, rows 1 .. end, then 2 .. end.
    template <bool widening, int done = 0>
    [[gnu::always_inline]] void steps(int64_t first) {
        if constexpr (done + 1 < rows) {
            if (0 <= first + done && first + done < p.n)
                step<widening ? 0 : done + 1, widening ? done + 1 : rows>(first + done);
            steps<widening, done + 1>(first);
        }
    }
};

template <int rows, int vecs, bool partial>
[[gnu::noinline]] void product_tile(const Product& p, int64_t row, int64_t column) {
    ProductTile<rows, vecs, partial> tile{
        {}, p, p.x + row * p.x_row, p.m + column, smaller(p.columns - column, kLanes)};
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 8
        for (int j = 0; j < vecs; ++j)
            tile.sum[r][j] = zero();
    const int64_t edge = p.edge + row;
    int64_t begin = 0, end = p.n;
    if (p.staircase == Staircase::begin) {
        tile.template steps<true>(edge);
        begin = larger(0, edge + rows - 1);
    } else if (p.staircase == Staircase::end) {
        end = smaller(end, edge);
    }
    for (int64_t i = begin; i < end; ++i)
        tile.template step<0, rows>(i);
    if (p.staircase == Staircase::end)
        tile.template steps<false>(end);
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 8
        for (int j = 0; j < vecs; ++j)
            put(p.y, (row + r) * p.y_row + column + j * kLanes, partial ? tile.lanes : kLanes,
                tile.sum[r][j]);
}

// How many rows fit: their sums, a row of m and a number of x into the registers, and no fewer than 8 chains
// of fma if possible. All 16 rows of a block of attention for a single Vec.
constexpr int product_rows(int vecs) { return kVecRegisters < 32 ? 6 : vecs == 1 ? 16 : vecs < 4 ? 8 : 6; }

// The largest tile with at most `count` rows; returns how many it has. There are none of 9 to 15 rows: with
// their triangles, they took a fifth of the time that AVX-512's kernels take to compile.
template <int vecs, bool partial, int rows = product_rows(vecs)>
int64_t fitting_product(const Product& p, int64_t count, int64_t row, int64_t column) {
    if constexpr (rows > 1)
        if (count < rows)
            return fitting_product<vecs, partial, (rows > 8 ? 8 : rows - 1)>(p, count, row, column);
    product_tile<rows, vecs, partial>(p, row, column);
    return rows;
}

// All rows, in tiles of about as many each, and all columns from `column` on. The last Vec may be partial.
// With AVX-512 a single Vec always counts as such: a masked load takes no longer there.
template <int vecs = (kVecRegisters < 32 ? 1 : 4)>
void product(const Product& p, int64_t rows, int64_t column = 0) {
    constexpr bool partial = vecs == (kVecRegisters < 32 ? 0 : 1);
    constexpr int width = partial ? 1 : vecs;
    for (; p.columns - column >= (partial ? 1 : vecs * kLanes); column += width * kLanes)
        for (int64_t row = 0; row < rows;) {
            const int64_t left = rows - row, full = product_rows(width);
            const int64_t count = full < left && left < 2 * full ? (left + 1) / 2 : left;
            row += fitting_product<width, partial>(p, count, row, column);
        }
    if constexpr (!partial)
        product<vecs - 1>(p, rows, column);
}

// One row over the i with keep(i), whatever pattern they make.
template <class Keep>
void product_row(const Product& p, int64_t row, const Keep& keep) {
    for (int64_t column = 0; column < p.columns; column += kLanes) {
        const int64_t lanes = p.columns - column;
        Vec sum = zero();
        for (int64_t i = 0; i < p.n; ++i)
            if (keep(i))
                sum = fma(broadcast(p.x[row * p.x_row + i * p.x_step]),
                          load(p.m + i * p.m_row + column, lanes), sum);
        put(p.y, row * p.y_row + column, lanes, sum);
    }
}

}  // namespace
}  // namespace plaingrad::autograd::kernels
