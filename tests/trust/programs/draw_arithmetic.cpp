// Elementwise ops: of one tensor, of two, and selection.
#include <cmath>
#include <limits>

#include "autograd/base/check.h"
#include "tests/trust/programs/draw.h"

namespace plaingrad::trust {
namespace {

using autograd::Activation;
using autograd::join;

void draw_smooth(Draw& d) {
    struct Function {
        const char* name;
        Tensor (*call)(const Tensor&);
        bool cancels;  // in its derivative: (1 - y)(1 + y), y (1 - y)
    };
    static constexpr Function kFunctions[] = {
        {"tanh", autograd::tanh, true},
        {"sigmoid", autograd::sigmoid, true},
        {"silu", autograd::silu, false},
        {"gelu", autograd::gelu, false},
        {"gelu_tanh", autograd::gelu_tanh, false},
    };
    const Function f = kFunctions[d.below(std::size(kFunctions))];
    // Where y is near 1, 1 - y keeps the whole rounding error of y, however small it is itself.
    const Terms terms = f.cancels ? Terms([](const Inputs&) { return 1.0; }) : Terms();
    d.op(f.name, {d.any()}, [f](const Inputs& x, Branches&) { return f.call(x[0]); }, {.terms = terms});
}

// Within their domains: of what is squared, or between -1 and 1.
void draw_restricted(Draw& d) {
    const int x = d.any();
    const double size = d.size_of(x);
    switch (d.below(4)) {
        case 0:
            d.op("exp", {x}, [](const Inputs& in, Branches&) { return exp(tanh(in[0])); },
                 // e is the largest derivative of exp here, and that of tanh cancels.
                 {.arguments = "of its tanh", .size = 3, .terms = [](const Inputs&) { return 3.0; }});
            break;
        case 1:
            d.op("log", {x}, [](const Inputs& in, Branches&) { return log(in[0] * in[0] + Real(0.5)); },
                 {.arguments = "of its square + 0.5", .size = 2 * std::log1p(size)});
            break;
        case 2:
            d.op("sqrt", {x}, [](const Inputs& in, Branches&) { return sqrt(in[0] * in[0] + Real(0.5)); },
                 {.arguments = "of its square + 0.5", .size = size + 1});
            break;
        default: {
            const Real p = d.one_of<Real>({-1, Real(-0.5), 0, Real(0.3), Real(0.5), 1, Real(1.5), 2, 3});
            d.op(
                "pow", {x},
                [p](const Inputs& in, Branches&) { return pow(Real(0.25) * (in[0] * in[0]) + Real(0.5), p); },
                {.arguments = join(p, ", of a quarter of its square + 0.5"),
                 .size = std::pow(0.25 * size * size + 2, std::fabs(static_cast<double>(p)))});
        }
    }
}

void draw_bent(Draw& d) {
    const int x = d.any();
    const double size = d.size_of(x);
    switch (d.below(5)) {
        case 0:
            d.op("relu", {x}, [](const Inputs& in, Branches& b) { return b.sign(in[0]), relu(in[0]); },
                 {.exact = true});
            break;
        case 1:
            d.op("abs", {x}, [](const Inputs& in, Branches& b) { return b.sign(in[0]), abs(in[0]); },
                 {.exact = true});
            break;
        case 2:
            d.op("neg", {x}, [](const Inputs& in, Branches&) { return -in[0]; }, {.exact = true});
            break;
        case 3: {
            const Real infinity = std::numeric_limits<Real>::infinity();
            const Real low = d.chance(0.2) ? -infinity : Real(-1) / static_cast<Real>(1 + d.below(4));
            const Real high = d.chance(0.2) ? infinity : Real(1) / static_cast<Real>(1 + d.below(4));
            d.op("clamp", {x},
                 [=](const Inputs& in, Branches& b) {
                     const Tensor raw = in[0].detach();
                     b.sign(raw - low);
                     b.sign(raw - high);
                     return clamp(in[0], low, high);
                 },
                 {.arguments = join(low, ", ", high), .exact = true, .size = size});
            break;
        }
        default: {
            const auto f = static_cast<Activation>(d.below(static_cast<int>(Activation::count)));
            d.op("activation", {x},
                 [f](const Inputs& in, Branches& b) {
                     if (f == Activation::relu)
                         b.sign(in[0]);
                     return activation(in[0], f);
                 },
                 {.arguments = autograd::kActivationNames[static_cast<int>(f)]});
        }
    }
}

// The shape of an operand beside x: x's own, or one that is broadcast to it.
Shape beside(Draw& d, const Shape& x) {
    if (d.chance(0.6))
        return x;
    std::vector<int64_t> sizes(x.begin(), x.end());
    for (int64_t& size : sizes)
        if (d.chance(0.4))
            size = 1;
    const int64_t from = d.below(x.rank() + 1);
    return Shape(sizes.data() + from, x.rank() - static_cast<int>(from));
}

void draw_pair(Draw& d) {
    int a = d.any(), b = d.chance(0.25) ? a : d.like(beside(d, d.shape_of(a)));
    if (d.chance(0.5))
        std::swap(a, b);
    const double x = d.size_of(a), y = d.size_of(b);
    switch (d.below(8)) {
        case 0:
            d.op("add", {a, b}, [](const Inputs& in, Branches&) { return in[0] + in[1]; }, {.size = x + y});
            break;
        case 1:
            d.op("sub", {a, b}, [](const Inputs& in, Branches&) { return in[0] - in[1]; }, {.size = x + y});
            break;
        case 2:
            d.op("mul", {a, b}, [](const Inputs& in, Branches&) { return in[0] * in[1]; }, {.size = x * y});
            break;
        case 3:
            d.op("div", {a, b},
                 [](const Inputs& in, Branches&) { return in[0] / (in[1] * in[1] + Real(0.5)); },
                 {.arguments = "the second squared + 0.5", .size = 2 * x});
            break;
        case 4:
        case 5: {
            const bool larger = d.chance(0.5);
            d.op(larger ? "maximum" : "minimum", {a, b},
                 [larger](const Inputs& in, Branches& branches) {
                     branches.sign(in[0].detach() - in[1].detach());
                     return larger ? maximum(in[0], in[1]) : minimum(in[0], in[1]);
                 },
                 {.exact = true, .sums = true, .size = std::max(x, y)});
            break;
        }
        default:
            d.op("operator+=", {a, b},
                 [](const Inputs& in, Branches&) {
                     Tensor t = in[0];
                     t *= in[1];
                     t -= in[0];
                     t += in[1];
                     t /= Real(2);
                     return t;
                 },
                 {.arguments = "and *=, -=, /=", .size = (x * y + x + y) / 2});
    }
}

Tensor compared(int64_t how, const Tensor& a, const Tensor& b) {
    switch (how) {
        case 0:
            return a < b;
        case 1:
            return a <= b;
        case 2:
            return a == b;
        case 3:
            return a != b;
        case 4:
            return a > b;
        default:
            return a >= b;
    }
}

void draw_choice(Draw& d) {
    static constexpr const char* kNames[] = {
        "operator<", "operator<=", "operator==", "operator!=", "operator>", "operator>="};
    const int a = d.any(), b = d.like(beside(d, d.shape_of(a)));
    const int64_t how = d.below(std::size(kNames));
    const int condition = d.op(kNames[how], {a, b},
                               [how](const Inputs& in, Branches& branches) {
                                   branches.sign(in[0].detach() - in[1].detach());
                                   return compared(how, in[0], in[1]);
                               },
                               {.exact = true, .size = 1});
    if (condition < 0)
        return;
    const int other = d.like(beside(d, d.shape_of(condition)));
    d.op("where", {condition, d.chance(0.3) ? other : d.like(d.shape_of(condition)), other},
         [](const Inputs& in, Branches&) { return where(in[0], in[1], in[2]); },
         {.exact = true, .sums = true});
}

}  // namespace

void draw_arithmetic(Draw& d) {
    switch (d.below(8)) {
        case 0:
            return draw_smooth(d);
        case 1:
            return draw_restricted(d);
        case 2:
            return draw_bent(d);
        case 3:
            return draw_choice(d);
        default:
            return draw_pair(d);
    }
}

}  // namespace plaingrad::trust
