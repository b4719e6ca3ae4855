// Rows times a small matrix, for attention: gemm.cpp's chains without its packing and threads, and with rows
// of the matrix that a query may not see left out.
#pragma once

#include "autograd/kernels/gemm_tile.h"
#include "autograd/kernels/kernels.h"
#include "autograd/kernels/row.h"

namespace autograd::kernels {
namespace {

// y[r] = Σ_i x[r][i] m[i] for several rows of x, over i < n; m has `columns` columns.
struct Product {
    int64_t n;
    const Real* x;
    int64_t x_row, x_step;  // from row to row, from i to i + 1
    const Real* m;
    int64_t m_row;
    Out y;
    int64_t y_row, columns;
};

// One row, over the i with keep(i), `strip` Vecs of columns at a time so that their chains overlap.
template <int strip, bool partial, class Keep>
void row_strip(const Product& p, int64_t row, int64_t column, const Keep& keep) {
    const Real* x = p.x + row * p.x_row;
    Out y = {p.y.data + row * p.y_row + column, p.y.accumulate};
    for (int64_t first = 0; first == 0 || first < p.n; first += kGemmBlockK, y.accumulate = true) {
        Vec sum[strip];
#pragma GCC unroll 8
        for (int s = 0; s < strip; ++s)
            sum[s] = zero();
        const int64_t last = first + kGemmBlockK < p.n ? first + kGemmBlockK : p.n;
        for (int64_t i = first; i < last; ++i) {
            if (!keep(i))
                continue;
            const Real* m = p.m + i * p.m_row + column;
            const Vec factor = broadcast(x[i * p.x_step]);
#pragma GCC unroll 8
            for (int s = 0; s < strip; ++s)
                sum[s] =
                    fma(factor, partial ? load_first(m, p.columns - column) : load(m + s * kLanes), sum[s]);
        }
#pragma GCC unroll 8
        for (int s = 0; s < strip; ++s)
            put(y, s * kLanes, partial ? p.columns - column : kLanes, sum[s]);
    }
}

// One row, from column `c` on.
template <class Keep>
void row_product(const Product& p, int64_t row, int64_t c, const Keep& keep) {
    constexpr int strip = 4;
    for (; p.columns - c >= strip * kLanes; c += strip * kLanes)
        row_strip<strip, false>(p, row, c, keep);
    for (; p.columns - c >= kLanes; c += kLanes)
        row_strip<1, false>(p, row, c, keep);
    if (p.columns > c)
        row_strip<1, true>(p, row, c, keep);
}

// Many rows, over all i: the matrix product's register tile does it. Columns beyond the last whole Vec are
// left to row_product, as the tile reads whole ones.
void product(const Product& p, int64_t rows) {
    const int64_t whole = p.columns / kLanes * kLanes;
    for (int64_t first = 0; first == 0 || first < p.n; first += kGemmBlockK) {
        const int64_t k = p.n - first < kGemmBlockK ? p.n - first : kGemmBlockK;
        for (int64_t c = 0; c < whole; c += kTileColumns)
            for (int64_t r = 0; r < rows; r += kTileRows) {
                const int64_t columns = whole - c < kTileColumns ? whole - c : kTileColumns;
                fitting_tile(
                    rows - r, k, {p.x + r * p.x_row + first * p.x_step, p.x_row, p.x_step, 0},
                    {p.m + first * p.m_row + c, p.m_row, 0},
                    {p.y.data + r * p.y_row + c, p.y_row, columns, p.y.accumulate || first > 0, nullptr});
            }
    }
    for (int64_t r = 0; whole < p.columns && r < rows; ++r)
        row_product(p, r, whole, [](int64_t) { return true; });
}

}  // namespace
}  // namespace autograd::kernels
