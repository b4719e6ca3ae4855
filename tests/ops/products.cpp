// Rows of the table of ops: products of matrices, and the layers that are made of them.
#include <cmath>

#include "tests/ops.h"

namespace plaingrad::tests {

using namespace autograd;  // NOLINT

namespace {

// Of a sum of k products of numbers whose signs differ.
double size_of_sums(double a, double b, int64_t k) { return a * b * std::sqrt(static_cast<double>(k + 1)); }

Shape with_matrix(const Shape& batch, int64_t rows, int64_t columns) {
    std::vector<int64_t> sizes(batch.begin(), batch.end());
    sizes.insert(sizes.end(), {rows, columns});
    return Shape(sizes.data(), static_cast<int>(sizes.size()));
}

void draw_matmul(OpCall& c) {
    const Shape a = c.any("a", 2, 4);
    const bool transposed = c.option("transposed", c.one_in(2));
    c.precision();
    const int64_t k = a[-1], n = transposed && c.one_in(5) ? a[-2] : c.columns(a.without(-1).numel(), k);
    const Shape leading = a.without(-1).without(-1);
    Shape batch = c.one_in(3) ? Shape{} : c.narrowed(leading);
    if (leading.rank() == 0 && k * n < 40 && c.one_in(3))
        batch = {1 + c.below(3)};
    c.input("b", transposed ? with_matrix(batch, n, k) : with_matrix(batch, k, n));
    c.most = size_of_sums(c.largest(0), c.largest(1), k);
    c.returns([=](const Inputs& x) { return matmul(x[0], x[1], transposed); });
}

Tensor or_none(const Inputs& x, std::size_t i) { return i < x.size() ? x[i] : Tensor(); }

template <class F>
void draw_linear(OpCall& c, bool transposed, const F& f) {
    const Shape s = c.any("x", 1, 4);
    const int64_t k = s[-1], n = c.columns(s.without(-1).numel(), k);
    c.precision();
    c.input("weight", transposed ? Shape{n, k} : Shape{k, n}, kSmall);
    if (c.one_in(2) || c.one_in(2))
        c.input("bias", {n});
    c.most = size_of_sums(c.largest(0), c.largest(1), k) + 2;
    c.returns([=](const Inputs& x) { return f(x[0], x[1], or_none(x, 2)); });
}

// What relu is taken of, if it is.
template <class Hidden>
void bend(OpCall& c, Activation f, const Hidden& hidden) {
    if (f == Activation::relu)
        c.kinks = hidden;
}

void draw_glu(OpCall& c) {
    const Activation f = c.activation();
    const int64_t n = c.columns(4, 2);
    c.input("x", c.shape(1, 3).with(-1, 2 * n));
    bend(c, f, [=](const Inputs& x) { return slice(x[0].detach(), -1, 0, n); });
    c.most = c.largest(0) * c.largest(0);
    c.returns([=](const Inputs& x) { return glu(x[0], f); });
}

void draw_feed_forward(OpCall& c) {
    const bool gated = c.option("gated", c.one_in(2)), biased = !c.one_in(4);
    const Activation f = c.activation();
    c.precision();
    const Shape s = c.any("x", 1, 4);
    const int64_t k = s[-1], rows = s.without(-1).numel(), hidden = c.columns(2 * rows, k);
    const int64_t n = c.columns(rows, hidden), first = gated ? 2 * hidden : hidden;
    c.input("w1", {k, first}, kSmall);
    c.input("w2", {hidden, n}, kSmall);
    if (biased) {
        c.input("b1", {first});
        c.input("b2", {n});
    }
    bend(c, f, [=](const Inputs& x) {
        const Tensor h = linear(x[0], x[1], or_none(x, 3)).detach();
        return gated ? slice(h, -1, 0, hidden) : h;
    });
    const double one = size_of_sums(c.largest(0), c.largest(1), k) + 2;
    c.most = size_of_sums(gated ? one * one : one, c.largest(2), hidden) + 2;
    c.returns([=](const Inputs& x) {
        return feed_forward(x[0], x[1], or_none(x, 3), x[2], or_none(x, 4), f, gated);
    });
}

}  // namespace

std::vector<OpRow> product_rows() {
    return {
        {"matmul", "product(c, a, b.mT if transposed else b)", draw_matmul},
        {"linear", "with_bias(product(c, x, weight), bias)",
         [](OpCall& c) { draw_linear(c, false, linear); }},
        {"linear_transposed", "with_bias(product(c, x, weight.mT), bias)",
         [](OpCall& c) { draw_linear(c, true, linear_transposed); }},
        {"glu", "glu(c, x)", draw_glu},
        {"feed_forward", "feed_forward(c)", draw_feed_forward},
    };
}

}  // namespace plaingrad::tests
