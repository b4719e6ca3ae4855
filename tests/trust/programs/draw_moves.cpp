// Ops on shapes, which move numbers and do not change them; and copies of handles and of numbers.
#include <numeric>

#include "autograd/base/check.h"
#include "tests/trust/programs/draw.h"

namespace plaingrad::trust {
namespace {

using autograd::join;

void draw_other_shape(Draw& d) {
    const int x = d.any();
    const Shape shape = d.shape_of(x);
    const int rank = shape.rank();
    const int dim = rank == 0 ? 0 : static_cast<int>(d.below(rank));
    switch (d.below(4)) {
        case 0:
            d.view(x, {shape.numel()});
            break;
        case 1:
            if (rank >= 2)
                d.op("reshape", {x},
                     [last = shape[-1]](const Inputs& in, Branches&) {
                         return reshape(in[0], {-1, last});
                     },
                     {.arguments = "as rows", .exact = true});
            break;
        case 2:
            if (rank > 0)
                d.op("squeeze", {x}, [dim](const Inputs& in, Branches&) { return squeeze(in[0], dim); },
                     {.arguments = join(dim), .exact = true});
            break;
        default:
            if (rank < Shape::kMaxRank)
                d.op("unsqueeze", {x}, [dim](const Inputs& in, Branches&) { return unsqueeze(in[0], dim); },
                     {.arguments = join(dim), .exact = true});
    }
}

void draw_order(Draw& d) {
    const int x = d.any(2);
    const int rank = d.shape_of(x).rank();
    if (d.chance(0.5)) {
        const int a = static_cast<int>(d.below(rank)), b = static_cast<int>(d.below(rank));
        d.op("transpose", {x}, [=](const Inputs& in, Branches&) { return transpose(in[0], a, b); },
             {.arguments = join(a, ", ", b), .exact = true});
        return;
    }
    std::vector<int> order(static_cast<std::size_t>(rank));
    std::iota(order.begin(), order.end(), 0);
    std::string text;
    for (int i = rank - 1; i >= 0; --i) {
        std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(d.below(i + 1))]);
        text += " " + join(order[static_cast<std::size_t>(i)]);
    }
    d.op("permute", {x}, [order](const Inputs& in, Branches&) { return permute(in[0], order); },
         {.arguments = "backwards" + text, .exact = true});
}

void draw_part(Draw& d) {
    const int x = d.any(1);
    const Shape& shape = d.shape_of(x);
    const int dim = static_cast<int>(d.below(shape.rank()));
    const int64_t n = shape[dim];
    switch (d.below(4)) {
        case 0: {
            const int64_t i = d.below(n + 1);  // n: throws
            d.op("operator[]", {x}, [i](const Inputs& in, Branches&) { return in[0][i]; },
                 {.arguments = join(i), .exact = true});
            break;
        }
        case 1: {
            const int64_t part = 1 + d.below(n + 1), which = d.below(3);
            d.op("split", {x},
                 [=](const Inputs& in, Branches&) {
                     const std::vector<Tensor> parts = split(in[0], part, dim);
                     return parts[static_cast<std::size_t>(which) % parts.size()];
                 },
                 {.arguments = join(part, ", dim ", dim, ", part ", which), .exact = true});
            break;
        }
        default: {
            const int64_t begin = d.below(n + 1), end = begin + d.below(n - begin + 1);
            d.op("slice", {x}, [=](const Inputs& in, Branches&) { return slice(in[0], dim, begin, end); },
                 {.arguments = join("dim ", dim, ", ", begin, " to ", end), .exact = true});
        }
    }
}

void draw_joined(Draw& d) {
    const int x = d.any(1, 3);
    const int64_t n = 1 + d.below(3);
    const int dim = static_cast<int>(d.below(d.shape_of(x).rank()));
    const bool stacked = d.chance(0.4);
    std::vector<int> parts = {x};
    for (int64_t i = 0; i < n && d.shape_of(x).numel() * (i + 2) <= 4 * d.most(); ++i) {
        const Shape shape = d.shape_of(x);
        parts.push_back(d.chance(0.3) ? x
                        : stacked     ? d.like(shape)
                                      : d.like(shape.with(dim, d.chance(0.5) ? shape[dim] : d.size(9))));
    }
    if (stacked)
        d.op("stack", parts, [dim](const Inputs& in, Branches&) { return stack(in, dim); },
             {.arguments = join("dim ", dim), .exact = true});
    else
        d.op("concat", parts, [dim](const Inputs& in, Branches&) { return concat(in, dim); },
             {.arguments = join("dim ", dim), .exact = true});
}

void draw_handle(Draw& d) {
    const int x = d.any();
    const bool copied = d.chance(0.3);
    d.op(copied ? "clone" : "detach", {x},
         [copied](const Inputs& in, Branches&) { return copied ? in[0].clone() : in[0].detach(); },
         {.exact = true});
}

}  // namespace

void draw_moves(Draw& d) {
    switch (d.below(9)) {
        case 0:
        case 1:
            return draw_other_shape(d);
        case 2:
        case 3:
            return draw_order(d);
        case 4:
        case 5:
            return draw_part(d);
        case 6:
        case 7:
            return draw_joined(d);
        default:
            return draw_handle(d);
    }
}

void draw_reductions(Draw& d) {
    const int x = d.any();
    const Shape shape = d.shape_of(x);
    const double size = d.size_of(x);
    const int64_t how = d.below(6);
    if (how == 0) {
        d.op("sum", {x}, [](const Inputs& in, Branches&) { return sum(in[0]); },
             {.size = size * static_cast<double>(shape.numel())});
        return;
    }
    if (how == 1 || shape.rank() == 0) {
        d.op("mean", {x}, [](const Inputs& in, Branches&) { return mean(in[0]); });
        return;
    }
    const int dim = static_cast<int>(d.below(shape.rank()));
    const bool keep = d.chance(0.5);
    if (how >= 4) {
        const bool where = how == 5;
        d.op(where ? "argmax" : "max", {x},
             [=](const Inputs& in, Branches& b) {
                 Tensor indices;
                 if ((b.wanted || where) && in[0].rank() <= 3) {
                     const Tokens found = argmax(in[0], dim);
                     for (const int32_t i : found.ids())
                         b.number(i);
                     indices = Tensor::from({std::ssize(found.ids())},
                                            std::vector<Real>(found.ids().begin(), found.ids().end()));
                 }
                 if (!where)
                     return max(in[0], dim, keep);
                 autograd::check(indices.defined(), "[argmax] four dimensions");
                 return indices / static_cast<Real>(in[0].size(dim));
             },
             {.arguments = join("dim ", dim, keep ? ", kept" : ""), .exact = true, .size = where ? 1 : size});
        return;
    }
    std::vector<int> dims;
    double n = 1;
    for (int i = 0; i < shape.rank(); ++i)
        if (i == dim || d.chance(0.3)) {
            dims.push_back(i);
            n *= static_cast<double>(shape[i]);
        }
    if (how == 2)
        d.op("sum", {x}, [=](const Inputs& in, Branches&) { return sum(in[0], dims, keep); },
             {.arguments = join(dims.size(), " dims", keep ? ", kept" : ""), .size = size * n});
    else
        d.op("mean", {x}, [=](const Inputs& in, Branches&) { return mean(in[0], dims, keep); },
             {.arguments = join(dims.size(), " dims", keep ? ", kept" : "")});
}

}  // namespace plaingrad::trust
