// One row times a matrix that is not packed. Attention computes the scores of a single query this way
// (attention_step.h), and so do linear layers outside of decoding, such as a classifier's last one for one
// text. (While decoding, linear layers read packed weights: gemm.cpp.)
//
// Each element of b is used once, so the time it takes to read b is the limit. A register tile goes down 64
// columns, and each step of k is on another page, where no hardware prefetcher follows. So b is read in
// memory order, a few of its rows at a time from end to end, while the sums stay in the L1 cache. Each sum is
// still the same chain: it takes every k in order (with bfloat16 every pair, its odd k first), and other sums
// in between do not matter.
//
// 1 x 5000 x 512 runs at 52 GFLOP/s instead of 44 (one core, Zen 5). With two rows, tiles are faster already.
//
// If b is transposed, squares of it are transposed in registers: 64 permutations of two registers for 256
// elements. A core that does one a cycle reads at most 16 bytes a cycle that way. So a b from L3 or memory
// comes at full speed (1 x 5000 x 512: 28.4 GB/s of the 28.7 that plain dot products reach, one core of an
// Emerald Rapids), but one that fits into L2 does not (1 x 512 x 512: 23 GFLOP/s, the limit at 2.8 GHz;
// libraries that add 16 partial sums of each element, another order of additions, reach 66). Building the
// squares from quarters of rows takes half of the permutations, but four times as many loads: no faster.
#pragma once

#include "autograd/kernels/gemm_pack.h"

namespace plaingrad::autograd::kernels {
namespace {

// Sums computed at once: together with the cache lines of b being read they fit into an L1 cache of 32 KiB.
constexpr int64_t kThinColumns = 1024;

// Rows of b read at once, while the next rows are prefetched: 8 without prefetching are slower by a fifth.
constexpr int kThinSteps = 4;

// sum[j] += a[0] b[0][j] + ... + a[steps - 1] b[steps - 1][j], added in this order.
template <int steps>
void add_rows(int64_t columns, const Real* a, int64_t a_step, const Real* b, int64_t ld, Real* sum) {
    Vec factor[steps];
#pragma GCC unroll 4
    for (int k = 0; k < steps; ++k)
        factor[k] = broadcast(a[k * a_step]);
    const auto add = [&](int64_t j, auto read) {
        Vec s = load(sum + j);
#pragma GCC unroll 4
        for (int k = 0; k < steps; ++k) {
            __builtin_prefetch(b + (k + steps) * ld + j);
            s = fma(factor[k], read(b + k * ld + j), s);
        }
        store(sum + j, s);
    };
    const int64_t whole = columns / kLanes * kLanes;
    for (int64_t j = 0; j < whole; j += kLanes)
        add(j, [](const Real* p) { return load(p); });
    if (whole < columns)
        add(whole, [&](const Real* p) { return load_first(p, columns - whole); });
}

// sum[j] = a[0] b[j][0] + a[1] b[j][1] + ..., for all k. If a is packed as bfloat16, b is rounded on its way
// through the registers.
//
// For each square of b the one 16 rows further down is prefetched, because no hardware prefetcher follows.
// (32 rows at once would be two independent chains of fma. That is slower by a fifth for 1 x 10000 x 128.)
template <class T>
void sum_transposed(int64_t columns, int64_t depth, const T* a, int64_t a_step, const Real* b, int64_t ld,
                    Real* sum) {
    [[maybe_unused]] const Arithmetic<T> arithmetic{};
    for (int64_t j = 0; j < columns; j += kLanes, b += kLanes * ld) {
        Vec s = zero();
        for (int64_t k = 0; k < depth; k += kLanes) {
            const int64_t steps = gemm_min(kLanes, depth - k);
            Vec x[kLanes];
            load_square(columns - j, steps, b + k, ld, x);
#pragma GCC unroll 16
            for (int i = 0; i < kLanes; ++i)
                __builtin_prefetch(b + (i + kLanes) * ld + k);
            transpose(x);
            const auto step = [&](int i) {
                if constexpr (kFactors<T> == 1)
                    s = fma(broadcast(a[(k + i) * a_step]), x[i], s);
                else
                    s = add_pair(a + count_of<T>(k + i) * a_step, a_step, x[i], x[i + 1], s);
            };
            if (steps == kLanes) {
#pragma GCC unroll 16
                for (int i = 0; i < kLanes; i += kFactors<T>)
                    step(i);
            } else {
                for (int i = 0; i < steps; i += kFactors<T>)
                    step(i);
            }
        }
        store(sum + j, s);
    }
}

// sum[j] = the chains of a block of k, for j < columns <= kThinColumns.
inline void thin_sums(int64_t columns, int64_t depth, const Real* a, int64_t a_step, bool b_transposed,
                      const Real* b, int64_t ld, Real* sum) {
    if (b_transposed)
        return sum_transposed(columns, depth, a, a_step, b, ld, sum);
    for (int64_t j = 0; j < columns; j += kLanes)
        store(sum + j, zero());
    int64_t k = 0;
    for (; k + kThinSteps <= depth; k += kThinSteps)
        add_rows<kThinSteps>(columns, a + k * a_step, a_step, b + k * ld, ld, sum);
    for (; k < depth; ++k)
        add_rows<1>(columns, a + k * a_step, a_step, b + k * ld, ld, sum);
}

}  // namespace
}  // namespace plaingrad::autograd::kernels
