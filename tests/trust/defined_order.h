// A matrix product in the order of summation that kernels.h defines, in plain loops.
#pragma once

#include "tests/autograd/kernels/bf16_reference.h"
#include "tests/trust/product.h"

// Most of the instrument's time goes into this reference. An fma gives the same number on any processor, but
// without the instruction it is a slow function: so the loops are compiled for processors with it, too.
// (Not with a sanitizer: the choice between the two is made before its memory is ready.)
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define PLAINGRAD_WITH_FMA [[gnu::target_clones("default", "arch=haswell")]]
#else
#define PLAINGRAD_WITH_FMA
#endif

namespace plaingrad::trust {

using autograd::kernels::kGemmBlockK;

namespace {

inline std::vector<Real> factors(const Product& p, std::vector<Real> x) {
    if (p.precision == Precision::bf16)
        std::transform(x.begin(), x.end(), x.begin(), tests::bf16);
    return x;
}

PLAINGRAD_WITH_FMA inline void add_product(int64_t n, Real a, const Real* b, Real* sum) {
    for (int64_t j = 0; j < n; ++j)
        sum[j] = std::fma(a, b[j], sum[j]);
}
PLAINGRAD_WITH_FMA inline void add_flushed(int64_t n, Real a, const Real* b, Real* sum) {
    for (int64_t j = 0; j < n; ++j) {
        const Real next = std::fma(a, b[j], sum[j]);
        sum[j] = !(std::abs(next) <= Real(0x1p-120)) ? next : tests::flushing_fma(a, b[j], sum[j]);
    }
}

}  // namespace

// c (m, n), before the activation: each element a chain of fma over k in order, from zero in every block of
// kGemmBlockK; the blocks added in order, to c first if accumulating; then the bias. With bf16 the factors
// are rounded, and a chain takes a pair of k at a time, the odd one first.
inline std::vector<Real> in_defined_order(const Product& p, const Operands& x) {
    const int64_t m = p.g.m, n = p.g.n, k = p.g.k;
    const std::vector<Real> a = factors(p, x.a), b = factors(p, x.b), none(static_cast<std::size_t>(n));
    std::vector<Real> c = x.c, block(static_cast<std::size_t>(n));
    for (int64_t i = 0; i < m; ++i) {
        Real* const sum = c.data() + i * n;
        if (!p.g.accumulate)
            std::fill(sum, sum + n, Real(0));
        for (int64_t begin = 0; begin < k; begin += kGemmBlockK) {
            const int64_t end = std::min(begin + kGemmBlockK, k);
            std::fill(block.begin(), block.end(), Real(0));
            const auto row = [&](int64_t l) { return l < k ? b.data() + l * n : none.data(); };
            const auto left = [&](int64_t l) {
                return l < k ? a[static_cast<std::size_t>(i * k + l)] : Real(0);
            };
            if (p.precision == Precision::float32)
                for (int64_t l = begin; l < end; ++l)
                    add_product(n, left(l), row(l), block.data());
            else
                for (int64_t l = begin; l < end; l += 2) {
                    add_flushed(n, left(l + 1), row(l + 1), block.data());
                    add_flushed(n, left(l), row(l), block.data());
                }
            for (int64_t j = 0; j < n; ++j)
                sum[j] = begin == 0 && !p.g.accumulate ? block[static_cast<std::size_t>(j)]
                                                       : sum[j] + block[static_cast<std::size_t>(j)];
        }
        for (std::size_t j = 0; j < x.bias.size(); ++j)
            sum[j] += x.bias[j];
    }
    return c;
}

}  // namespace plaingrad::trust
