// Of the table of ops: reductions, and ops that move numbers and do not change them.
#include <algorithm>
#include <cmath>

#include "tests/ops/family.h"

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

Tensor as_tensor(const Tokens& ids) {
    return tensor({ids.batch(), ids.length()}, {ids.ids().begin(), ids.ids().end()});
}

void draw_argmax(OpCall& c) {
    const Shape s = c.any("x", 1, 3);
    const int dim = c.dim(s);
    c.exact = true;
    c.kinks = below_largest(dim);
    c.most = static_cast<double>(s[dim]);
    c.returns([=](const Inputs& x) { return as_tensor(argmax(x[0], dim)); });
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

const std::vector<OpRow> kOpRows = {
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

std::vector<Known> values() {
    const Tensor cube = counting({2, 3, 4}), square = counting({3, 4}), pairs = counting({3, 2});
    const Tensor ties = tensor({2, 2, 3}, {1, 5, 2, 7, 7, 0, -1, kNan, 3, -kInf, -2, -1});
    return {
        KNOWN(sum(cube), 276),
        KNOWN(sum(cube, {0}), tensor({3, 4}, {12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34})),
        KNOWN(sum(cube, {-1}), tensor({2, 3}, {6, 22, 38, 54, 70, 86})),
        KNOWN(sum(cube, {0, 2}), vec({60, 92, 124})),
        KNOWN(sum(cube, {0, 1}), vec({60, 66, 72, 78})),
        KNOWN(sum(cube, {0, 2}, true), tensor({1, 3, 1}, {60, 92, 124})),
        KNOWN(sum(cube, {0, 1, 2}), 276),
        KNOWN(sum(cube, {}), cube),
        KNOWN(mean(cube), Real(11.5)),
        KNOWN(mean(cube, {1}), tensor({2, 4}, {4, 5, 6, 7, 16, 17, 18, 19})),
        KNOWN(mean(cube, {0, 1, 2}, true), tensor({1, 1, 1}, {11.5})),
        SLOPE(mean(x), Tensor::zeros({41}), 41, Tensor::ones({41})),
        KNOWN(max(tensor({2, 3}, {1, 3, 3, -5, -7, -5}), 1), vec({3, -5})),
        KNOWN(max(tensor({2, 3}, {1, 3, 3, -5, -7, -5}), -2, true), tensor({1, 3}, {1, 3, 3})),
        KNOWN(max(tensor({3, 3}, {kNan, 1, 2, 1, kNan, 2, 1, 2, kNan}), 1), vec({kNan, kNan, kNan})),
        SLOPE(max(x, 1), tensor({2, 3}, {1, 3, 3, -5, -7, -5}), vec({10, 20}),
              tensor({2, 3}, {0, 10, 0, 20, 0, 0})),
        KNOWN(as_tensor(argmax(ties)), tensor({2, 2}, {1, 0, 1, 2})),
        KNOWN(as_tensor(argmax(ties, 0)), tensor({2, 3}, {0, 1, 1, 0, 0, 0})),
        KNOWN(as_tensor(argmax(ties[0])), tensor({2, 1}, {1, 0})),
        KNOWN(as_tensor(argmax(vec({3, 9}))), tensor({1, 1}, {1})),
        KNOWN(reshape(cube, {4, -1}), counting({4, 6})),
        KNOWN(reshape(tensor({1, 1}, {3}), {}), 3),
        KNOWN(reshape(Tensor::zeros({0, 3}), {-1, 3}), Tensor::zeros({0, 3})),
        KNOWN(squeeze(counting({3, 1, 2}), 1), pairs),
        KNOWN(squeeze(pairs, 0), pairs),
        KNOWN(unsqueeze(pairs, 0), counting({1, 3, 2})),
        KNOWN(unsqueeze(pairs, -1), counting({3, 2, 1})),
        KNOWN(permute(counting({1, 2, 3}), {2, 0, 1}), tensor({3, 1, 2}, {0, 3, 1, 4, 2, 5})),
        KNOWN(transpose(pairs, 0, -1), tensor({2, 3}, {0, 2, 4, 1, 3, 5})),
        KNOWN(slice(square, 0, 1, 2), tensor({1, 4}, {4, 5, 6, 7})),
        KNOWN(slice(square, 1, 1, 3), tensor({3, 2}, {1, 2, 5, 6, 9, 10})),
        KNOWN(concat({counting({2, 1}), counting({2, 2})}, 1), tensor({2, 3}, {0, 0, 1, 1, 2, 3})),
        KNOWN(pairs[1], vec({2, 3})),
        KNOWN(pairs[-1], vec({4, 5})),
        KNOWN(pairs[2][1], 5),
        SLOPE(x[1], counting({3, 2}), vec({1, 2}), tensor({3, 2}, {0, 0, 1, 2, 0, 0})),
        KNOWN(stack({vec({0, 1}), vec({4, 5})}), tensor({2, 2}, {0, 1, 4, 5})),
        KNOWN(stack({vec({0, 1}), vec({4, 5})}, 1), tensor({2, 2}, {0, 4, 1, 5})),
        KNOWN(stack({vec({0, 1}), vec({4, 5})}, -1), tensor({2, 2}, {0, 4, 1, 5})),
        KNOWN(split(pairs, 2)[0], tensor({2, 2}, {0, 1, 2, 3})),
        KNOWN(split(pairs, 2)[1], tensor({1, 2}, {4, 5})),
        KNOWN(split(pairs, 1, -1)[1], tensor({3, 1}, {1, 3, 5})),
        KNOWN(split(Tensor::zeros({0, 2}), 3)[0], Tensor::zeros({0, 2})),
    };
}

const Calls kWrongCalls = {
    CALL(sum(kNone)),
    CALL(sum(t({2, 3}), {2})),
    CALL(sum(t({2, 3}), {-3})),
    CALL(sum(t({2, 3}), {0, 0})),
    CALL(sum(t({}), {0})),
    CALL(mean(kNone)),
    CALL(mean(t({0}))),
    CALL(mean(t({2, 0}), {1})),
    CALL(mean(t({2, 3}), {1, -1})),
    CALL(max(kNone, 0)),
    CALL(max(t({2, 0}), 1)),
    CALL(max(t({2, 3}), 2)),
    CALL(max(t({}), 0)),
    CALL(argmax(kNone)),
    CALL(argmax(t({2, 0}))),
    CALL(argmax(t({2, 3}), 2)),
    CALL(argmax(t({2, 2, 2, 2}))),
    CALL(reshape(kNone, {1})),
    CALL(reshape(t({6}), {4})),
    CALL(reshape(t({6}), {-1, -1})),
    CALL(reshape(t({6}), {-1, 4})),
    CALL(reshape(t({6}), {-2, 3})),
    CALL(reshape(t({0}), {-1, 0})),
    CALL(reshape(t({1}), {1, 1, 1, 1, 1})),
    CALL(reshape(t({2, 3}), {-1, int64_t(1) << 40, int64_t(1) << 40})),
    CALL(squeeze(kNone, 0)),
    CALL(squeeze(t({1}), 1)),
    CALL(unsqueeze(kNone, 0)),
    CALL(unsqueeze(t({2}), 2)),
    CALL(unsqueeze(t({2}), -3)),
    CALL(unsqueeze(t({1, 1, 1, 1}), 0)),
    CALL(permute(kNone, {0})),
    CALL(permute(t({2, 3}), {0})),
    CALL(permute(t({2, 3}), {0, 0})),
    CALL(permute(t({2, 3}), {0, -2})),
    CALL(permute(t({2, 3}), {0, 2})),
    CALL(transpose(kNone, 0, 1)),
    CALL(transpose(t({2}), 0, 1)),
    CALL(transpose(t({2, 3}), 0, 2)),
    CALL(slice(kNone, 0, 0, 1)),
    CALL(slice(t({2, 3}), 2, 0, 1)),
    CALL(slice(t({2, 3}), 0, 0, 3)),
    CALL(slice(t({2, 3}), 0, 2, 1)),
    CALL(slice(t({2, 3}), 1, -1, 2)),
    CALL(concat({}, 0)),
    CALL(concat({t({2}), kNone}, 0)),
    CALL(concat({t({2}), t({2, 1})}, 0)),
    CALL(concat({t({2, 3}), t({2, 4})}, 0)),
    CALL(concat({t({2}), t({2})}, 1)),
    CALL(stack({})),
    CALL(stack({t({2}), kNone})),
    CALL(stack({t({2}), t({3})})),
    CALL(stack({t({2})}, 2)),
    CALL(stack({t({1, 1, 1, 1})})),
    CALL(split(kNone, 1)),
    CALL(split(t({4}), 0)),
    CALL(split(t({4}), -2)),
    CALL(split(t({4}), 2, 1)),
};

}  // namespace

const OpFamily kMoves = {kOpRows, values, kWrongCalls};

}  // namespace plaingrad::tests
