// Exercise 6: positions (30 minutes)
//
// The idea: attention does not know the order of its keys. So a vector that depends on the position is
// added to each token's. It is a row of d/2 clock hands, the first one fast, each next one slower. One
// position further, each hand has turned by a fixed angle, wherever it stood. So moving by k positions is
// one fixed matrix, which a layer can learn.
//     PE(pos, 2i) = sin(pos / 10000^(2i/d)),  PE(pos, 2i+1) = cos(the same)      the paper, §3.5
//
// Given: std::sin, std::cos, std::pow.
// Write: sinusoids, the table; and shift, the matrix M with PE(pos + k) = PE(pos) M for every pos.
// Read before: nn/README.md ("9. Positions")
#pragma once

#include <cmath>

#include "tests/exercises/given.h"

namespace plaingrad::exercises {

// Positions 0 ... length-1 -> (length, d); d is even.
inline Tensor sinusoids(int64_t length, int64_t d) { not_written(6, "sinusoids", length, d); }

// -> (d, d). sin(a + b) = sin a cos b + cos a sin b, and cos(a + b) = cos a cos b - sin a sin b.
inline Tensor shift(int64_t k, int64_t d) { not_written(6, "shift", k, d); }

}  // namespace plaingrad::exercises
