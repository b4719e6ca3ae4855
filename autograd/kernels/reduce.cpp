// Moving numbers (transpose, slice, concatenate) and reducing them (sum, max). Part of unit.cpp.
#include "autograd/base/parallel.h"
#include "autograd/kernels/gemm_pack.h"
#include "autograd/kernels/row.h"
#include "autograd/kernels/scratch.h"

namespace plaingrad::autograd::kernels {
namespace {

// ---- copy: the kernel behind permute, slice, concat and their gradients

void copy_row(int64_t n, const Real* from, int64_t from_stride, Real* to, int64_t to_stride,
              bool accumulate) {
    if (from_stride == 1 && to_stride == 1) {
        for (int64_t i = 0; i < n; i += kLanes)
            put({to, accumulate}, i, n - i, load(from + i, n - i));
        return;
    }
    for (int64_t i = 0; i < n; ++i) {
        Real& y = to[i * to_stride];
        y = accumulate ? y + from[i * from_stride] : from[i * from_stride];
    }
}

// A matrix transposed: row i of `to` is column i of `from`. By squares in registers, not number by number
// down a column: 10000 x 128 takes 1 ms instead of 8. What is left below the last whole square is copied.
void transpose_matrix(const Loop4& loop, const Real* from, Real* to) {
    const int64_t rows = loop.size[2], columns = loop.size[3], whole = columns / kLanes * kLanes;
    const int64_t from_ld = loop.a[3], to_ld = loop.b[2];
    for_chunks((rows + kLanes - 1) / kLanes, kLanes * columns, [&](int64_t begin, int64_t end) {
        const int64_t first = begin * kLanes, last = smaller(end * kLanes, rows);
        pack_transposed(whole, last - first, from + first, from_ld, to + first * to_ld, to_ld);
        for (int64_t r = first; r < last; ++r)
            copy_row(columns - whole, from + r + whole * from_ld, from_ld, to + r * to_ld + whole, 1, false);
    });
}

void copy(const Loop4& loop, const Real* from, Out to) {
    const int64_t* size = loop.size;
    if (size[0] * size[1] == 1 && loop.a[2] == 1 && loop.b[3] == 1 && !to.accumulate)
        return transpose_matrix(loop, from, to.data);
    for_chunks(size[0] * size[1] * size[2], size[3], [&](int64_t begin, int64_t end) {
        RowWalk walk(loop, begin);
        for (int64_t r = begin; r < end; ++r, walk.next())
            copy_row(size[3], from + walk.a, loop.a[3], to.data + walk.b, loop.b[3], to.accumulate);
    });
}

// ---- sum over the middle of (outer, n, inner)
//
// The middle is split into fixed blocks, whose sums are partial results, added as a tree (row.h). So threads
// can share one long sum without changing its bits. A sum of a single block needs no partial results.

constexpr int64_t kSumBlock = 4096;  // numbers of a contiguous sum
constexpr int64_t kSumRows = 64;     // rows of a sum over columns
constexpr int64_t kSumStrip = 4;     // Vecs of columns summed at once, enough to hide the add's latency

void sum_columns(int64_t rows, int64_t inner, Real scale, const Real* x, const Out& y) {
    for (int64_t i = 0; i < inner; i += kSumStrip * kLanes) {
        Vec total[kSumStrip] = {zero(), zero(), zero(), zero()};
        for (int64_t first = 0; first < rows; first += kChain) {
            Vec sum[kSumStrip] = {zero(), zero(), zero(), zero()};
            for (int64_t r = first; r < smaller(first + kChain, rows); ++r)
                for (int64_t s = 0; s < kSumStrip; ++s)
                    if (const int64_t left = inner - i - s * kLanes; left > 0)
                        sum[s] = sum[s] + load(x + r * inner + i + s * kLanes, left);
            for (int64_t s = 0; s < kSumStrip; ++s)
                total[s] = total[s] + sum[s];
        }
        for (int64_t s = 0; s < kSumStrip; ++s)
            if (const int64_t left = inner - i - s * kLanes; left > 0)
                put(y, i + s * kLanes, left, total[s] * broadcast(scale));
    }
}

// y (inner) = scale * sum over the n rows of x, n no more than a block
void sum_block(int64_t n, int64_t inner, Real scale, const Real* x, const Out& y) {
    if (inner > 1)
        return sum_columns(n, inner, scale, x, y);
    const Real value = row_sum(n, x) * scale;
    y.data[0] = y.accumulate ? y.data[0] + value : value;
}

void sum(const Middle& m, Real scale, const Real* x, Out y) {
    if (m.inner == 0)
        return;  // no sums, however many rows there are
    const int64_t block = m.inner == 1 ? kSumBlock : kSumRows;
    const int64_t blocks = (m.n + block - 1) / block;
    if (blocks <= 1)
        return for_chunks(m.outer, m.n * m.inner, [&](int64_t begin, int64_t end) {
            for (int64_t o = begin; o < end; ++o)
                sum_block(m.n, m.inner, scale, x + o * m.n * m.inner, {y.data + o * m.inner, y.accumulate});
        });
    Real* partial = scratch(Scratch::partial, m.outer * blocks * m.inner + kLanes);  // (outer, blocks, inner)
    for_chunks(m.outer * blocks, block * m.inner, [&](int64_t begin, int64_t end) {
        for (int64_t t = begin; t < end; ++t) {
            const int64_t first = t % blocks * block;
            sum_block(smaller(m.n - first, block), m.inner, 1, x + (t / blocks * m.n + first) * m.inner,
                      {partial + t * m.inner});
        }
    });
    for_chunks(m.outer, blocks * m.inner, [&](int64_t begin, int64_t end) {
        for (int64_t o = begin; o < end; ++o)
            for (int64_t i = 0; i < m.inner; i += kLanes) {
                const Real* from = partial + o * blocks * m.inner + i;
                const Vec total = sum_terms(blocks, 1, [&](Vec sum, int64_t b) {
                    return sum + load(from + b * m.inner, m.inner - i);
                });
                put(y, o * m.inner + i, m.inner - i, total * broadcast(scale));
            }
    });
}

// Sums in double: a gradient of 1e20 must not overflow the norm, nor many small ones be lost in it. It runs
// on one thread; a caller with many elements splits them into pieces.
double sum_of_squares(int64_t n, const Real* x) {
    double lane[kLanes] = {};
    const auto add = [&lane](const Real* values) {
        for (int64_t l = 0; l < kLanes; ++l)
            lane[l] = lane[l] + static_cast<double>(values[l]) * static_cast<double>(values[l]);
    };
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes)
        add(x + i);
    Real rest[kLanes] = {};
    for (int64_t l = 0; i + l < n; ++l)
        rest[l] = x[i + l];
    add(rest);
    double total = 0;
    for (const double partial : lane)
        total = total + partial;
    return total;
}

// ---- max over the middle; the gradient goes to the first of equal maxima, and a NaN wins

void max(const Middle& m, const Real* x, Real* y, int32_t* index) {
    for_rows(m.outer * m.inner, m.n, [&](int64_t t) {
        const Real* from = x + t / m.inner * m.n * m.inner + t % m.inner;
        int64_t best = 0;
        for (int64_t j = 1; j < m.n; ++j) {
            const Real value = from[j * m.inner], largest = from[best * m.inner];
            if (value > largest || (value != value && largest == largest))
                best = j;
        }
        y[t] = from[best * m.inner];
        index[t] = static_cast<int32_t>(best);
    });
}

void max_backward(const Middle& m, const int32_t* index, const Real* dy, Out dx) {
    for_chunks(m.outer, m.n * m.inner, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin * m.n * m.inner; !dx.accumulate && i < end * m.n * m.inner; ++i)
            dx.data[i] = 0;
        for (int64_t t = begin * m.inner; t < end * m.inner; ++t) {
            Real& d = dx.data[t / m.inner * m.n * m.inner + index[t] * m.inner + t % m.inner];
            d = d + dy[t];
        }
    });
}

}  // namespace
}  // namespace plaingrad::autograd::kernels
