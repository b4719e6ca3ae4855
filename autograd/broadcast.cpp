#include "autograd/broadcast.h"

#include <algorithm>

#include "autograd/tensor.h"

namespace plaingrad::autograd {
namespace {

constexpr int kRank = Shape::kMaxRank;

// Sizes with ones in front, up to rank 4.
void pad_front(const Shape& shape, int64_t sizes[kRank]) {
    std::fill_n(sizes, kRank, 1);
    std::copy(shape.begin(), shape.end(), sizes + kRank - shape.rank());
}

void broadcast_strides(const int64_t out[kRank], const Shape& shape, int64_t strides[kRank]) {
    int64_t sizes[kRank];
    pad_front(shape, sizes);
    int64_t stride = 1;
    for (int i = kRank - 1; i >= 0; --i) {
        strides[i] = sizes[i] == 1 && out[i] != 1 ? 0 : stride;
        stride *= sizes[i];
    }
}

}  // namespace

kernels::Loop4 broadcast_loop(const Shape& out, const Shape& a, const Shape& b) {
    kernels::Loop4 loop;
    pad_front(out, loop.size);
    broadcast_strides(loop.size, a, loop.a);
    broadcast_strides(loop.size, b, loop.b);
    return loop;
}

// One run of neighbouring dims after the other is summed away: (outer, run, inner) -> (outer, inner).
void sum_to(const Shape& from, const Real* x, const Shape& to, Real scale, kernels::Out y) {
    int64_t sizes[kRank], wanted[kRank];
    pad_front(from, sizes);
    pad_front(to, wanted);
    Tensor rest;  // what is left after the runs so far
    for (int end = kRank; end > 0; --end) {
        int begin = end;
        kernels::Middle m = {1, 1, 1};
        while (begin > 0 && wanted[begin - 1] == 1 && sizes[begin - 1] != 1)
            m.n *= sizes[--begin];
        if (begin == end)
            continue;
        bool last = true;
        for (int i = 0; i < begin; ++i) {
            m.outer *= sizes[i];
            last = last && sizes[i] == wanted[i];
        }
        for (int i = end; i < kRank; ++i)
            m.inner *= sizes[i];
        for (int i = begin; i < end; ++i)
            sizes[i] = 1;
        if (last) {
            kernels::cpu().sum(m, scale, x, y);
            return;
        }
        Tensor partial = Tensor::uninitialized({m.outer, m.inner});
        kernels::cpu().sum(m, 1, x, {partial.mutable_data()});
        rest = partial;
        x = rest.data();
    }
    // Nothing to sum: a scaled copy.
    kernels::cpu().binary(kernels::Binary::mul, broadcast_loop(from, from, Shape()), x, &scale, y);
}

}  // namespace plaingrad::autograd
