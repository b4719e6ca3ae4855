// Operations that move numbers without changing them.
#include <algorithm>

#include "autograd/op.h"
#include "autograd/ops.h"

namespace autograd {
namespace {

// Row-major strides, and a loop over up to four dims.
struct Strides {
    int64_t of[Shape::kMaxRank] = {};
    explicit Strides(const Shape& shape) {
        int64_t stride = 1;
        for (int i = shape.rank() - 1; i >= 0; --i) {
            of[i] = stride;
            stride *= shape[i];
        }
    }
};

// Copies `block` from a place in one tensor to a place in another, each with its own strides.
void copy_block(const Shape& block, const Real* from, const Strides& from_strides, kernels::Out to,
                const Strides& to_strides) {
    kernels::Loop4 loop = {{1, 1, 1, 1}, {}, {}};
    const int skip = Shape::kMaxRank - block.rank();
    for (int i = 0; i < block.rank(); ++i) {
        loop.size[skip + i] = block[i];
        loop.a[skip + i] = from_strides.of[i];
        loop.b[skip + i] = to_strides.of[i];
    }
    kernels::cpu().copy(loop, from, to);
}

}  // namespace

// The handle alone changes: gradient and graph are shared, so there is no backward to write.
Tensor reshape(const Tensor& x, const std::vector<int64_t>& sizes) {
    std::vector<int64_t> full = sizes;
    const auto open = std::find(full.begin(), full.end(), -1);
    int64_t known = 1;
    for (auto size = full.begin(); size != full.end(); ++size) {
        check(*size >= 0 || size == open, "[reshape] sizes must be >= 0, and one at most -1");
        check(size == open || !__builtin_mul_overflow(known, *size, &known),
              "[reshape] too many elements for 64 bits");
    }
    if (open != full.end()) {
        check(known > 0 && x.numel() % known == 0, "[reshape] ", x.shape(), " cannot be divided into ", known,
              " equal parts");
        *open = x.numel() / known;
    }
    return x.with_shape(Shape(full.data(), static_cast<int>(full.size())));
}

// out[i_0, i_1, ...] = x[...], out's dim i walking along x's dim order[i]        dx: the same walk back
Tensor permute(const Tensor& x, const std::vector<int>& order) {
    check(static_cast<int>(order.size()) == x.rank(), "[permute] ", x.shape(), " needs ", x.rank(),
          " dimensions in the order: got ", order.size());
    const Strides dense(x.shape());
    Strides walk(x.shape());
    int64_t sizes[Shape::kMaxRank];
    bool seen[Shape::kMaxRank] = {};
    for (int i = 0; i < x.rank(); ++i) {
        const int from = x.shape().index(order[static_cast<std::size_t>(i)]);
        check(!seen[from], "[permute] dimension ", from, " of ", x.shape(), " is named twice");
        seen[from] = true;
        sizes[i] = x.size(from);
        walk.of[i] = dense.of[from];
    }
    Tensor out = Tensor::uninitialized(Shape(sizes, x.rank()));
    copy_block(out.shape(), x.data(), walk, {out.mutable_data()}, Strides(out.shape()));
    return with_backward(out, {&x}, [walk, dx = x.sink()](const Tensor& dout) {
        copy_block(dout.shape(), dout.data(), Strides(dout.shape()), dx.open(), walk);
    });
}

Tensor transpose(const Tensor& x, int dim_a, int dim_b) {
    std::vector<int> order;
    for (int i = 0; i < x.rank(); ++i)
        order.push_back(i);
    std::swap(order[static_cast<std::size_t>(x.shape().index(dim_a))],
              order[static_cast<std::size_t>(x.shape().index(dim_b))]);
    return permute(x, order);
}

// out = x[begin:end] along dim        dx = 0, with dout at [begin:end]
Tensor slice(const Tensor& x, int dim, int64_t begin, int64_t end) {
    const int d = x.shape().index(dim);
    check(0 <= begin && begin <= end && end <= x.size(d), "[slice] [", begin, ", ", end,
          ") must lie within dimension ", dim, " of ", x.shape());
    const Strides strides(x.shape());
    const int64_t offset = begin * strides.of[d];
    Tensor out = Tensor::uninitialized(x.shape().with(d, end - begin));
    copy_block(out.shape(), x.data() + offset, strides, {out.mutable_data()}, Strides(out.shape()));
    return with_backward(out, {&x}, [strides, offset, n = x.numel(), dx = x.sink()](const Tensor& dout) {
        const kernels::Out to = dx.open();
        if (!to.accumulate)
            kernels::cpu().fill(n, 0, to.data);
        copy_block(dout.shape(), dout.data(), Strides(dout.shape()), {to.data + offset, true}, strides);
    });
}

// out = parts side by side along dim        dpart = dout where that part stands
Tensor concat(const std::vector<Tensor>& parts, int dim) {
    check(!parts.empty(), "[concat] at least one tensor is needed");
    const int d = parts[0].shape().index(dim);
    int64_t total = 0;
    std::vector<const Tensor*> inputs;
    for (const Tensor& part : parts) {
        check(part.rank() == parts[0].rank() && part.shape().with(d, 0) == parts[0].shape().with(d, 0),
              "[concat] shapes may differ in dimension ", dim, " only: got ", parts[0].shape(), " and ",
              part.shape());
        total += part.size(d);
        inputs.push_back(&part);
    }
    Tensor out = Tensor::uninitialized(parts[0].shape().with(d, total));
    const Strides strides(out.shape());
    struct Part {
        GradSink sink;
        Shape shape;
        int64_t offset;
    };
    std::vector<Part> places;
    int64_t offset = 0;
    Real* to = out.mutable_data();
    for (const Tensor& part : parts) {
        copy_block(part.shape(), part.data(), Strides(part.shape()), {to + offset}, strides);
        places.push_back({part.sink(), part.shape(), offset});
        offset += part.size(d) * strides.of[d];
    }
    return with_backward(out, inputs, [strides, places = std::move(places)](const Tensor& dout) {
        for (const Part& part : places)
            if (part.sink)
                copy_block(part.shape, dout.data() + part.offset, strides, part.sink.open(),
                           Strides(part.shape));
    });
}

}  // namespace autograd
