// The register tile of the matrix product: kTileRows x kTileVecs Vecs of c stay in registers for a
// whole block of k. See gemm.cpp for the reasons.
//
// One step of k loads kTileVecs Vecs of b, broadcasts kTileRows numbers of a, and does
// kTileRows * kTileVecs fmas. The shape follows from three facts:
//
//   latency     An fma takes 4 cycles and a core starts two a cycle, so at least 8 of them must be
//               independent, or the core waits. (With AVX2 a Vec is two registers: 4 Vecs would do.)
//   loads       A core loads twice a cycle, so a tile needs no more loads than fmas: the squarer the
//               tile, the fewer. 6 x 4: 10 for 24. AVX2's 6 x 1 Vecs, 12 registers: 8 for 12.
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

// Rows of op(a), as elements of type T, one for each k (a Halves holds a pair of them): element e of row i is
// at[i * row + e * step], and the next tile's rows are `tile` further. Packed and unpacked operands differ
// only in these numbers.
template <class T>
struct GemmLeft {
    const T* at;
    int64_t row, step, tile;
};

// Columns of op(b): element e of column j is at[e * step + j]. The next panel's columns are `panel` further.
template <class T>
struct GemmRight {
    const T* at;
    int64_t step, panel;
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

// Steps that are one turn of the loop: counting and fetching take issue slots from the fmas.
constexpr int64_t kTurn = 4;

// Turn number `turn` fetches what is needed soon. Of c that is a row each fourth turn: all of them at once
// would hold up the loads of b. Of a it is what the next tile reads (a cache line of a row lasts for four
// turns), or if a is stored as rows of k the tile after it. (gcc removes calls of a function that only
// prefetches, so this one is always inline.)
template <int rows, int vecs, class T>
[[gnu::always_inline]] inline void fetch(int64_t turn, const T* a, const GemmLeft<T>& left,
                                         const GemmTarget& to) {
    if (left.row == 1)
        for (int64_t k = 0; k < kTurn * kParts<T>; ++k)
            __builtin_prefetch(a + 2 * left.tile + k * left.step, 0, 2);
    if (turn % 4 != 0)
        return;
    if (left.row != 1)
        for (int i = 0; i < rows; ++i)
            __builtin_prefetch(a + left.tile + i * left.row, 0, 2);
    if (turn / 4 < rows)
        for (int j = 0; j < vecs; ++j)
            __builtin_prefetch(to.c + turn / 4 * to.ld + j * kLanes, 1);
}

// The unroll pragmas are not a hint: `sum` is in registers only if every index into it is a constant.
template <int rows, int vecs, class T, class U>
[[gnu::noinline]] void gemm_tile(int64_t steps, const GemmLeft<T>& left, const GemmRight<U>& right,
                                 const GemmTarget& to) {
    const T* a = left.at;
    const U* b = right.at;
    const int64_t a_row = left.row, a_step = left.step, b_step = right.step;
    Vec sum[rows][vecs];
#pragma GCC unroll 32
    for (int i = 0; i < rows; ++i)
#pragma GCC unroll 32
        for (int j = 0; j < vecs; ++j)
            sum[i][j] = zero();
    const auto step = [&](int64_t ahead) __attribute__((always_inline)) {  // of a, by so many steps
#pragma GCC unroll 2
        for (int64_t part = kParts<T> - 1; part >= 0; --part) {
            decltype(load_part<T>(b, b_step, part)) bs[vecs];
#pragma GCC unroll 32
            for (int j = 0; j < vecs; ++j)
                bs[j] = load_part<T>(b + j * kLanes, b_step, part);
#pragma GCC unroll 32
            for (int i = 0; i < rows; ++i) {
                const auto as = broadcast(a[i * a_row + (ahead * kParts<T> + part) * a_step]);
#pragma GCC unroll 32
                for (int j = 0; j < vecs; ++j)
                    sum[i][j] = multiply_add<T>(as, bs[j], sum[i][j]);
            }
        }
        b += kParts<U> * b_step;
    };
    {
        [[maybe_unused]] const Arithmetic<T> arithmetic{};
        for (int64_t turn = 0; turn < steps / kTurn; ++turn) {
#pragma GCC unroll 4
            for (int64_t i = 0; i < kTurn; ++i)
                step(i);
            fetch<rows, vecs>(turn, a, left, to);
            a += kTurn * kParts<T> * a_step;
        }
        for (int64_t i = 0; i < steps % kTurn; ++i)
            step(i);
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
template <int rows = kTileRows, int vecs = kTileVecs, class T, class U>
void fitting_tile(int64_t count, int64_t steps, const GemmLeft<T>& a, const GemmRight<U>& b,
                  const GemmTarget& to) {
    if constexpr (rows > 1)
        if (count < rows)
            return fitting_tile<rows - 1, vecs>(count, steps, a, b, to);
    if constexpr (vecs > 1)
        if (to.columns <= (vecs - 1) * kLanes)
            return fitting_tile<rows, vecs - 1>(count, steps, a, b, to);
    gemm_tile<rows, vecs>(steps, a, b, to);
}

}  // namespace
}  // namespace plaingrad::autograd::kernels
