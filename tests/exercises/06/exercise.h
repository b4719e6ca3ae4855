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

// answer
// How far clock i turns from one position to the next: 1 for the first clock, almost 1/10000 for the last.
inline double speed(int64_t i, int64_t d) {
    return std::pow(10000.0, -2 * static_cast<double>(i) / static_cast<double>(d));
}
// end

// Positions 0 ... length-1 -> (length, d); d is even.
inline Tensor sinusoids(int64_t length, int64_t d) {
    // skeleton: not_written(6, "sinusoids", length, d);
    // answer
    Tensor table = Tensor::uninitialized({length, d});
    Real* to = table.mutable_data();
    for (int64_t pos = 0; pos < length; ++pos)
        for (int64_t i = 0; i < d / 2; ++i) {
            const double angle = static_cast<double>(pos) * speed(i, d);
            *to++ = static_cast<Real>(std::sin(angle));
            *to++ = static_cast<Real>(std::cos(angle));
        }
    return table;
    // end
}

// -> (d, d). sin(a + b) = sin a cos b + cos a sin b, and cos(a + b) = cos a cos b - sin a sin b.
// answer
// A rotation for each clock, on the diagonal. With b = k * speed:
//     (sin a, cos a) (cos b, -sin b; sin b, cos b) = (sin(a + b), cos(a + b))
// Nothing in the matrix depends on the position, only on k.
// end
inline Tensor shift(int64_t k, int64_t d) {
    // skeleton: not_written(6, "shift", k, d);
    // answer
    Tensor matrix = Tensor::zeros({d, d});
    Real* const m = matrix.mutable_data();
    for (int64_t i = 0; i < d / 2; ++i) {
        const double b = static_cast<double>(k) * speed(i, d);
        Real* const block = m + 2 * i * d + 2 * i;
        block[0] = block[d + 1] = static_cast<Real>(std::cos(b));
        block[d] = static_cast<Real>(std::sin(b));
        block[1] = -block[d];
    }
    return matrix;
    // end
}

}  // namespace plaingrad::exercises

// answer
// In the library: nn/positional_encoding.cpp, sinusoid_table
//
// The library has exp, log, sin and cos of its own, because C libraries differ in the last bit.
// end
