// Ops with random shapes: of elements, products, reductions, and those that move; and sometimes with a second
// consumer of an input.
#include <algorithm>

#include "autograd/base/check.h"
#include "tests/trust/gradients/shapes.h"

namespace plaingrad::trust {

using namespace autograd;  // NOLINT

namespace {

Case two_tensors(Dice& draw) {
    using Two = Tensor (*)(const Tensor&, const Tensor&);
    const auto [name, op] = draw.one_of<std::pair<const char*, Two>>(
        {{"add", add}, {"sub", sub}, {"mul", mul}, {"div", div}, {"maximum", maximum}, {"minimum", minimum}});
    const Shape all = shape(draw, 0, 4);
    const bool first = draw.one_in(2);
    Case c(name, op == maximum || op == minimum);
    const Tensor a = c.leaf(nonzero(draw, first ? narrowed(draw, all) : all));
    const Tensor b = c.leaf(nonzero(draw, first && draw.one_in(2) ? all : narrowed(draw, all)));
    c.f = [f = op, a, b] { return f(a, b); };
    return c;
}

Case choice(Dice& draw) {
    const Shape all = shape(draw, 1, 3);
    Case c("where", true);
    const Tensor condition = numbers(draw, narrowed(draw, all)) < 0;
    const Tensor a = c.leaf(numbers(draw, all)), b = c.leaf(numbers(draw, narrowed(draw, all)));
    c.f = [=] { return where(condition, a, b); };
    return c;
}

Case one_tensor(Dice& draw) {
    using One = Tensor (*)(const Tensor&);
    struct Function {
        const char* name;
        One f;
        bool positive, has_kink;
    };
    const auto r = draw.one_of<Function>({{"neg", neg, false, false},
                                          {"exp", exp, false, false},
                                          {"log", log, true, false},
                                          {"sqrt", sqrt, true, false},
                                          {"tanh", tanh, false, false},
                                          {"sigmoid", sigmoid, false, false},
                                          {"abs", abs, false, false},
                                          {"relu", relu, false, true},
                                          {"gelu", gelu, false, false},
                                          {"gelu_tanh", gelu_tanh, false, false},
                                          {"silu", silu, false, false}});
    Case c(r.name, r.has_kink);
    const Shape s = shape(draw, 0, 4);
    const Tensor x = c.leaf(r.positive ? numbers(draw, s, 0.2, 3) : nonzero(draw, s));
    c.f = [=] { return r.f(x); };
    return c;
}

Case reduction(Dice& draw) {
    const Shape s = shape(draw, 1, 4, false);
    const bool keep = draw.one_in(2);
    const std::string name = draw.one_of<std::string>({"sum", "mean", "max"});
    Case c(name);
    const Tensor x = c.leaf(numbers(draw, s));
    if (name == "max") {
        c.f = [=, dim = any_dim(draw, s)] { return max(x, dim, keep); };
        return c;
    }
    std::vector<int> dims;
    for (int dim = 0; dim < s.rank(); ++dim)
        if (draw.one_in(2))
            dims.push_back(draw.one_in(2) ? dim : dim - static_cast<int>(s.rank()));
    c.f = [=] { return name == "sum" ? sum(x, dims, keep) : mean(x, dims, keep); };
    return c;
}

Case product(Dice& draw) {
    const Shape batch = shape(draw, 0, 2);
    const int64_t m = size_or_0(draw), k = size(draw), n = size_or_0(draw);
    const bool transposed = draw.one_in(2);
    const auto with = [](const Shape& front, int64_t rows, int64_t columns) {
        std::vector<int64_t> sizes;
        for (int dim = 0; dim < front.rank(); ++dim)
            sizes.push_back(front[dim]);
        sizes.insert(sizes.end(), {rows, columns});
        return shape_of(sizes);
    };
    Case c("matmul");
    const Tensor a = c.leaf(numbers(draw, with(narrowed(draw, batch), m, k)));
    const Tensor b = c.leaf(
        numbers(draw, transposed ? with(narrowed(draw, batch), n, k) : with(narrowed(draw, batch), k, n)));
    c.f = [=] { return matmul(a, b, transposed); };
    return c;
}

Case mover(Dice& draw) {
    const Shape s = shape(draw, 1, 4);
    const int dim = any_dim(draw, s);
    Case c;
    const Tensor x = c.leaf(numbers(draw, s));
    switch (draw.below(6)) {
        case 0: {
            std::vector<int> order;
            for (int d = 0; d < s.rank(); ++d)
                order.insert(order.begin() + draw.below(d + 1), d);
            c.name = "permute";
            c.f = [=] { return permute(x, order); };
            break;
        }
        case 1: {
            const int64_t begin = draw.below(s[dim] + 1), end = begin + draw.below(s[dim] - begin + 1);
            c.name = "slice";
            c.may_be_zero = begin == end;
            c.f = [=] { return slice(x, dim, begin, end); };
            break;
        }
        case 2: {
            const Tensor y = c.leaf(numbers(draw, s.with(dim, size_or_0(draw))));
            c.name = "concat";
            c.f = [=] { return concat({x, y, x}, dim); };
            break;
        }
        case 3: {
            const Tensor y = c.leaf(numbers(draw, s));
            c.name = s.rank() < 4 ? "stack" : "concat";  // a tensor has at most four dims
            c.f = [=] { return s.rank() < 4 ? stack({x, y}, dim) : concat({x, y}, dim); };
            break;
        }
        case 4:
            c.name = "reshape, unsqueeze";
            c.f = [=] { return unsqueeze(reshape(x, {1, x.numel()}), 1); };
            break;
        default: {
            c.name = "split";
            c.f = [=, n = size(draw)] {
                const std::vector<Tensor> parts = split(x, n, dim);
                return parts.empty() ? x : parts.back() * parts.back() + sum(parts.front());
            };
        }
    }
    return c;
}

// A second consumer of the first leaf, before or after the op: gradients are added.
void use_again(Dice& draw, Case& c) {
    const Tensor x = c.leaves[0].tensor;
    c.name += ", and another consumer";
    const Real scale = Real(1) / static_cast<Real>(1 + x.numel());
    c.f = [=, f = c.f, first = draw.one_in(2)] {
        if (first) {
            const Tensor square = sum(x * x) * scale;
            return f() + square;
        }
        const Tensor y = f();
        return y + sum(x * x) * scale;
    };
}

}  // namespace

Case draw_op(int64_t number, Dice& draw) {
    constexpr Case (*kKinds[])(Dice&) = {two_tensors,  one_tensor,      product, reduction,
                                         fused_linear, attend,          norm,    mover,
                                         choice,       softmax_or_loss, look_up};
    Case c = kKinds[static_cast<std::size_t>(number) % std::size(kKinds)](draw);
    if (draw.one_in(4))
        use_again(draw, c);
    for (const nn::NamedParameter& leaf : c.leaves)
        c.name += join(" ", leaf.tensor.shape());
    return c;
}

}  // namespace plaingrad::trust
