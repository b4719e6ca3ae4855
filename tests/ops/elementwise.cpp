// Rows of the table of ops: elementwise ones, comparisons, choices.
#include <cmath>
#include <limits>

#include "tests/ops.h"

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
    constexpr auto inf = std::numeric_limits<Real>::infinity();
    const Real low = c.option("low", c.one_of<Real>({Real(-1.25), Real(-0.25), Real(0.25), -inf}));
    const Real high = c.option("high", c.one_of<Real>({Real(0.26), Real(0.75), Real(1.25), inf}));
    c.any("x", 0, 4);
    c.exact = true;
    c.kinks = [=](const Inputs& x) {
        const Tensor all = reshape(x[0].detach(), {-1});
        return concat({all - low, all - high}, 0);
    };
    c.returns([=](const Inputs& x) { return clamp(x[0], low, high); });
}

}  // namespace

std::vector<OpRow> elementwise_rows() {
    return {
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
}

}  // namespace plaingrad::tests
