// Of the table of ops: products of matrices, and the layers that are made of them.
#include <cmath>

#include "tests/ops/family.h"

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

const std::vector<OpRow> kOpRows = {
    {"matmul", "product(c, a, b.mT if transposed else b)", draw_matmul},
    {"linear", "with_bias(product(c, x, weight), bias)", [](OpCall& c) { draw_linear(c, false, linear); }},
    {"linear_transposed", "with_bias(product(c, x, weight.mT), bias)",
     [](OpCall& c) { draw_linear(c, true, linear_transposed); }},
    {"glu", "glu(c, x)", draw_glu},
    {"feed_forward", "feed_forward(c)", draw_feed_forward},
};

std::vector<Known> values() {
    const Tensor row = vec({1, 2}), four = tensor({2, 2}, {1, 2, 3, 4}), bent = tensor({2, 2}, {1, 0, 0, -1}),
                 column = tensor({2, 1}, {3, 5});
    return {
        KNOWN(matmul(four, four), tensor({2, 2}, {7, 10, 15, 22})),
        KNOWN(matmul(four, four, true), tensor({2, 2}, {5, 11, 11, 25})),
        KNOWN(matmul(counting({2, 2, 1, 2}), counting({2, 2, 1})), tensor({2, 2, 1, 1}, {1, 13, 5, 33})),
        KNOWN(matmul(counting({2, 2, 2}), column), tensor({2, 2, 1}, {5, 21, 37, 53})),
        KNOWN(linear(row, four, vec({10, 20})), vec({17, 30})),
        KNOWN(linear(row, four), vec({7, 10})),
        KNOWN(linear_transposed(row, four, vec({10, 20})), vec({15, 31})),
        KNOWN(glu(tensor({2, 2}, {1, 3, 2, 4}), Activation::silu), tensor({2, 1}, {2.19317574, 7.04637662})),
        KNOWN(feed_forward(row, bent, vec({0, 1}), column, vec({7}), Activation::relu), vec({10})),
        KNOWN(feed_forward(row, bent, {}, tensor({1, 1}, {3}), vec({7}), Activation::relu, true), vec({1})),
    };
}

const Calls kWrongCalls = {
    CALL(matmul(kNone, t({2, 2}))),
    CALL(matmul(t({2, 2}), kNone)),
    CALL(matmul(t({2}), t({2, 2}))),
    CALL(matmul(t({2, 2}), t({2}))),
    CALL(matmul(t({2, 3}), t({2, 3}))),
    CALL(matmul(t({2, 3}), t({3, 2}), true)),
    CALL(matmul(t({2, 3}), t({4, 5}))),
    CALL(matmul(t({2, 2, 3}), t({3, 3, 2}))),
    CALL(linear(kNone, t({2, 2}))),
    CALL(linear(t({2, 2}), kNone)),
    CALL(linear(t({}), t({2, 2}))),
    CALL(linear(t({2, 3}), t({2, 3}))),
    CALL(linear(t({2, 3}), t({3, 2}), t({3}))),
    CALL(linear_transposed(t({2, 3}), kNone)),
    CALL(linear_transposed(t({2, 3}), t({3, 2}))),
    CALL(linear_transposed(t({2, 3}), t({2, 3}), t({3}))),
    CALL(feed_forward(kNone, t({3, 4}), {}, t({4, 3}), {}, kRelu)),
    CALL(feed_forward(t({2, 3}), kNone, {}, t({4, 3}), {}, kRelu)),
    CALL(feed_forward(t({2, 3}), t({3, 4}), {}, kNone, {}, kRelu)),
    CALL(feed_forward(t({2, 3}), t({3, 4}), {}, t({3, 4}), {}, kRelu)),
    CALL(feed_forward(t({2, 3}), t({3, 4}), t({3}), t({4, 3}), {}, kRelu)),
    CALL(feed_forward(t({2, 3}), t({3, 4}), {}, t({4, 3}), t({4}), kRelu)),
    CALL(glu(kNone, kRelu)),
    CALL(glu(t({}), kRelu)),
    CALL(glu(t({2, 3}), kRelu)),
    CALL(feed_forward(kNone, t({3, 4}), {}, t({2, 3}), {}, kRelu, true)),
    CALL(feed_forward(t({2, 3}), kNone, {}, t({2, 3}), {}, kRelu, true)),
    CALL(feed_forward(t({2, 3}), t({3, 5}), {}, t({2, 3}), {}, kRelu, true)),
    CALL(feed_forward(t({2, 3}), t({3, 4}), {}, t({4, 3}), {}, kRelu, true)),
};

}  // namespace

const OpFamily kProducts = {kOpRows, values, kWrongCalls};

}  // namespace plaingrad::tests
