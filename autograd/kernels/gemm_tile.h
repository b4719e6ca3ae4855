// The register tile of the matrix product: kTileRows x kTileVecs Vecs of c stay in registers for a
// whole block of k. See gemm.cpp for the reasons.
//
// One step of k loads kTileVecs Vecs of b, broadcasts kTileRows numbers of a, and does
// kTileRows * kTileVecs fmas. The shape follows from three facts:
//
//   latency     An fma takes 4 cycles and a core starts two a cycle, so at least 8 of them must be
//               independent, or the core waits. (With AVX2 a Vec is two registers: 4 Vecs would do.)
//   loads       A core loads twice a cycle, so a tile needs no more loads than fmas: the squarer the
//               tile, the fewer. 6 x 4: 10 for 24. AVX2's 6 x 1, in its own registers: 8 for 12.
//   registers   c, one row of b and one number of a must fit, or every step writes to memory:
//               6 x 4 takes 24 + 4 + 1 of 32, 6 x 1 takes 6 + 1 + 1 of 8.
//
// Measured with AVX-512 at 1024^3 and 2048^3: 8 x 3 is 1 to 3 % slower than 6 x 4; 12 x 2 and 14 x 2
// lose up to 30 % when the rows of a are a power of two apart (they fall into one set of the L1 cache,
// which holds 8 lines); 7 x 4 gains nothing. And 64 columns divide the widths that models have.
#pragma once

#include "autograd/kernels/bf16.h"

namespace plaingrad::autograd::kernels {
namespace {

constexpr int kTileRows = 6;
constexpr int kTileVecs = kVecRegisters == 32 ? 4 : 1;
constexpr int64_t kTileColumns = kTileVecs * kLanes;

// Rows of op(a): T number k of row i is at[i * row + k * step], and the next tile's rows are `tile`
// further. Packed and unpacked operands differ only in these numbers.
template <class T>
struct GemmLeft {
    const T* at;
    int64_t row, step, tile;
};

// Columns of op(b): T number k of column j is at[k * step + j].
template <class T>
struct GemmRight {
    const T* at;
    int64_t step;
};

// What will be needed next: the cache lines at `at` and each `step` after it, one for each k.
struct GemmAhead {
    const Real* at = nullptr;
    int64_t step = 0;
};

// Where the tile goes: `columns` of the Vecs' lanes are stored, after c (if adding) and then the bias
// (unless nullptr) are added.
struct GemmTarget {
    Real* c;
    int64_t ld, columns;
    bool add;
    const Real* bias;
};

inline void finish(Vec sum, int64_t lanes, bool add, const Real* bias, Real* c) {
    if (add)
        sum = load(c, lanes) + sum;
    if (bias != nullptr)
        sum = sum + load(bias, lanes);
    store(c, lanes, sum);
}

// The unroll pragmas are not a hint: `sum` is in registers only if every index into it is a constant.
template <int rows, int vecs, class T>
[[gnu::noinline]] void gemm_tile(int64_t steps, const GemmLeft<T>& left, const GemmRight<T>& right,
                                 const GemmTarget& to, const GemmAhead& next) {
    const T *a = left.at, *b = right.at;
    const Real* ahead = next.at == nullptr ? to.c : next.at;
    const int64_t a_row = left.row, a_step = left.step, b_step = right.step, ahead_step = next.step;
    Vec sum[rows][vecs];
#pragma GCC unroll 32
    for (int i = 0; i < rows; ++i)
#pragma GCC unroll 32
        for (int j = 0; j < vecs; ++j) {
            sum[i][j] = zero();
            __builtin_prefetch(to.c + i * to.ld + j * kLanes, 1);  // arrives during the loop over k
        }
    {
        [[maybe_unused]] const Arithmetic<T> arithmetic{};
        for (int64_t step = 0; step < steps; ++step) {
#pragma GCC unroll 2
            for (int64_t part = kParts<T> - 1; part >= 0; --part) {
                decltype(load(b)) bs[vecs];
#pragma GCC unroll 32
                for (int j = 0; j < vecs; ++j)
                    bs[j] = load(b + part * b_step + j * kLanes);
#pragma GCC unroll 32
                for (int i = 0; i < rows; ++i) {
                    const auto as = broadcast(a[i * a_row + part * a_step]);
#pragma GCC unroll 32
                    for (int j = 0; j < vecs; ++j)
                        sum[i][j] = multiply_add<T>(as, bs[j], sum[i][j]);
                }
            }
            for (int64_t k = 0; k < kFactors<T>; ++k, ahead += ahead_step)
                __builtin_prefetch(ahead, 0, 2);
            __builtin_prefetch(a + left.tile + (step & 7) * a_row, 0, 2);  // the next rows, in turn
            a += kParts<T> * a_step;
            b += kParts<T> * b_step;
        }
    }
    const int64_t last = to.columns - (vecs - 1) * kLanes;  // lanes of a row's last Vec
#pragma GCC unroll 32
    for (int i = 0; i < rows; ++i)
#pragma GCC unroll 32
        for (int j = 0; j < vecs; ++j)
            finish(sum[i][j], j == vecs - 1 ? last : kLanes, to.add,
                   to.bias == nullptr ? nullptr : to.bias + j * kLanes, to.c + i * to.ld + j * kLanes);
}

// The tile with just enough rows and Vecs: 1 <= count <= rows, 1 <= to.columns <= vecs * kLanes.
template <int rows = kTileRows, int vecs = kTileVecs, class T>
void fitting_tile(int64_t count, int64_t steps, const GemmLeft<T>& a, const GemmRight<T>& b,
                  const GemmTarget& to, const GemmAhead& ahead = {}) {
    if constexpr (rows > 1)
        if (count < rows)
            return fitting_tile<rows - 1, vecs>(count, steps, a, b, to, ahead);
    if constexpr (vecs > 1)
        if (to.columns <= (vecs - 1) * kLanes)
            return fitting_tile<rows, vecs - 1>(count, steps, a, b, to, ahead);
    gemm_tile<rows, vecs>(steps, a, b, to, ahead);
}

}  // namespace
}  // namespace plaingrad::autograd::kernels
