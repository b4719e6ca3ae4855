// The peak rate of fmas on this processor, as a yardstick for the matrix product.
#include "autograd/kernels/kernels.h"
#include "autograd/kernels/simd.h"

namespace plaingrad::autograd::kernels {
namespace {

// An fma takes 4 cycles (5 on older ones) and a core starts two a cycle, so 10 must be under way at
// once: 16 chains of one register each, or 5 of AVX2's two; all of them fit into the registers.
constexpr int kChains = kVecRegisters == 32 ? 16 : 6;

// n steps of kChains independent chains of fma; returns how many floating-point operations that was.
double fma_chains(int64_t n) {
    // Numbers that the compiler cannot know; else it merges chains, or lanes, that are the same.
    volatile Real unknown = Real(0.5);
    Real start[kLanes * kChains], factor[kLanes];
    for (Real& x : start)
        x = unknown;
    for (Real& x : factor)
        x = unknown;
    Vec chain[kChains];
#pragma GCC unroll 32
    for (int i = 0; i < kChains; ++i)
        chain[i] = load(start + i * kLanes);
    const Vec half = load(factor);
    for (int64_t step = 0; step < n; ++step)
#pragma GCC unroll 32
        for (int i = 0; i < kChains; ++i)
            chain[i] = fma(chain[i], half, half);  // stays near 1: no overflow, no subnormals
    Vec sum = zero();
#pragma GCC unroll 32
    for (int i = 0; i < kChains; ++i)
        sum = sum + chain[i];
    unknown = reduce_add(sum);
    return 2.0 * static_cast<double>(kLanes * kChains * n);
}

}  // namespace
}  // namespace plaingrad::autograd::kernels
