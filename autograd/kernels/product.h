// Rows times a small matrix, for attention: the register tile of gemm_tile.h, without packing and threads,
// and with a staircase in it, as under a causal mask each row sees one more than the row before.
//
//   Staircase::end                  Staircase::begin
//   row 0   x x x x . . .           row 0   x x x x x x x      x   seen: in the chain of the row's sums
//   row 1   x x x x x . .           row 1   . x x x x x x      .   not read: it may be NaN
//   row 2   x x x x x x .           row 2   . . x x x x x
//
// Everything that all rows of a tile see is one loop, as in any matrix product. Only a triangle remains,
// whose size is known at compile time. Each result is one chain of fma over what its row sees, from zero and
// in order, whatever tile it is in.
//
// With bfloat16 (bf16.h) a chain advances by pairs. Where a row sees only half of a pair, both factors of
// the other half are +0; they are not read. A pair of which it sees nothing is not in its chain.
#pragma once

#include "autograd/kernels/bf16.h"
#include "autograd/kernels/kernels.h"
#include "autograd/kernels/row.h"

namespace plaingrad::autograd::kernels {
namespace {

// The shape drawn above. (gemm.cpp's staircase, of steps that make a product faster, is another.)
enum class Staircase { none, end, begin };

// y[r] = Σ_i x[r][i] m[i] over the i that row r sees, 0 <= i < n, of these
//   none    all
//   end     i < edge + r
//   begin   i >= edge + r
// m has `columns` columns. If T is a Bf16, x and m hold Ts as pack_left and pack_right leave them, also the
// zeros that complete a last pair.
template <class T>
struct Product {
    int64_t n;
    const T* x;
    int64_t x_row, x_step;  // from row to row, from T to T
    const T* m;
    int64_t m_row;
    Out y;
    int64_t y_row, columns;
    Staircase staircase = Staircase::none;
    int64_t edge = 0;

    int64_t steps() const { return (n + kFactors<T> - 1) / kFactors<T>; }
    int64_t within(int64_t i) const { return i < 0 ? 0 : smaller(i, n); }
};

template <class T, int rows, int vecs, bool partial>
struct ProductTile {
    Vec sum[rows][vecs];
    const Product<T>& p;
    const T *x, *m;
    int64_t lanes;  // of m's only Vec, if partial: 1 .. kLanes

    // One step of the chains of rows begin .. end - 1.
    template <int begin, int end>
    [[gnu::always_inline]] void step(int64_t i) {
#pragma GCC unroll 2
        for (int64_t part = (i + 1) * kParts<T> - 1; part >= i * kParts<T>; --part) {
            decltype(load(m)) ms[vecs];
#pragma GCC unroll 8
            for (int j = 0; j < vecs; ++j)
                ms[j] =
                    partial ? load_first(m + part * p.m_row, lanes) : load(m + part * p.m_row + j * kLanes);
#pragma GCC unroll 16
            for (int r = begin; r < end; ++r) {
                const auto factor = broadcast(x[r * p.x_row + part * p.x_step]);
#pragma GCC unroll 8
                for (int j = 0; j < vecs; ++j)
                    sum[r][j] = multiply_add<T>(factor, ms[j], sum[r][j]);
            }
        }
    }
    // The step of a row that sees only one half of the pair: i is 2 pair, or 2 pair + 1.
    template <int r>
    [[gnu::always_inline]] void half_step(int64_t i) {
#pragma GCC unroll 8
        for (int j = 0; j < vecs; ++j)
            sum[r][j] = add_half(i, x + r * p.x_row, p.x_step, m + j * kLanes, p.m_row, sum[r][j]);
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
    // The same for pairs, row by row: those that begin before step `end`, or end after step `begin`.
    template <int r = 0>
    [[gnu::always_inline]] void pairs_until(int64_t edge, int64_t end) {
        if constexpr (r < rows) {
            const int64_t first = p.within(edge + r);
            if (first % 2 == 1 && first < p.n)
                half_step<r>(first);
            for (int64_t i = (first + 1) / 2; i < end; ++i)
                step<r, r + 1>(i);
            pairs_until<r + 1>(edge, end);
        }
    }
    template <int r = 0>
    [[gnu::always_inline]] void pairs_from(int64_t begin, int64_t edge) {
        if constexpr (r < rows) {
            const int64_t last = p.within(edge + r);
            for (int64_t i = begin; i < last / 2; ++i)
                step<r, r + 1>(i);
            if (last % 2 == 1)
                half_step<r>(last - 1);
            pairs_from<r + 1>(begin, edge);
        }
    }
    [[gnu::always_inline]] void chains(int64_t edge) {
        [[maybe_unused]] const Arithmetic<T> arithmetic{};
        int64_t begin = 0, end = p.steps();
        if (p.staircase == Staircase::begin) {
            begin = (p.within(edge + rows - 1) + kFactors<T> - 1) / kFactors<T>;
            if constexpr (kFactors<T> == 1)
                steps<true>(edge);
            else
                pairs_until(edge, begin);
        } else if (p.staircase == Staircase::end) {
            end = p.within(edge) / kFactors<T>;
        }
        for (int64_t i = begin; i < end; ++i)
            step<0, rows>(i);
        if (p.staircase == Staircase::end) {
            if constexpr (kFactors<T> == 1)
                steps<false>(edge);
            else
                pairs_from(end, edge);
        }
    }
};

template <class T, int rows, int vecs, bool partial>
[[gnu::noinline]] void product_tile(const Product<T>& p, int64_t row, int64_t column) {
    ProductTile<T, rows, vecs, partial> tile{
        {}, p, p.x + row * p.x_row, p.m ? p.m + column : p.m, smaller(p.columns - column, kLanes)};
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 8
        for (int j = 0; j < vecs; ++j)
            tile.sum[r][j] = zero();
    tile.chains(p.edge + row);
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
template <int vecs, bool partial, int rows = product_rows(vecs), class T>
int64_t fitting_product(const Product<T>& p, int64_t count, int64_t row, int64_t column) {
    if constexpr (rows > 1)
        if (count < rows)
            return fitting_product<vecs, partial, (rows > 8 ? 8 : rows - 1)>(p, count, row, column);
    product_tile<T, rows, vecs, partial>(p, row, column);
    return rows;
}

// The rows from `first` on, in tiles of about as many each, and all columns from `column` on. The last Vec
// may be partial. With AVX-512 a single Vec always counts as such: a masked load takes no longer there.
template <int vecs = (kVecRegisters < 32 ? 1 : 4), class T>
void product(const Product<T>& p, int64_t rows, int64_t first = 0, int64_t column = 0) {
    constexpr bool partial = vecs == (kVecRegisters < 32 ? 0 : 1);
    constexpr int width = partial ? 1 : vecs;  // NOLINT(bugprone-branch-clone): vecs may be 1, too
    for (; p.columns - column >= (partial ? 1 : vecs * kLanes); column += width * kLanes)
        for (int64_t row = first; row < rows;) {
            const int64_t left = rows - row, full = product_rows(width);
            const int64_t count = full < left && left < 2 * full ? (left + 1) / 2 : left;
            row += fitting_product<width, partial>(p, count, row, column);
        }
    if constexpr (!partial)
        product<vecs - 1>(p, rows, first, column);
}

// One row over the i with keep(i), whatever pattern they make.
template <class T, class Keep>
void product_row(const Product<T>& p, int64_t row, const Keep& keep) {
    const T* const x = p.x + row * p.x_row;
    for (int64_t column = 0; column < p.columns; column += kLanes) {
        const int64_t lanes = p.columns - column;
        const T* const m = p.m + column;
        Vec sum = zero();
        {
            [[maybe_unused]] const Arithmetic<T> arithmetic{};
            for (int64_t i = 0; i < p.n; ++i)
                if constexpr (kFactors<T> == 1) {
                    if (keep(i))
                        sum = fma(broadcast(x[i * p.x_step]), load(m + i * p.m_row, lanes), sum);
                } else {
                    const bool pair = i % 2 == 0 && i + 1 < p.n && keep(i) && keep(i + 1);
                    for (int64_t part = kParts<T> - 1; pair && part >= 0; --part) {
                        const int64_t t = i / 2 * kParts<T> + part;
                        sum = multiply_add<T>(broadcast(x[t * p.x_step]), load(m + t * p.m_row), sum);
                    }
                    if (!pair && keep(i))
                        sum = add_half(i, x, p.x_step, m, p.m_row, sum);
                    i += pair;
                }
        }
        put(p.y, row * p.y_row + column, lanes, sum);
    }
}

}  // namespace
}  // namespace plaingrad::autograd::kernels
