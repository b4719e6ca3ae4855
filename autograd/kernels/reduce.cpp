// Moving numbers (transpose, slice, concatenate) and reducing them (sum, max). Part of unit.cpp.
#include "autograd/base/parallel.h"
#include "autograd/base/scratch.h"
#include "autograd/kernels/row.h"

namespace plaingrad::autograd::kernels {
namespace {

// ---- copy: the one mover behind permute, slice, concat and their gradients

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

void copy(const Loop4& loop, const Real* from, Out to) {
    const int64_t* size = loop.size;
    parallel_for(0, size[0] * size[1] * size[2], rows_per_chunk(size[3]), [&](int64_t begin, int64_t end) {
        RowWalk walk(loop, begin);
        for (int64_t r = begin; r < end; ++r, walk.next())
            copy_row(size[3], from + walk.a, loop.a[3], to.data + walk.b, loop.b[3], to.accumulate);
    });
}

// ---- sum over the middle of (outer, n, inner)
//
// The middle is cut into fixed blocks. Each block's sum is a partial result; these are added in order.
// So threads can share one long sum without changing its bits, and the rounding error grows with the
// block's length and the number of blocks instead of with n.

constexpr int64_t kSumBlock = 4096;  // numbers of a contiguous sum
constexpr int64_t kSumRows = 64;     // rows of a sum over columns
constexpr int64_t kSumStrip = 4;     // Vecs of columns summed at once, enough to hide the add's latency

void sum_columns(int64_t rows, int64_t inner, const Real* x, Real* y) {
    for (int64_t i = 0; i < inner; i += kSumStrip * kLanes) {
        Vec sum[kSumStrip] = {zero(), zero(), zero(), zero()};
        for (int64_t r = 0; r < rows; ++r)
            for (int64_t s = 0; s < kSumStrip; ++s)
                if (const int64_t left = inner - i - s * kLanes; left > 0)
                    sum[s] = sum[s] + load(x + r * inner + i + s * kLanes, left);
        for (int64_t s = 0; s < kSumStrip; ++s)
            if (const int64_t left = inner - i - s * kLanes; left > 0)
                store(y + i + s * kLanes, left, sum[s]);
    }
}

void sum(const Middle& m, Real scale, const Real* x, Out y) {
    const int64_t block = m.inner == 1 ? kSumBlock : kSumRows;
    const int64_t blocks = (m.n + block - 1) / block;
    Real* partial = scratch(Scratch::partial, m.outer * blocks * m.inner + kLanes);  // (outer, blocks, inner)
    const int64_t per_block = (blocks == 1 ? m.n : block) * m.inner;
    parallel_for(0, m.outer * blocks, rows_per_chunk(per_block), [&](int64_t begin, int64_t end) {
        for (int64_t t = begin; t < end; ++t) {
            const int64_t first = t % blocks * block, rows = m.n - first < block ? m.n - first : block;
            const Real* from = x + (t / blocks * m.n + first) * m.inner;
            if (m.inner == 1)
                partial[t] = row_sum(rows, from);
            else
                sum_columns(rows, m.inner, from, partial + t * m.inner);
        }
    });
    parallel_for(0, m.outer, rows_per_chunk(blocks * m.inner), [&](int64_t begin, int64_t end) {
        for (int64_t o = begin; o < end; ++o) {
            for (int64_t i = 0; i < m.inner; i += kLanes) {
                Vec total = zero();
                for (int64_t b = 0; b < blocks; ++b)
                    total = total + load(partial + (o * blocks + b) * m.inner + i, m.inner - i);
                put(y, o * m.inner + i, m.inner - i, total * broadcast(scale));
            }
        }
    });
}

// In double: a gradient of 1e20 must not overflow the norm, nor many small ones be lost in it. On one thread:
// who has many numbers calls it for pieces of them.
double sum_of_squares(int64_t n, const Real* x) {
    double lane[kLanes] = {};
    const auto add = [&lane](const Real* values) {
        for (int64_t l = 0; l < kLanes; ++l)
            lane[l] = lane[l] + static_cast<double>(values[l]) * static_cast<double>(values[l]);
    };
    double total = 0;
    parallel_for(0, 1, 1, [&](int64_t, int64_t) {  // one task: for its rounding modes, not for its threads
        int64_t i = 0;
        for (; i + kLanes <= n; i += kLanes)
            add(x + i);
        Real rest[kLanes] = {};
        for (int64_t l = 0; i + l < n; ++l)
            rest[l] = x[i + l];
        add(rest);
        for (const double partial : lane)
            total = total + partial;
    });
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
    parallel_for(0, m.outer, rows_per_chunk(m.n * m.inner), [&](int64_t begin, int64_t end) {
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
