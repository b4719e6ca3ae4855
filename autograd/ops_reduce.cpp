// Sums, means and maxima.
#include <limits>

#include "autograd/broadcast.h"
#include "autograd/op.h"
#include "autograd/ops.h"

namespace plaingrad::autograd {
namespace {

// The shape with the given dims as 1, and the one without them.
struct Reduced {
    Shape kept, dropped;
};
const Reduced kScalar = {};  // all dims are summed over

Reduced reduced(const char* name, const Shape& shape, List<int> dims) {
    bool gone[Shape::kMaxRank] = {};
    for (const int dim : dims) {
        check(!gone[shape.index(dim)], "[", name, "] dimension ", dim, " of ", shape, " is named twice");
        gone[shape.index(dim)] = true;
    }
    Reduced left = {shape, shape};
    for (int i = shape.rank() - 1; i >= 0; --i)  // from the back: the dims in front keep their numbers
        if (gone[i])
            left = {left.kept.with(i, 1), left.dropped.without(i)};
    return left;
}

// out = scale Σ x over dims        dx = scale dout, repeated along them
Tensor scaled_sum(const char* op, const Tensor& x, const Reduced& to, bool keep_dims, Real scale) {
    Tensor out = Tensor::uninitialized(to.kept);
    sum_to(x.shape(), x.data(), to.kept, scale, {out.mutable_data()});
    out = with_backward(op, out, {&x}, [scale, dx = x.sink(), shape = x.shape()](const Tensor& dout) {
        kernels::cpu().binary(kernels::Binary::mul, broadcast_loop(shape, dout.shape(), Shape()), dout.data(),
                              &scale, dx.open());
    });
    return keep_dims ? out : out.with_shape(to.dropped);
}

Tensor mean_of(const Tensor& x, const Reduced& to, bool keep_dims) {
    const FloatControl ieee;
    const int64_t n = to.kept.numel() == 0 ? 0 : x.numel() / to.kept.numel();
    check(n > 0 || to.kept.numel() == 0, "[mean] the mean of no numbers is not defined: the shape is ",
          x.shape());
    return scaled_sum("mean", x, to, keep_dims, n > 0 ? Real(1) / static_cast<Real>(n) : Real(1));
}

// The largest along a dim, kept as 1, and where they stand.
struct Largest {
    kernels::Middle m;
    Tensor values;
    std::vector<int32_t> index;

    Largest(const char* op, const Tensor& x, int dim) : m{1, x.size(dim), 1} {
        check(m.n > 0, "[", op, "] dimension ", dim, " of ", x.shape(), " is empty");
        check(m.n <= std::numeric_limits<int32_t>::max(), "[", op, "] dimension ", dim, " of ", x.shape(),
              " is too long");
        const int d = x.shape().index(dim);
        for (int i = 0; i < x.rank(); ++i)
            (i < d ? m.outer : m.inner) *= i == d ? 1 : x.size(i);
        values = Tensor::uninitialized(x.shape().with(d, 1));
        index.resize(static_cast<std::size_t>(values.numel()));
        kernels::cpu().max(m, x.data(), values.mutable_data(), index.data());
    }
};

}  // namespace

Tensor sum(const Tensor& x) { return scaled_sum("sum", x, kScalar, false, 1); }
Tensor sum(const Tensor& x, List<int> dims, bool keep_dims) {
    return scaled_sum("sum", x, reduced("sum", x.shape(), dims), keep_dims, 1);
}
Tensor mean(const Tensor& x) { return mean_of(x, kScalar, false); }
Tensor mean(const Tensor& x, List<int> dims, bool keep_dims) {
    return mean_of(x, reduced("mean", x.shape(), dims), keep_dims);
}

// out = max over dim        dx = dout where the (first) maximum stood, else 0
Tensor max(const Tensor& x, int dim, bool keep_dim) {
    Largest largest("max", x, dim);
    const Tensor out =
        with_backward("max", largest.values, {&x},
                      [m = largest.m, dx = x.sink(), index = std::move(largest.index)](const Tensor& dout) {
                          kernels::cpu().max_backward(m, index.data(), dout.data(), dx.open());
                      });
    return keep_dim ? out : out.with_shape(x.shape().without(dim));
}

Tokens argmax(const Tensor& x, int dim) {
    const Shape rest = x.shape().without(dim);
    check(rest.rank() <= 2, "[argmax] x may have three dimensions: its shape is ", x.shape());
    const int64_t batch = rest.rank() > 0 ? rest[0] : 1, length = rest.rank() > 1 ? rest[1] : 1;
    return Tokens(batch, length, std::move(Largest("argmax", x, dim).index));
}

}  // namespace plaingrad::autograd
