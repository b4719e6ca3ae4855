// Of the table of ops: elementwise ones, comparisons, choices.
#include <cmath>

#include "tests/ops/family.h"

namespace plaingrad::tests {

using namespace autograd;  // NOLINT

namespace {

using One = Tensor (*)(const Tensor&);
using Two = Tensor (*)(const Tensor&, const Tensor&);
using Assign = Tensor& (*)(Tensor&, const Tensor&);
using Size = double (*)(double a, double b);  // of a result, from those of the operands

// Two tensors that broadcast, or a tensor with a number on one side.
template <class F>
void draw_two(OpCall& c, const F& f, Size size, const Numbers& of_b = {}) {
    const int64_t way = c.one_in(4) ? 2 + c.below(2) : 0;
    c.most = size(2, 2);
    if (way == 2) {
        c.any("a", 0, 4);
        const Real number = c.option("number", c.one_of<Real>({1, Real(1.75), Real(-1.75)}));
        return c.returns([=](const Inputs& x) { return f(x[0], number); });
    }
    if (way == 3) {
        c.any("b", 0, 4, of_b);
        const Real number = c.option("number", c.one_of<Real>({0, Real(1.75), Real(-1.75)}));
        return c.returns([=](const Inputs& x) { return f(number, x[0]); });
    }
    const bool b_first = c.one_in(2);
    const Shape s = c.any(b_first ? "b" : "a", 0, 4, b_first ? of_b : Numbers{});
    c.input(b_first ? "a" : "b", c.one_in(3) ? s : c.beside(s), b_first ? Numbers{} : of_b);
    c.most = size(c.largest(b_first), c.largest(!b_first));
    c.returns([=](const Inputs& x) { return f(x[b_first], x[!b_first]); });
}

constexpr Numbers kWide = {Domain::any, -30, 30}, kNarrow = {Domain::any, -6, 6},
                  kLogarithm = {Domain::positive, 0.01, 50};

double sum_of(double a, double b) { return a + b; }
double product_of(double a, double b) { return a * b; }
double largest_of(double a, double b) { return std::fmax(a, b); }
double quotient(double a, double) { return a / 0.3; }
double truth(double, double) { return 1; }

OpRow two(const char* name, const char* torch, Two f, Size size, const Numbers& of_b = {}) {
    return {name, torch, [=](OpCall& c) { draw_two(c, f, size, of_b); }};
}

OpRow assign(const char* name, const char* torch, Assign f, Size size, const Numbers& of_b = {}) {
    return {name, torch, [=](OpCall& c) {
                const Shape s = c.any("a", 0, 3);
                c.input("b", c.narrowed(s), of_b);
                c.most = size(c.largest(0), c.largest(1));
                c.returns([f](const Inputs& x) {
                    Tensor y = x[0];
                    return f(y, x[1]);
                });
            }};
}

// The sign of a - b decides.
Tensor difference(const Inputs& x) { return x[0].detach() - (x.size() > 1 ? x[1].detach() : Tensor(0)); }

OpRow comparison(const char* name, const char* torch, Two f) {
    return {name, torch,
            [f](OpCall& c) {
                draw_two(c, f, truth);
                c.exact = true;
                c.kinks = difference;
            },
            false};
}

OpRow choice(const char* name, const char* torch, Two f) {
    return {name, torch, [f](OpCall& c) {
                draw_two(c, f, largest_of);
                c.exact = c.sums = true;
                c.kinks = difference;
            }};
}

void draw_where(OpCall& c) {
    const bool a_first = c.one_in(2);
    const Shape all = c.any(a_first ? "a" : "b", 0, 4);
    c.input(a_first ? "b" : "a", c.narrowed(all));
    const Shape s = c.narrowed(all);
    std::vector<Real> bits;
    for (int64_t i = 0; i < s.numel(); ++i)
        bits.push_back(static_cast<Real>(c.below(2)) * c.one_of<Real>({1, -1, Real(0.5)}));
    const Tensor condition = c.constant("condition", Tensor::from(s, bits));
    c.exact = c.sums = true;
    c.returns([=](const Inputs& x) { return where(condition, x[!a_first], x[a_first]); });
}

// A function of each number. `most`: about how large it is; 0: as the numbers.
OpRow function(const char* name, const char* torch, One f, const Numbers& range, double most = 0,
               double terms = 0) {
    return {name, torch, [=](OpCall& c) {
                c.any("x", 0, 4, range);
                c.most = most;
                if (terms > 0)
                    c.terms = [terms](const Inputs&) { return terms; };
                c.returns([f](const Inputs& x) { return f(x[0]); });
            }};
}

// A number or its negative, or none.
OpRow sign(const char* name, const char* torch, One f, bool has_kink) {
    return {name, torch, [=](OpCall& c) {
                c.any("x", 0, 4);
                c.exact = true;
                if (has_kink)
                    c.kinks = difference;
                c.returns([f](const Inputs& x) { return f(x[0]); });
            }};
}

OpRow rounding(const char* name, const char* torch, One f) {
    return {name, torch, [f](OpCall& c) {
                c.any("x", 0, 4);
                c.bf16 = true;
                c.returns([f](const Inputs& x) { return f(x[0]); });
            }};
}

void draw_activation(OpCall& c) {
    const Activation f = c.activation();
    c.any("x", 0, 4, kNarrow);
    if (f == Activation::relu)
        c.kinks = difference;
    c.returns([f](const Inputs& x) { return activation(x[0], f); });
}

void draw_pow(OpCall& c) {
    const Real p = c.option("p", c.one_of<Real>({-2, -1, Real(-0.5), 0, Real(0.3), Real(0.5), Real(0.7), 1,
                                                 Real(1.5), 2, 3, Real(3.3), 8}));
    const bool whole = std::floor(p) == p;
    c.any("x", 0, 4, !whole ? kPositive : p < 0 ? kNonzero : Numbers{Domain::bounded});
    c.most = std::pow(std::fmax(2.5, c.largest(0)), std::fabs(static_cast<double>(p)));
    c.returns([p](const Inputs& x) { return pow(x[0], p); });
}

// No bound is a number that inputs repeat: there PyTorch 1.13 lets the gradient pass, as we do, and 2.15 does
// not.
void draw_clamp(OpCall& c) {
    const Real low = c.option("low", c.one_of<Real>({Real(-1.25), Real(-0.25), Real(0.25), -kInf}));
    const Real high = c.option("high", c.one_of<Real>({Real(0.26), Real(0.75), Real(1.25), kInf}));
    c.any("x", 0, 4);
    c.exact = true;
    c.kinks = [=](const Inputs& x) {
        const Tensor all = reshape(x[0].detach(), {-1});
        return concat({all - low, all - high}, 0);
    };
    c.returns([=](const Inputs& x) { return clamp(x[0], low, high); });
}

const std::vector<OpRow> kOpRows = {
    two("add", "a + b", add, sum_of),
    two("sub", "a - b", sub, sum_of),
    two("mul", "a * b", mul, product_of),
    two("div", "a / b", div, quotient, kNonzero),
    two("operator+", "a + b", (autograd::operator+), sum_of),
    two("operator-", "a - b", (autograd::operator-), sum_of),
    two("operator*", "a * b", (autograd::operator*), product_of),
    two("operator/", "a / b", (autograd::operator/), quotient, kNonzero),
    assign("operator+=", "a + b", (autograd::operator+=), sum_of),
    assign("operator-=", "a - b", (autograd::operator-=), sum_of),
    assign("operator*=", "a * b", (autograd::operator*=), product_of),
    assign("operator/=", "a / b", (autograd::operator/=), quotient, kNonzero),
    comparison("operator<", "(a < b).to(b.dtype)", (autograd::operator<)),
    comparison("operator<=", "(a <= b).to(b.dtype)", (autograd::operator<=)),
    comparison("operator>", "(a > b).to(b.dtype)", (autograd::operator>)),
    comparison("operator>=", "(a >= b).to(b.dtype)", (autograd::operator>=)),
    comparison("operator==", "(a == b).to(b.dtype)", (autograd::operator==)),
    comparison("operator!=", "(a != b).to(b.dtype)", (autograd::operator!=)),
    choice("maximum", "torch.maximum(a, b)", maximum),
    choice("minimum", "torch.minimum(a, b)", minimum),
    {"where", "torch.where(condition != 0, a, b)", draw_where},
    sign("neg", "-x", neg, false),
    sign("operator-", "-x", (autograd::operator-), false),
    function("exp", "x.exp()", exp, {Domain::bounded, -20, 20}, 3, 3),
    function("log", "x.log()", log, kLogarithm, 8),
    function("sqrt", "x.sqrt()", sqrt, kLogarithm),
    // Near 1, 1 - tanh² keeps the whole rounding error of tanh, however small it is itself.
    function("tanh", "x.tanh()", tanh, kWide, 0, 1),
    function("sigmoid", "x.sigmoid()", sigmoid, kWide, 0, 1),
    sign("abs", "x.abs()", abs, true),
    sign("relu", "F.relu(x)", relu, true),
    function("silu", "F.silu(x)", silu, kWide),
    function("gelu", "F.gelu(x)", gelu, kNarrow),
    function("gelu_tanh", "F.gelu(x, approximate='tanh')", gelu_tanh, kNarrow),
    rounding("to_bf16", "ToBf16.apply(x)", to_bf16),
    rounding("gradient_to_bf16", "GradientToBf16.apply(x)", gradient_to_bf16),
    {"activation", "ACTIVATIONS[activation](x)", draw_activation},
    {"pow", "x.pow(p)", draw_pow},
    {"clamp", "x.clamp(low, high)", draw_clamp},
};

std::vector<Known> values() {
    const Tensor few = vec({-2, -0.5, 0, 1, 3}), bad = vec({1, 2, 3, kNan, -kInf, 0}),
                 other = vec({2, 2, 2, 1, -kInf, -0.0}), row = vec({1, 2}), column = tensor({2, 1}, {10, 20}),
                 edges = vec({-3, -1, 0, 2, 5, kNan, kInf, -kInf}), steps = vec({1, 2, 3, 4, 5}),
                 a = vec({1, 2, 3, kNan, 5}), b = vec({2, 2, 2, 1, kNan}), grid = counting({2, 3}) + 1;
    return {
        KNOWN(add(row, column), tensor({2, 2}, {11, 12, 21, 22})),
        KNOWN(sub(column, row), tensor({2, 2}, {9, 8, 19, 18})),
        KNOWN(mul(row, column), tensor({2, 2}, {10, 20, 20, 40})),
        KNOWN(div(row, column), tensor({2, 2}, {0.1, 0.2, 0.05, 0.1})),
        KNOWN(few + 1, vec({-1, 0.5, 1, 2, 4})),
        KNOWN(2 - few, vec({4, 2.5, 2, 1, -1})),
        KNOWN(few * 2, vec({-4, -1, 0, 2, 6})),
        KNOWN(6 / few, vec({-3, -12, kInf, 6, 2})),
        KNOWN(-few, vec({2, 0.5, 0, -1, -3})),
        KNOWN(neg(few), vec({2, 0.5, 0, -1, -3})),
        KNOWN(bad < other, vec({1, 0, 0, 0, 0, 0})),
        KNOWN(bad <= other, vec({1, 1, 0, 0, 1, 1})),
        KNOWN(bad > other, vec({0, 0, 1, 0, 0, 0})),
        KNOWN(bad >= other, vec({0, 1, 1, 0, 1, 1})),
        KNOWN(bad == other, vec({0, 1, 0, 0, 1, 1})),
        KNOWN(bad != other, vec({1, 0, 1, 1, 0, 0})),
        KNOWN(bad > 1, vec({0, 1, 1, 0, 0, 0})),
        KNOWN(bad <= 2, vec({1, 1, 0, 0, 1, 1})),
        KNOWN(vec({0, 1, 2}) < tensor({2, 1}, {0, 1}), tensor({2, 3}, {0, 0, 0, 1, 0, 0})),
        KNOWN(maximum(a, b), vec({2, 2, 3, kNan, kNan})),
        KNOWN(maximum(few, 0), vec({0, 0, 0, 1, 3})),
        SLOPE(maximum(x, b), a, steps, vec({0, 1, 3, 4, 5})),  // equal numbers share it
        SLOPE(maximum(a, x), b, steps, vec({1, 1, 0, 4, 5})),
        KNOWN(minimum(a, b), vec({1, 2, 2, kNan, kNan})),
        SLOPE(minimum(x, 2), vec({1, 2, 3}), vec({1, 2, 3}), vec({1, 1, 0})),
        KNOWN(where(vec({1, 0, -0.5, kNan}), vec({1, kNan, 3, 4}), vec({kNan, 6, kInf, kNan})),
              vec({1, 6, 3, 4})),
        KNOWN(where(tensor({2, 3}, {1, 0, 1, 0, 0, 1}), vec({10, 20, 30}), tensor({2, 1}, {7, 8})),
              tensor({2, 3}, {10, 7, 30, 8, 8, 30})),
        KNOWN(where(vec({1, 0}), 5, row), vec({5, 2})),
        KNOWN(where(vec({1, 0}), row, 5), vec({1, 5})),
        // Nothing passes on from what is not chosen, not even NaN; and what is repeated gets a sum.
        SLOPE(where(vec({1, 0, -0.5, kNan}), x, 0), vec({1, kNan, 3, 4}), vec({1, kNan, 3, kInf}),
              vec({1, 0, 3, kInf})),
        SLOPE(where(vec({1, 0, -0.5, kNan}), 0, x), vec({kNan, 6, kInf, kNan}), vec({1, kNan, 3, kInf}),
              vec({0, kNan, 0, 0})),
        SLOPE(where(tensor({2, 3}, {1, 0, 1, 0, 0, 1}), x, 0), vec({10, 20, 30}), grid, vec({1, 0, 9})),
        SLOPE(where(tensor({2, 3}, {1, 0, 1, 0, 0, 1}), 0, x), tensor({2, 1}, {7, 8}), grid,
              tensor({2, 1}, {2, 9})),
        KNOWN(exp(few), vec({0.135335283, 0.60653066, 1, 2.71828183, 20.0855369})),
        KNOWN(log(vec({0.5, 1, 10})), vec({-0.693147181, 0, 2.30258509})),
        KNOWN(sqrt(vec({0.25, 0, 2})), vec({0.5, 0, 1.41421356})),
        KNOWN(tanh(few), vec({-0.96402758, -0.462117157, 0, 0.761594156, 0.995054754})),
        KNOWN(sigmoid(few), vec({0.119202922, 0.377540669, 0.5, 0.731058579, 0.952574127})),
        KNOWN(abs(few), vec({2, 0.5, 0, 1, 3})),
        KNOWN(relu(few), vec({0, 0, 0, 1, 3})),
        SLOPE(relu(x), vec({-1, 0, 2}), vec({kInf, kInf, kInf}), vec({0, 0, kInf})),
        KNOWN(silu(few), vec({-0.238405844, -0.188770334, 0, 0.731058579, 2.85772238})),
        KNOWN(gelu(few), vec({-0.0455002639, -0.154268769, 0, 0.841344746, 2.99595031})),
        KNOWN(gelu_tanh(few), vec({-0.0454023059, -0.15428599, 0, 0.841191991, 2.99636261})),
        KNOWN(activation(few, Activation::relu), relu(few)),
        KNOWN(activation(few, Activation::silu), silu(few)),
        KNOWN(activation(few, Activation::gelu), gelu(few)),
        KNOWN(activation(few, Activation::gelu_tanh), gelu_tanh(few)),
        KNOWN(pow(few, 2), vec({4, 0.25, 0, 1, 9})),
        KNOWN(pow(few, 3), vec({-8, -0.125, 0, 1, 27})),
        KNOWN(pow(few, -1), vec({-0.5, -2, kInf, 1, 1.0 / 3})),
        KNOWN(pow(few, 0), vec({1, 1, 1, 1, 1})),
        KNOWN(pow(few, Real(0.5)), vec({kNan, kNan, 0, 1, 1.73205081})),
        KNOWN(pow(vec({0, 4}), Real(1.5)), vec({0, 8})),
        KNOWN(pow(vec({kNan, kInf}), 0), vec({1, 1})),
        SLOPE(pow(x, 2), few, steps, vec({-4, -2, 0, 8, 30})),
        SLOPE(pow(x, 1), few, steps, steps),
        SLOPE(pow(x, 0), few, steps, Tensor::zeros({5})),
        SLOPE(pow(x, Real(1.5)), vec({0, 4}), vec({1, 2}), vec({0, 6})),
        KNOWN(clamp(edges, -1, 2), vec({-1, -1, 0, 2, 2, kNan, 2, -1})),
        KNOWN(clamp(edges, 3, -4), vec({-4, -4, -4, -4, -4, kNan, -4, -4})),
        KNOWN(clamp(edges, 0, kInf), vec({0, 0, 0, 2, 5, kNan, kInf, 0})),
        SLOPE(clamp(x, -1, 2), vec({-3, -1, 2, 5, kNan}), steps, vec({0, 2, 3, 0, 5})),  // and at the bounds
        // Half-way numbers go to the even one of their neighbours.
        KNOWN(to_bf16(vec({1 + 0x1p-8, 1 + 0x3p-8, 0x1p-130, -3})), vec({1, 1 + 0x1p-6, 0, -3})),
        KNOWN(gradient_to_bf16(vec({1 + 0x1p-8})), vec({1 + 0x1p-8})),
        SLOPE(gradient_to_bf16(x), vec({5, 5}), vec({1 + 0x1p-8, 1 + 0x3p-8}), vec({1, 1 + 0x1p-6})),
    };
}

const Calls kWrongCalls = {
    CALL(add(kNone, t({2}))),
    CALL(add(t({2}), kNone)),
    CALL(add(t({2, 3}), t({2}))),
    CALL(sub(kNone, t({2}))),
    CALL(sub(t({2, 3}), t({3, 2}))),
    CALL(mul(t({2}), kNone)),
    CALL(mul(t({4, 3}), t({2, 3}))),
    CALL(div(kNone, kNone)),
    CALL(div(t({0}), t({2}))),
    CALL(maximum(kNone, t({2}))),
    CALL(maximum(t({2, 3}), t({2}))),
    CALL(minimum(t({2}), kNone)),
    CALL(minimum(t({2, 3}), t({2}))),
    CALL(where(kNone, 1, 2)),
    CALL(where(t({2}), kNone, 2)),
    CALL(where(t({2}), 1, kNone)),
    CALL(where(t({2}), t({3}), 1)),
    CALL(neg(kNone)),
    CALL(exp(kNone)),
    CALL(log(kNone)),
    CALL(sqrt(kNone)),
    CALL(tanh(kNone)),
    CALL(sigmoid(kNone)),
    CALL(abs(kNone)),
    CALL(pow(kNone, 2)),
    CALL(clamp(kNone, 0, 1)),
    CALL(relu(kNone)),
    CALL(silu(kNone)),
    CALL(gelu(kNone)),
    CALL(gelu_tanh(kNone)),
    CALL(activation(kNone, kRelu)),
    CALL(to_bf16(kNone)),
    CALL(gradient_to_bf16(kNone)),
    CALL(kNone + 1),
    CALL(1 - kNone),
    CALL(-kNone),
    CALL(kNone < t({2})),
    CALL(t({2}) <= t({3})),
    CALL(t({2}) == kNone),
    CALL(t({2}) != t({3})),
    CALL(t({2}) > t({3})),
    CALL(t({2}) >= kNone),
};

}  // namespace

const OpFamily kElementwise = {kOpRows, values, kWrongCalls};

}  // namespace plaingrad::tests
