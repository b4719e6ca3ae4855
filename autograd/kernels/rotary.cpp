// Rotary positions (Su et al. 2021, §3.4.2): (a, b) -> (a cos - b sin, b cos + a sin). Part of unit.cpp.
//
// The transpose of a rotation is the rotation by the negative angle: so that is the backward pass, too.
#include "autograd/kernels/row.h"

namespace plaingrad::autograd::kernels {
namespace {

inline void copy_row(int64_t n, const Real* x, Real* y) {
    for (int64_t i = 0; x != y && i < n; i += kLanes)
        store(y + i, n - i, load(x + i, n - i));
}

void rotary(const Rotary& o, const Real* turns, const Real* x, Real* y) {
    const int64_t half = o.width / 2, end = o.heads * o.d;
    const Vec direction = broadcast(o.back ? -1 : 1);
    for_rows(o.rows, o.row, [&](int64_t r) {
        const Real* const angles = turns + r % o.length * o.width;
        const Real* const from = x + r * o.row;
        Real* const to = y + r * o.row;
        for (int64_t head = 0; head < end; head += o.d) {
            for (int64_t i = 0; i < half; i += kLanes) {
                const int64_t n = half - i, at = head + i;
                const Vec c = load(angles + i, n), s = load(angles + half + i, n) * direction;
                const Vec a = load(from + at, n), b = load(from + at + half, n);
                store(to + at, n, fnma(b, s, a * c));
                store(to + at + half, n, fma(a, s, b * c));
            }
            copy_row(o.d - o.width, from + head + o.width, to + head + o.width);
        }
        copy_row(o.row - end, from + end, to + end);
    });
}

}  // namespace
}  // namespace plaingrad::autograd::kernels
