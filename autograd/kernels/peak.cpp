// The peak rate of fmas on this processor, or of bf16.h's steps, as a yardstick for the matrix product.
#include "autograd/kernels/bf16.h"
#include "autograd/kernels/kernels.h"

namespace plaingrad::autograd::kernels {
namespace {

// An fma takes 4 cycles (5 on older processors) and a core starts two a cycle, so 10 must be under way at
// once. With 32 registers there are 16 chains, of one register each with AVX-512. AVX2 has 6 of two
// registers each, where 5 would do. All fit into the registers.
constexpr int kChains = kVecRegisters == 32 ? 16 : 6;

// n steps of kChains independent chains; returns how many floating-point operations that was.
template <class T>
double fma_chains(int64_t n) {
    [[maybe_unused]] const Arithmetic<T> arithmetic{};
    // Numbers that the compiler cannot know; else it merges chains, or lanes, that are the same.
    volatile Real unknown = Real(0.5);
    Real start[kLanes * kChains];
    for (Real& x : start)
        x = unknown;
    Vec chain[kChains];
#pragma GCC unroll 32
    for (int i = 0; i < kChains; ++i)
        chain[i] = load(start + i * kLanes);
    const auto half = load(reinterpret_cast<const T*>(start));  // of a pair, the odd factor; the even is 0
    for (int64_t step = 0; step < n; ++step)
#pragma GCC unroll 32
        for (int i = 0; i < kChains; ++i)
            chain[i] = multiply_add<T>(half, half, chain[i]);  // grows slowly: no overflow, no subnormals
    Vec sum = zero();
#pragma GCC unroll 32
    for (int i = 0; i < kChains; ++i)
        sum = sum + chain[i];
    unknown = reduce_add(sum);
    const int64_t products = kLanes * kChains * n * kFactors<T> / kParts<T>;
    return 2.0 * static_cast<double>(products);
}

}  // namespace
}  // namespace plaingrad::autograd::kernels
