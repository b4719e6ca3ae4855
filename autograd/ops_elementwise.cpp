// Elementwise operations and dropout. The formulas themselves: kernels/pointwise.cpp.
#include "autograd/broadcast.h"
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

// Into `sink`, a gradient of shape `to`: the sum over the broadcast dims of scale * dout.
void pass(const Tensor& dout, Real scale, const Shape& to, const GradSink& sink) {
    if (!sink)
        return;
    if (scale == 1 && to == dout.shape())
        return sink.pass(dout);
    sum_to(dout.shape(), dout.data(), to, scale, sink.open());
}

// The same of (dout f b), without a temporary if nothing was broadcast.
void pass(Binary f, const Tensor& dout, const Saved& b, const Shape& to, const GradSink& sink) {
    if (!sink)
        return;
    const kernels::Loop4 loop = broadcast_loop(dout.shape(), dout.shape(), b.shape());
    if (to == dout.shape()) {
        kernels::cpu().binary(f, loop, dout.data(), b.data(), sink.open());
        return;
    }
    Tensor product = Tensor::uninitialized(dout.shape());
    kernels::cpu().binary(f, loop, dout.data(), b.data(), {product.mutable_data()});
    pass(product, 1, to, sink);
}

// out = a + sign b   da = dout, db = sign dout, each summed over its broadcast dims
Tensor add_or_sub(Binary f, const char* name, const Tensor& a, const Tensor& b, Real sign) {
    return with_backward(
        binary(f, name, a, b), {&a, &b},
        [sign, da = a.sink(), db = b.sink(), as = a.shape(), bs = b.shape()](const Tensor& dout) {
            pass(dout, 1, as, da);
            pass(dout, sign, bs, db);
        });
}

}  // namespace

Tensor add(const Tensor& a, const Tensor& b) { return add_or_sub(Binary::add, "add", a, b, 1); }
Tensor sub(const Tensor& a, const Tensor& b) { return add_or_sub(Binary::sub, "sub", a, b, -1); }

// out = a b          da = dout b, db = dout a
Tensor mul(const Tensor& a, const Tensor& b) {
    Tensor out = binary(Binary::mul, "mul", a, b);
    return with_backward(out, {&a, &b},
                         [da = a.sink(), db = b.sink(), a = a.save(), b = b.save()](const Tensor& dout) {
                             pass(Binary::mul, dout, b, a.shape(), da);
                             pass(Binary::mul, dout, a, b.shape(), db);
                         });
}

// out = a / b        da = dout / b, db = -(dout / b) out
Tensor div(const Tensor& a, const Tensor& b) {
    Tensor out = binary(Binary::div, "div", a, b);
    return with_backward(
        out, {&a, &b},
        [da = a.sink(), db = b.sink(), as = a.shape(), b = b.save(), out = out.save()](const Tensor& dout) {
            pass(Binary::div, dout, b, as, da);
            if (!db)
                return;
            Tensor d = Tensor::uninitialized(dout.shape());
            kernels::cpu().binary(Binary::div, broadcast_loop(d.shape(), d.shape(), b.shape()), dout.data(),
                                  b.data(), {d.mutable_data()});
            kernels::cpu().binary(Binary::mul, broadcast_loop(d.shape(), d.shape(), d.shape()), d.data(),
                                  out.data(), {d.mutable_data()});
            pass(d, -1, b.shape(), db);
        });
}

// out = f(x)         dx = dout f'(x)
static Tensor unary(Unary f, const Tensor& x) {
    Tensor out = Tensor::uninitialized(x.shape());
    kernels::cpu().unary(f, x.numel(), x.data(), out.mutable_data());
    const Tensor& keep = kernels::unary_saves_output(f) ? out : x;
    return with_backward(out, {&x}, [f, dx = x.sink(), saved = keep.save()](const Tensor& dout) {
        kernels::cpu().unary_backward(f, dout.numel(), saved.data(), dout.data(), dx.open());
    });
}

Tensor neg(const Tensor& x) { return unary(Unary::neg, x); }
Tensor exp(const Tensor& x) { return unary(Unary::exp, x); }
Tensor log(const Tensor& x) { return unary(Unary::log, x); }
Tensor sqrt(const Tensor& x) { return unary(Unary::sqrt, x); }
Tensor tanh(const Tensor& x) { return unary(Unary::tanh, x); }
Tensor sigmoid(const Tensor& x) { return unary(Unary::sigmoid, x); }
Tensor abs(const Tensor& x) { return unary(Unary::abs, x); }
Tensor relu(const Tensor& x) { return unary(Unary::relu, x); }
Tensor silu(const Tensor& x) { return unary(Unary::silu, x); }
Tensor gelu(const Tensor& x) { return unary(Unary::gelu, x); }
Tensor gelu_tanh(const Tensor& x) { return unary(Unary::gelu_tanh, x); }
Tensor activation(const Tensor& x, Activation f) { return unary(kernels::unary_of(f), x); }

// out = x m, m = 0 or 1/(1-p)        dx = dout m, with the same m, computed again
Tensor dropout(const Tensor& x, Real p, const Rng& rng) {
    check(p >= 0 && p < 1, "[dropout] the rate must be in [0, 1): got ", p);
    if (p == 0)
        return x;
    Tensor out = Tensor::uninitialized(x.shape());
    kernels::cpu().dropout(x.numel(), p, rng.key(), x.data(), {out.mutable_data()});
    return with_backward(out, {&x}, [p, key = rng.key(), dx = x.sink()](const Tensor& dout) {
        kernels::cpu().dropout(dout.numel(), p, key, dout.data(), dx.open());
    });
}

}  // namespace plaingrad::autograd
