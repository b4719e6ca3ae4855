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

// Each run of adjacent dims is summed in one call, starting with the last run.
void sum_to(const Shape& from, const Real* x, const Shape& to, Real scale, kernels::Out y) {
    int64_t sizes[kRank], wanted[kRank];
    pad_front(from, sizes);
    pad_front(to, wanted);
    int end = kRank;
    while (end > 0 && sizes[end - 1] == wanted[end - 1])
        --end;
    if (end == 0) {  // nothing to sum: a scaled copy
        kernels::cpu().binary(kernels::Binary::mul, broadcast_loop(from, from, Shape()), x, &scale, y);
        return;
    }
    kernels::Middle m = {1, 1, 1};
    for (int i = end; i < kRank; ++i)
        m.inner *= sizes[i];
    int begin = end;
    for (; begin > 0 && sizes[begin - 1] != wanted[begin - 1]; sizes[begin] = 1)
        m.n *= sizes[--begin];
    for (int i = 0; i < begin; ++i)
        m.outer *= sizes[i];
    if (std::equal(sizes, sizes + kRank, wanted))
        return kernels::cpu().sum(m, scale, x, y);
    const Tensor rest = Tensor::uninitialized(Shape(sizes, kRank));
    kernels::cpu().sum(m, 1, x, {rest.mutable_data()});
    sum_to(rest.shape(), rest.data(), to, scale, y);
}

void pass_sum(const Tensor& dout, Real scale, const Shape& to, const GradSink& sink) {
    if (!sink)
        return;
    if (scale == 1 && to == dout.shape())
        return sink.pass(dout);
    sum_to(dout.shape(), dout.data(), to, scale, sink.open());
}

}  // namespace plaingrad::autograd
