// Elementwise operations and dropout. The formulas themselves: kernels/pointwise.cpp.
#include <cmath>

#include "autograd/broadcast.h"
#include "autograd/inspect.h"
#include "autograd/op.h"
#include "autograd/ops.h"

namespace plaingrad::autograd {
namespace {

using kernels::Binary;
using kernels::Unary;

Tensor binary(Binary f, const char* name, const Tensor& a, const Tensor& b) {
    Tensor out = Tensor::uninitialized(broadcast_shapes(name, a.shape(), b.shape()));
    kernels::cpu().binary(f, broadcast_loop(out.shape(), a.shape(), b.shape()), a.data(), b.data(),
                          {out.mutable_data()});
    return out;
}

// Writes f(dout, b), summed over the broadcast dims to shape `to`, into `sink`. Needs a temporary only if
// something was broadcast.
void pass(Binary f, const Tensor& dout, const Saved& b, const Shape& to, const GradSink& sink) {
    if (sink && to == dout.shape())
        kernels::cpu().binary(f, broadcast_loop(to, to, b.shape()), dout.data(), b.data(), sink.open());
    else if (sink)
        pass_sum(binary(f, "backward", dout, b.tensor()), 1, to, sink);
}

// out = a + sign b   da = dout, db = sign dout, each summed over its broadcast dims
Tensor add_or_sub(Binary f, const char* name, const Tensor& a, const Tensor& b, Real sign) {
    return with_backward(
        name, binary(f, name, a, b), {&a, &b},
        [sign, da = a.sink(), db = b.sink(), as = a.shape(), bs = b.shape()](const Tensor& dout) {
            pass_sum(dout, 1, as, da);
            pass_sum(dout, sign, bs, db);
        });
}

}  // namespace

Tensor add(const Tensor& a, const Tensor& b) { return add_or_sub(Binary::add, "add", a, b, 1); }
Tensor sub(const Tensor& a, const Tensor& b) { return add_or_sub(Binary::sub, "sub", a, b, -1); }

// out = a b          da = dout b, db = dout a
Tensor mul(const Tensor& a, const Tensor& b) {
    Tensor out = binary(Binary::mul, "mul", a, b);
    return with_backward("mul", out, {&a, &b},
                         [da = a.sink(), db = b.sink(), a = a.save(), b = b.save()](const Tensor& dout) {
                             pass(Binary::mul, dout, b, a.shape(), da);
                             pass(Binary::mul, dout, a, b.shape(), db);
                         });
}

// out = a / b        da = dout / b, db = -(dout / b) out
Tensor div(const Tensor& a, const Tensor& b) {
    Tensor out = binary(Binary::div, "div", a, b);
    return with_backward(
        "div", out, {&a, &b},
        [da = a.sink(), db = b.sink(), as = a.shape(), b = b.save(), out = out.save()](const Tensor& dout) {
            pass(Binary::div, dout, b, as, da);
            if (!db)
                return;
            const Tensor quotient = binary(Binary::div, "div", dout, b.tensor());
            pass_sum(binary(Binary::mul, "div", quotient, out.tensor()), -1, b.shape(), db);
        });
}

// out = f(x)         dx = dout f'(x)
static Tensor unary(const char* op, Unary f, const Tensor& x) {
    Tensor out = Tensor::uninitialized(x.shape());
    kernels::cpu().unary(f, x.numel(), x.data(), out.mutable_data());
    const Tensor& keep = kernels::unary_saves_output(f) ? out : x;
    return with_backward(op, out, {&x}, [f, dx = x.sink(), saved = keep.save()](const Tensor& dout) {
        kernels::cpu().unary_backward(f, dout.numel(), saved.data(), dout.data(), dx.open());
    });
}

Tensor neg(const Tensor& x) { return unary("neg", Unary::neg, x); }
Tensor exp(const Tensor& x) { return unary("exp", Unary::exp, x); }
Tensor log(const Tensor& x) { return unary("log", Unary::log, x); }
Tensor sqrt(const Tensor& x) { return unary("sqrt", Unary::sqrt, x); }
Tensor tanh(const Tensor& x) { return unary("tanh", Unary::tanh, x); }
Tensor sigmoid(const Tensor& x) { return unary("sigmoid", Unary::sigmoid, x); }
Tensor abs(const Tensor& x) { return unary("abs", Unary::abs, x); }
Tensor to_bf16(const Tensor& x) { return unary("to_bf16", Unary::to_bf16, x); }
Tensor relu(const Tensor& x) { return unary("relu", Unary::relu, x); }
Tensor silu(const Tensor& x) { return unary("silu", Unary::silu, x); }
Tensor gelu(const Tensor& x) { return unary("gelu", Unary::gelu, x); }
Tensor gelu_tanh(const Tensor& x) { return unary("gelu_tanh", Unary::gelu_tanh, x); }
Tensor activation(const Tensor& x, Activation f) { return unary("activation", kernels::unary_of(f), x); }

// out = x        dx = dout, rounded
Tensor gradient_to_bf16(const Tensor& x) {
    return with_backward(
        "gradient_to_bf16", x.with_shape(x.shape()).detach(), {&x},
        [dx = x.sink()](const Tensor& dout) { pass_sum(to_bf16(dout), 1, dout.shape(), dx); });
}

// out = x m, m = 0 or 1/(1-p)        dx = dout m, with the same m, computed again
Tensor dropout(const Tensor& x, Real p, const Rng& rng) {
    check(p >= 0 && p < 1, "[dropout] the rate must be in [0, 1): got ", p);
    if (p == 0)
        return x;
    Tensor out = Tensor::uninitialized(x.shape());
    kernels::cpu().dropout(x.numel(), p, rng.key(), x.data(), {out.mutable_data()});
    return with_backward("dropout", out, {&x}, [p, key = rng.key(), dx = x.sink()](const Tensor& dout) {
        kernels::cpu().dropout(dout.numel(), p, key, dout.data(), dx.open());
    });
}

// ---- comparison and selection

Tensor operator<(const Tensor& a, const Tensor& b) { return binary(Binary::less, "<", a, b); }
Tensor operator==(const Tensor& a, const Tensor& b) { return binary(Binary::equal, "==", a, b); }
Tensor operator!=(const Tensor& a, const Tensor& b) { return 1 - (a == b); }
Tensor operator<=(const Tensor& a, const Tensor& b) { return (a < b) + (a == b); }  // a NaN is neither

// out = a where c is not 0, else b        da = dout where c is not 0,  db = dout where it is
Tensor where(const Tensor& c, const Tensor& a, const Tensor& b) {
    const Shape ab = broadcast_shapes("where", a.shape(), b.shape());
    Tensor out = Tensor::uninitialized(broadcast_shapes("where", c.shape(), ab));
    const auto loop = [&](const Tensor& x) { return broadcast_loop(out.shape(), x.shape(), c.shape()); };
    kernels::cpu().binary(Binary::keep, loop(a), a.data(), c.data(), {out.mutable_data()});
    kernels::cpu().binary(Binary::drop, loop(b), b.data(), c.data(), {out.mutable_data(), true});
    return with_backward(
        "where", out, {&a, &b},
        [da = a.sink(), db = b.sink(), as = a.shape(), bs = b.shape(), c = c.save()](const Tensor& dout) {
            pass(Binary::keep, dout, c, as, da);
            pass(Binary::drop, dout, c, bs, db);
        });
}

// out = max(a, b)        da = dout where a > b, dout/2 where they are equal;  db likewise
Tensor maximum(const Tensor& a, const Tensor& b) {
    Tensor out = binary(Binary::max, "maximum", a, b);
    return with_backward("maximum", out, {&a, &b},
                         [da = a.sink(), db = b.sink(), a = a.save(), b = b.save()](const Tensor& dout) {
                             const Tensor x = a.tensor(), y = b.tensor();
                             const Tensor share = where(x == y, dout * Real(0.5), dout);
                             pass_sum(where(x < y, 0, share), 1, a.shape(), da);
                             pass_sum(where(y < x, 0, share), 1, b.shape(), db);
                         });
}

Tensor minimum(const Tensor& a, const Tensor& b) { return -maximum(-a, -b); }

Tensor clamp(const Tensor& x, Real low, Real high) {
    const Tensor raised = where(x < low, low, x);
    return where(raised > high, high, raised);
}

// xᵖ for p >= 0, without a graph: repeated squaring for the integer part of p, a square root for a half
static Tensor power(const Tensor& x, double p) {
    const double whole = std::floor(p), rest = p - whole;
    if (!(rest == 0 || rest == 0.5) || p > 0x1p53)
        return exp(log(x) * static_cast<Real>(p));
    Tensor out = rest == 0 ? Tensor::ones(x.shape()) : sqrt(x), square = x;
    for (auto n = static_cast<int64_t>(whole); n > 0; n /= 2) {
        if (n % 2 == 1)
            out *= square;
        if (n > 1)
            square *= square;
    }
    return out;
}

// out = xᵖ           dx = dout p xᵖ⁻¹
Tensor pow(const Tensor& x, Real exponent) {
    const auto p = static_cast<double>(exponent);
    const auto raised = [](const Tensor& t, double e) {
        const OpWatch::Pause pause;  // 0^0.3 = exp(0.3 log 0): the intermediate -inf must not trip the guard
        return e < 0 ? 1 / power(t, -e) : power(t, e);
    };
    return with_backward("pow", raised(x.detach(), p), {&x},
                         [p, raised, dx = x.sink(), x = x.save()](const Tensor& dout) {
                             if (p == 0)  // not 0 / 0 at x = 0
                                 return pass_sum(dout, 0, x.shape(), dx);
                             pass_sum(dout * raised(x.tensor(), p - 1), static_cast<Real>(p), x.shape(), dx);
                         });
}

}  // namespace plaingrad::autograd
