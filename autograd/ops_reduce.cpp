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

// out = Σ x / n over dims        dx = dout / n, repeated along them
Tensor sum_over(const char* op, const Tensor& x, const Reduced& to, bool keep_dims, Real n) {
    const auto divided = [n](const Shape& shape, const Tensor& y, const kernels::Out& by_n) {
        kernels::cpu().binary(kernels::Binary::div, broadcast_loop(shape, y.shape(), Shape()), y.data(), &n,
                              by_n);
    };
    Tensor out = Tensor::uninitialized(to.kept);
    sum_to(x.shape(), x.data(), to.kept, 1, {out.mutable_data()});
    if (n != 1)
        divided(to.kept, out, {out.mutable_data()});
    out = with_backward(op, out, {&x}, [divided, dx = x.sink(), shape = x.shape()](const Tensor& dout) {
        divided(shape, dout, dx.open());
    });
    return keep_dims ? out : out.with_shape(to.dropped);
}

Tensor mean_of(const Tensor& x, const Reduced& to, bool keep_dims) {
    const int64_t n = to.kept.numel() == 0 ? 0 : x.numel() / to.kept.numel();
    check(n > 0 || to.kept.numel() == 0, "[mean] the mean of no numbers is not defined: the shape is ",
          x.shape());
    return sum_over("mean", x, to, keep_dims, static_cast<Real>(n));
}

// The largest elements along a dim, kept with size 1, and their indices.
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

Tensor sum(const Tensor& x) { return sum_over("sum", x, kScalar, false, 1); }
Tensor sum(const Tensor& x, List<int> dims, bool keep_dims) {
    return sum_over("sum", x, reduced("sum", x.shape(), dims), keep_dims, 1);
}
Tensor mean(const Tensor& x) { return mean_of(x, kScalar, false); }
Tensor mean(const Tensor& x, List<int> dims, bool keep_dims) {
    return mean_of(x, reduced("mean", x.shape(), dims), keep_dims);
}

// out = max over dim        dx = dout at the first maximum, else 0
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
    check(rest.rank() <= 2, "[argmax] x may have at most three dimensions: its shape is ", x.shape());
    const int64_t batch = rest.rank() > 0 ? rest[0] : 1, length = rest.rank() > 1 ? rest[1] : 1;
    return Tokens(batch, length, std::move(Largest("argmax", x, dim).index));
}

}  // namespace plaingrad::autograd
