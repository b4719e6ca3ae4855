// Exercise 12: a faster matrix product (an evening)
//
// The idea: even in the best order, three loops reach a fraction of what a core can do, because they wait
// for memory. Each step up the staircase uses a number more often once it is loaded: from a register,
// from the nearest cache, from the next one.
//
// Given (12/given.h): three_loops, right and slow. You are compiled for this machine, with -O3 -march=native.
// Write: matmul, at least twice as fast, on one thread. First a tile of c, some rows high and some
// vectors wide, whose sums stay in registers; then blocks of b that stay in a cache; then packing.
// Read before: autograd/kernels/README.md ("The staircase"); the head of autograd/kernels/gemm.cpp
#pragma once

#include "tests/exercises/12/given.h"

namespace plaingrad::exercises {

// c (m, n) = a (m, k) b (k, n), as three_loops, for any sizes.
inline void matmul(int64_t m, int64_t n, int64_t k, const Real* a, const Real* b, Real* c) {
    not_written(12, "matmul", m, n, k, a, b, c);
}

}  // namespace plaingrad::exercises
