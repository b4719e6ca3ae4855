// Ops on elements, and comparisons.
#include "tests/trust/peers/ops.h"

namespace plaingrad::trust {

using namespace autograd;  // NOLINT

namespace {

using Two = Tensor (*)(const Tensor&, const Tensor&);
using One = Tensor (*)(const Tensor&);
using Assign = Tensor& (*)(Tensor&, const Tensor&);

// Two tensors that broadcast, a tensor with itself, or with a number on one side.
template <class F>
void draw_two(OpCase& c, Dice& draw, const F& f, bool positive = false) {
    const auto numbers = [&](const Shape& s) {
        return positive ? any_numbers(draw, s, 0.3, 2) : any_numbers(draw, s);
    };
    const Shape all = any_shape(draw, 0, 4);
    const Real number = positive ? Real(1.75) : draw.one_of<Real>({0, 1, Real(-1.75)});
    const int64_t way = c.option("way", draw.one_in(4) ? 1 + draw.below(3) : 0);
    const bool first = draw.one_in(2);
    const Tensor a = c.leaf("a", numbers(way == 0 && first ? any_narrowed(draw, all) : all));
    if (way == 1)
        return c.returns([=] { return f(a, a); });
    if (way > 1) {
        c.option("number", number);
        return c.returns([=] { return way == 2 ? f(a, number) : f(number, a); });
    }
    const Tensor b = c.leaf("b", numbers(first && draw.one_in(2) ? all : any_narrowed(draw, all)));
    c.returns([=] { return f(a, b); });
}

void draw_one(OpCase& c, Dice& draw, One f, double low, double high) {
    const Tensor x = c.leaf("x", any_numbers(draw, any_shape(draw, 0, 4), low, high));
    c.returns([=] { return f(x); });
}

void draw_assignment(OpCase& c, Dice& draw, Assign f, bool positive) {
    const Shape all = any_shape(draw, 0, 3);
    const Tensor a = c.leaf("a", any_numbers(draw, all));
    const Tensor b = c.leaf("b", any_numbers(draw, any_narrowed(draw, all), positive ? 0.3 : -2, 2));
    c.option("way", 0);
    c.returns([=] {
        Tensor y = a;
        return f(y, b);
    });
}

void draw_where(OpCase& c, Dice& draw) {
    const Shape all = any_shape(draw, 0, 4);
    const Tensor condition = c.constant("condition", any_numbers(draw, any_narrowed(draw, all)) < 0);
    const bool first = draw.one_in(2);
    const Tensor a = c.leaf("a", any_numbers(draw, first ? any_narrowed(draw, all) : all));
    const Tensor b = c.leaf("b", any_numbers(draw, first ? all : any_narrowed(draw, all)));
    c.returns([=] { return where(condition, a, b); });
}

void draw_pow(OpCase& c, Dice& draw) {
    const Real p = c.option("p", draw.one_of<Real>({-2, -1, Real(-0.5), 0, Real(0.5), Real(0.7), 1, Real(1.5),
                                                    2, 3, Real(3.3), 8}));
    const bool whole = std::floor(p) == p && p >= 0;
    const Tensor x = c.leaf("x", any_numbers(draw, any_shape(draw, 0, 4), whole ? -2 : 0.3, 2));
    c.returns([=] { return pow(x, p); });
}

// No bound is a number that any_numbers repeats: there PyTorch 1.13 lets the gradient pass, as we do, and
// 2.15 does not.
void draw_clamp(OpCase& c, Dice& draw) {
    constexpr auto inf = std::numeric_limits<Real>::infinity();
    const Real low = c.option("low", draw.one_of<Real>({Real(-1.25), Real(-0.25), Real(0.25), -inf}));
    const Real high = c.option("high", draw.one_of<Real>({Real(0.25), Real(0.75), Real(1.25), inf}));
    const Tensor x = c.leaf("x", any_numbers(draw, any_shape(draw, 0, 4)));
    c.returns([=] { return clamp(x, low, high); });
}

void draw_activation(OpCase& c, Dice& draw) {
    const Activation f = any_activation(c, draw);
    const Tensor x = c.leaf("x", any_numbers(draw, any_shape(draw, 0, 4), -6, 6));
    c.returns([=] { return activation(x, f); });
}

void draw_minus(OpCase& c, Dice& draw) {
    if (c.option("unary", draw.one_in(3)))
        draw_one(c, draw, autograd::operator-, -2, 2);
    else
        draw_two(c, draw, Two(autograd::operator-));
}

void add_two(OpKinds& kinds) {
    const std::map<std::string, Two> two = {
        {"add", add},
        {"sub", sub},
        {"mul", mul},
        {"div", div},
        {"maximum", maximum},
        {"minimum", minimum},
        {"operator+", (autograd::operator+)},
        {"operator*", (autograd::operator*)},
        {"operator/", (autograd::operator/)},
        {"operator<", (autograd::operator<)},
        {"operator<=", (autograd::operator<=)},
        {"operator>", (autograd::operator>)},
        {"operator>=", (autograd::operator>=)},
        {"operator==", (autograd::operator==)},
        {"operator!=", (autograd::operator!=)},
    };
    for (const auto& [name, op] : two) {
        const bool divides = name == "div" || name == "operator/";
        kinds[name] = [f = op, divides](OpCase& c, Dice& draw) { draw_two(c, draw, f, divides); };
    }
    const std::map<std::string, Assign> assignments = {{"operator+=", (autograd::operator+=)},
                                                       {"operator-=", (autograd::operator-=)},
                                                       {"operator*=", (autograd::operator*=)},
                                                       {"operator/=", (autograd::operator/=)}};
    for (const auto& [name, op] : assignments)
        kinds[name] = [f = op, divides = name == "operator/="](OpCase& c, Dice& draw) {
            draw_assignment(c, draw, f, divides);
        };
}

void add_one(OpKinds& kinds) {
    struct Function {
        One f;
        double low, high;
    };
    const std::map<std::string, Function> one = {
        {"neg", {neg, -2, 2}},
        {"exp", {exp, -20, 20}},
        {"log", {log, 0.01, 50}},
        {"sqrt", {sqrt, 0.01, 50}},
        {"tanh", {tanh, -12, 12}},
        {"sigmoid", {sigmoid, -30, 30}},
        {"abs", {abs, -2, 2}},
        {"relu", {relu, -2, 2}},
        {"silu", {silu, -20, 20}},
        {"gelu", {gelu, -6, 6}},
        {"gelu_tanh", {gelu_tanh, -6, 6}},
        {"to_bf16", {to_bf16, -2, 2}},
        {"gradient_to_bf16", {gradient_to_bf16, -2, 2}},
    };
    for (const auto& [name, function] : one)
        kinds[name] = [r = function](OpCase& c, Dice& draw) { draw_one(c, draw, r.f, r.low, r.high); };
}

}  // namespace

void add_elementwise(OpKinds& kinds) {
    add_two(kinds);
    add_one(kinds);
    kinds["operator-"] = draw_minus;
    kinds["where"] = draw_where;
    kinds["pow"] = draw_pow;
    kinds["clamp"] = draw_clamp;
    kinds["activation"] = draw_activation;
}

}  // namespace plaingrad::trust
