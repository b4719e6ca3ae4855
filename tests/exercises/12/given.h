// What exercise 12 has: the product that it is to beat.
#pragma once

#include <algorithm>

#include "tests/exercises/given.h"

namespace plaingrad::exercises {

// c (m, n) = a (m, k) b (k, n), all row-major; what is in c before does not matter. The loops are in the
// best order: the inner one walks along rows of b and c, and the compiler makes vectors of it. But for
// each product it loads an element of b and one of c, and stores one of c.
inline void three_loops(int64_t m, int64_t n, int64_t k, const Real* a, const Real* b, Real* c) {
    std::fill(c, c + m * n, Real(0));
    for (int64_t i = 0; i < m; ++i)
        for (int64_t l = 0; l < k; ++l)
            for (int64_t j = 0; j < n; ++j)
                c[i * n + j] += a[i * k + l] * b[l * n + j];
}

}  // namespace plaingrad::exercises
