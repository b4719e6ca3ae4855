// Operations that move elements without changing them.
#include <algorithm>
#include <numeric>

#include "autograd/broadcast.h"
#include "autograd/op.h"
#include "autograd/ops.h"

namespace plaingrad::autograd {
namespace {

// The distance between consecutive elements along a dimension.
int64_t stride(const Shape& shape, int dim) {
    int64_t numbers = 1;
    for (int i = dim + 1; i < shape.rank(); ++i)
        numbers *= shape[i];
    return numbers;
}

// Copies a part, a tensor of that shape, out of a larger one or into one. The larger one's pointer is where
// the part begins.
void copy(const Shape& part, const Shape& from_shape, const Real* from, const Shape& to_shape,
          kernels::Out to) {
    kernels::cpu().copy(broadcast_loop(part, from_shape, to_shape), from, to);
}

}  // namespace

// Only the handle changes: gradient and graph are shared, so there is no backward to write.
Tensor reshape(const Tensor& x, List<int64_t> sizes) {
    std::vector<int64_t> full(sizes.begin(), sizes.end());
    const auto open = std::find(full.begin(), full.end(), -1);
    if (open != full.end()) {
        *open = 1;
        const int64_t known = Shape(full.data(), static_cast<int>(full.size())).numel();
        check(known > 0 && x.numel() % known == 0, "[reshape] ", x.shape(), " cannot be divided into ", known,
              " equal parts");
        *open = x.numel() / known;
    }
    return x.with_shape(Shape(full.data(), static_cast<int>(full.size())));
}

// out[i_0, i_1, ...] = x[...], out's dim i walking along x's dim order[i]        dx: the same walk back
Tensor permute(const Tensor& x, List<int> order) {
    check(static_cast<int>(order.size()) == x.rank(), "[permute] ", x.shape(), " needs ", x.rank(),
          " dimensions in the order: got ", order.size());
    int64_t sizes[Shape::kMaxRank], strides[Shape::kMaxRank];
    bool seen[Shape::kMaxRank] = {};
    for (int i = 0; i < x.rank(); ++i) {
        const int from = x.shape().index(order[static_cast<std::size_t>(i)]);
        check(!seen[from], "[permute] dimension ", from, " of ", x.shape(), " is named twice");
        seen[from] = true;
        sizes[i] = x.size(from);
        strides[i] = stride(x.shape(), from);
    }
    Tensor out = Tensor::uninitialized(Shape(sizes, x.rank()));
    kernels::Loop4 loop = broadcast_loop(out.shape(), out.shape(), out.shape());
    std::copy_n(strides, x.rank(), std::end(loop.a) - x.rank());
    kernels::cpu().copy(loop, x.data(), {out.mutable_data()});
    std::swap(loop.a, loop.b);
    return with_backward("permute", out, {&x}, [loop, dx = x.sink()](const Tensor& dout) {
        kernels::cpu().copy(loop, dout.data(), dx.open());
    });
}

Tensor transpose(const Tensor& x, int dim_a, int dim_b) {
    std::vector<int> order(static_cast<std::size_t>(x.rank()));
    std::iota(order.begin(), order.end(), 0);
    std::swap(order.begin()[x.shape().index(dim_a)], order.begin()[x.shape().index(dim_b)]);
    return permute(x, order);
}

// out = x[begin:end] along dim        dx = 0, with dout at [begin:end]
Tensor slice(const Tensor& x, int dim, int64_t begin, int64_t end) {
    const int d = x.shape().index(dim);
    check(0 <= begin && begin <= end && end <= x.size(d), "[slice] [", begin, ", ", end,
          ") must lie within dimension ", dim, " of ", x.shape());
    const int64_t offset = begin * stride(x.shape(), d);
    Tensor out = Tensor::uninitialized(x.shape().with(d, end - begin));
    copy(out.shape(), x.shape(), x.data() + offset, out.shape(), {out.mutable_data()});
    return with_backward("slice", out, {&x}, [whole = x.shape(), offset, dx = x.sink()](const Tensor& dout) {
        const kernels::Out to = dx.open();
        if (!to.accumulate)
            kernels::cpu().fill(whole.numel(), 0, to.data);
        copy(dout.shape(), dout.shape(), dout.data(), whole, {to.data + offset, true});
    });
}

// out = parts side by side along dim        dpart = the slice of dout at that part's position
Tensor concat(List<Tensor> parts, int dim) {
    check(!parts.empty(), "[concat] at least one tensor is needed");
    const Shape& first = parts[0].shape();
    const int d = first.index(dim);
    std::vector<const Tensor*> inputs;
    int64_t total = 0;
    for (const Tensor& part : parts) {
        check(part.rank() == first.rank() && part.shape().with(d, 0) == first.with(d, 0),
              "[concat] shapes may differ in dimension ", dim, " only: got ", first, " and ", part.shape());
        inputs.push_back(&part);
        total += part.size(d);
    }
    Tensor out = Tensor::uninitialized(first.with(d, total));
    Real* to = out.mutable_data();
    for (const Tensor& part : parts) {
        copy(part.shape(), part.shape(), part.data(), out.shape(), {to});
        to += part.size(d) * stride(first, d);
    }
    return with_backward("concat", out, inputs,
                         [d, sinks = mapped(parts, &Tensor::sink),
                          shapes = mapped(parts, &Tensor::shape)](const Tensor& dout) {
                             const Real* from = dout.data();
                             for (std::size_t i = 0; i < sinks.size(); ++i) {
                                 if (sinks[i])
                                     copy(shapes[i], dout.shape(), from, shapes[i], sinks[i].open());
                                 from += shapes[i][d] * stride(dout.shape(), d);
                             }
                         });
}

Tensor stack(List<Tensor> parts, int dim) {
    std::vector<Tensor> rows;
    for (const Tensor& part : parts) {
        check(part.shape() == parts[0].shape(), "[stack] shapes must be equal: got ", parts[0].shape(),
              " and ", part.shape());
        rows.push_back(unsqueeze(part, dim));
    }
    return concat(rows, dim);
}

std::vector<Tensor> split(const Tensor& x, int64_t size, int dim) {
    check(size >= 1, "[split] a part must have a size of at least 1: got ", size);
    std::vector<Tensor> parts;
    for (int64_t begin = 0; begin == 0 || begin < x.size(dim); begin += size)
        parts.push_back(slice(x, dim, begin, std::min(begin + size, x.size(dim))));
    return parts;
}

Tensor squeeze(const Tensor& x, int dim) {
    return x.size(dim) == 1 ? x.with_shape(x.shape().without(dim)) : x;
}

Tensor unsqueeze(const Tensor& x, int dim) {
    const int at = dim < 0 ? dim + x.rank() + 1 : dim;
    check(at >= 0 && at <= x.rank(), "[unsqueeze] a new dimension of ", x.shape(), " may be ", -x.rank() - 1,
          " to ", x.rank(), ": got ", dim);
    std::vector<int64_t> sizes(x.shape().begin(), x.shape().end());
    sizes.insert(sizes.begin() + at, 1);
    return reshape(x, sizes);
}

Tensor Tensor::operator[](int64_t i) const {
    check(rank() > 0, "[Tensor] a number, of shape (), has no rows");
    const int64_t at = i < 0 ? i + size(0) : i;
    check(at >= 0 && at < size(0), "[Tensor] there is no row ", i, " in ", shape_);
    return squeeze(slice(*this, 0, at, at + 1), 0);
}

}  // namespace plaingrad::autograd
