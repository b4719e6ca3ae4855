// Rows of the table of ops: reductions, and ops that move numbers and do not change them.
#include <algorithm>
#include <cmath>

#include "tests/ops.h"

namespace plaingrad::tests {

using namespace autograd;  // NOLINT

namespace {

// All numbers, or over some dims, which may be none.
template <class All, class Over>
void draw_reduction(OpCall& c, bool is_mean, const All& all, const Over& over) {
    const Shape s = c.any("x", 0, 4);
    const double n = static_cast<double>(s.numel());
    c.most = c.largest(0) * (is_mean ? 1 : std::fmax(1, n));
    if (c.one_in(4))
        return c.returns([=](const Inputs& x) { return all(x[0]); });
    std::vector<int> dims;
    for (int dim = 0; dim < s.rank(); ++dim)
        if (c.one_in(2))
            dims.insert(dims.begin() + c.below(std::ssize(dims) + 1), c.one_in(2) ? dim : dim - s.rank());
    c.option("dims", dims);
    const bool keep = c.option("keep", c.one_in(2));
    c.returns([=](const Inputs& x) { return over(x[0], dims, keep); });
}

void draw_sum(OpCall& c) {
    draw_reduction(
        c, false, [](const Tensor& x) { return sum(x); },
        [](const Tensor& x, const std::vector<int>& dims, bool keep) { return sum(x, dims, keep); });
}

void draw_mean(OpCall& c) {
    draw_reduction(
        c, true, [](const Tensor& x) { return mean(x); },
        [](const Tensor& x, const std::vector<int>& dims, bool keep) { return mean(x, dims, keep); });
}

// How far each number is below the largest, which is at 0.
std::function<Tensor(const Inputs&)> below_largest(int dim) {
    return [dim](const Inputs& x) { return x[0].detach() - max(x[0].detach(), dim, true); };
}

void draw_max(OpCall& c) {
    const Shape s = c.any("x", 1, 4);
    const int dim = c.dim(s);
    const bool keep = c.option("keep", c.one_in(2));
    c.exact = true;
    c.kinks = below_largest(dim);
    c.returns([=](const Inputs& x) { return max(x[0], dim, keep); });
}

void draw_argmax(OpCall& c) {
    const Shape s = c.any("x", 1, 3);
    const int dim = c.dim(s);
    c.exact = true;
    c.kinks = below_largest(dim);
    c.most = static_cast<double>(s[dim]);
    c.returns([=](const Inputs& x) {
        const Tokens found = argmax(x[0], dim);
        return Tensor::from({found.batch(), found.length()},
                            std::vector<Real>(found.ids().begin(), found.ids().end()));
    });
}

// The sizes in another order, one of which may be inferred.
void draw_reshape(OpCall& c) {
    const Shape s = c.any("x", 0, 4);
    std::vector<int> sizes(s.begin(), s.end());
    for (std::size_t i = sizes.size(); i > 1; --i)
        std::swap(sizes[i - 1], sizes[c.index(i)]);
    if (c.one_in(3))
        sizes.assign(1, static_cast<int>(s.numel()));
    if (!sizes.empty() && s.numel() > 0 && c.one_in(2))
        sizes[c.index(sizes.size())] = -1;
    c.option("sizes", sizes);
    c.returns(
        [=](const Inputs& x) { return reshape(x[0], std::vector<int64_t>(sizes.begin(), sizes.end())); });
}

void draw_squeeze(OpCall& c) {
    const Shape s = c.any("x", 1, 4);
    const int dim = c.dim(s);
    c.returns([=](const Inputs& x) { return squeeze(x[0], dim); });
}

void draw_unsqueeze(OpCall& c) {
    const Shape s = c.any("x", 0, 3);
    const int dim = c.option("dim", static_cast<int>(c.below(2 * s.rank() + 2)) - s.rank() - 1);
    c.returns([=](const Inputs& x) { return unsqueeze(x[0], dim); });
}

void draw_permute(OpCall& c) {
    const Shape s = c.any("x", 1, 4);
    std::vector<int> order;
    for (int d = 0; d < s.rank(); ++d)
        order.insert(order.begin() + c.below(d + 1), c.one_in(4) ? d - s.rank() : d);
    c.option("order", order);
    c.returns([=](const Inputs& x) { return permute(x[0], order); });
}

void draw_transpose(OpCall& c) {
    const Shape s = c.any("x", 1, 4);
    const int dim = c.dim(s), other = c.option("other", static_cast<int>(c.below(s.rank())));
    c.returns([=](const Inputs& x) { return transpose(x[0], dim, other); });
}

void draw_slice(OpCall& c) {
    const Shape s = c.any("x", 1, 4);
    const int dim = c.dim(s);
    const int64_t begin = c.option("begin", c.below(s[dim] + 1)),
                  end = c.option("end", begin + c.below(s[dim] - begin + 1));
    c.returns([=](const Inputs& x) { return slice(x[0], dim, begin, end); });
}

// The first part is there twice: its gradients are added.
void draw_concat(OpCall& c) {
    const Shape s = c.any("a", 1, 4);
    const int dim = c.dim(s);
    c.input("b", s.with(dim, c.one_in(8) ? 0 : c.size(9)));
    c.sums = true;
    c.returns([=](const Inputs& x) { return concat({x[0], x[1], x[0]}, dim); });
}

void draw_stack(OpCall& c) {
    const Shape s = c.any("a", 0, 3);
    const int dim = c.option("dim", static_cast<int>(c.below(s.rank() + 1)));
    c.input("b", s);
    c.returns([=](const Inputs& x) { return stack({x[0], x[1]}, dim); });
}

void draw_split(OpCall& c) {
    const Shape s = c.any("x", 1, 4);
    const int dim = c.dim(s);
    const int64_t size = c.option("size", std::max<int64_t>(1, c.size()));
    c.returns([=](const Inputs& x) {
        const std::vector<Tensor> parts = split(x[0], size, dim);
        check(!parts.empty(), "[split] there are no parts");
        return parts;
    });
}

OpRow move(const char* name, const char* torch, void (*draw)(OpCall&)) {
    return {name, torch, [draw](OpCall& c) {
                c.exact = true;
                draw(c);
            }};
}

}  // namespace

std::vector<OpRow> moving_rows() {
    return {
        {"sum", "reduced(torch.sum, x, dims, keep)", draw_sum},
        {"mean", "reduced(torch.mean, x, dims, keep)", draw_mean},
        {"max", "x.max(dim, keepdim=keep == 1).values", draw_max},
        {"argmax", "argmax(x, dim)", draw_argmax, false},
        move("reshape", "x.reshape(sizes)", draw_reshape),
        move("squeeze", "x.squeeze(dim)", draw_squeeze),
        move("unsqueeze", "x.unsqueeze(dim)", draw_unsqueeze),
        move("permute", "x.permute(order)", draw_permute),
        move("transpose", "x.transpose(dim, other)", draw_transpose),
        move("slice", "x.narrow(dim, begin, end - begin)", draw_slice),
        move("concat", "torch.cat([a, b, a], dim)", draw_concat),
        move("stack", "torch.stack([a, b], dim)", draw_stack),
        move("split", "x.split(size, dim)", draw_split),
    };
}

}  // namespace plaingrad::tests
