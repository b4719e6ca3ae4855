// Linear layers: rows times a weight, plus a bias, and the function after it. The kernel: kernels/gemm.cpp.
//
// Each equals a composition of matmul, add and activation (plain.cpp). The kernel adds the bias and applies
// the function to each tile of the product while that is still in the cache. The composition reads and writes
// the whole result once more for each of the two.
#include "autograd/op.h"
#include "autograd/ops.h"
#include "autograd/plain.h"
#include "autograd/weight.h"

namespace plaingrad::autograd {
namespace {

using kernels::Gemm;
using kernels::Unary;

// How x is multiplied: with a w (K, N), or a transposed one (N, K).
struct Product {
    Precision precision;
    bool transposed = false;
};

struct Sinks {
    GradSink dx, dw, dbias;
    Sinks(const Tensor& x, const Tensor& w, const Tensor& bias)
        : dx(x.sink()), dw(w.sink()), dbias(bias.sink()) {}
    bool any() const { return dx || dw || dbias; }
};

int64_t rows_of(const Tensor& x) { return x.shape().without(-1).numel(); }

void gemm(Gemm g, Precision p, const Tensor& a, const Real* b, kernels::Out c) {
    g.accumulate = c.accumulate;
    kernels::cpu().products(p).gemm(g, a.data(), b, c.data);
}

// y (M, N) = f(x (M, K) @ w (K, N) + bias (N)). `before` receives the input of f. f and `before` may be
// nullptr.
Tensor forward(const Product& p, const Tensor& x, const Tensor& w, const Tensor& bias,
               const Unary* f = nullptr, Real* before = nullptr) {
    const int64_t n = w.size(p.transposed ? 0 : 1), k = x.size(-1);
    Tensor y = Tensor::uninitialized(x.shape().with(-1, n));
    Gemm product = {.m = rows_of(x), .n = n, .k = k, .lda = k, .ldb = w.size(1), .ldc = n};
    product.b_transposed = p.transposed;
    product.bias = bias.defined() ? bias.data() : nullptr;
    product.activation = f;
    product.before_activation = before;
    multiply(product, p.precision, x.data(), w, y.mutable_data());
    return y;
}

// dx (M, K) = d (M, N) @ wᵀ
void backward_of_x(const Product& p, const Tensor& d, const Saved& w, kernels::Out dx) {
    const int64_t n = d.size(-1), ldw = w.shape()[1], k = p.transposed ? ldw : w.shape()[0];
    Gemm product = {.m = rows_of(d), .n = k, .k = n, .lda = n, .ldb = ldw, .ldc = k};
    product.b_transposed = !p.transposed;
    gemm(product, p.precision, d, w.data(), dx);
}

// Of d (M, N), the gradient of x (M, K) @ w + bias:
// dx = d @ wᵀ       dw = xᵀ @ d (transposed: dᵀ @ x)       dbias = Σ d over the rows
void backward(const Product& p, const Tensor& x, const Saved& w, const Tensor& d, const Sinks& to) {
    const int64_t m = rows_of(d), n = d.size(-1), k = x.size(-1);
    if (to.dx)
        backward_of_x(p, d, w, to.dx.open());
    if (to.dw && p.transposed)
        gemm({.m = n, .n = k, .k = m, .lda = n, .ldb = k, .ldc = k, .a_transposed = true}, p.precision, d,
             x.data(), to.dw.open());
    if (to.dw && !p.transposed)
        gemm({.m = k, .n = n, .k = m, .lda = k, .ldb = n, .ldc = n, .a_transposed = true}, p.precision, x,
             d.data(), to.dw.open());
    if (to.dbias)
        kernels::cpu().sum({1, m, n}, 1, d.data(), to.dbias.open());
}

Tensor affine(const char* op, const Product& p, const Tensor& x, const Tensor& w, const Tensor& bias) {
    return with_backward(op, forward(p, x, w, bias), {&x, &w, &bias},
                         [p, to = Sinks(x, w, bias), x = x.save(), w = w.save()](const Tensor& dy) {
                             backward(p, x.tensor(), w, dy, to);
                         });
}

void check_linear(const char* op, const Shape& x, const Tensor& weight, const Tensor& bias,
                  bool transposed = false) {
    check(x.rank() >= 1 && weight.rank() == 2 && x[-1] == weight.size(transposed ? 1 : 0), "[", op, "] x is ",
          x, ", weight is ", weight.shape(), "; x's last must equal weight's ",
          transposed ? "second" : "first");
    check(!bias.defined() || bias.shape() == Shape{weight.size(transposed ? 0 : 1)}, "[", op, "] bias is ",
          bias.shape(), ", weight is ", weight.shape(), "; there must be one bias for each output");
}

}  // namespace

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
    check_linear("linear", x.shape(), weight, bias);
    if (Plain::active())
        return plain::linear(x, weight, bias);
    return affine("linear", {UsePrecision::active()}, x, weight, bias);
}

Tensor linear_transposed(const Tensor& x, const Tensor& weight, const Tensor& bias) {
    check_linear("linear_transposed", x.shape(), weight, bias, true);
    if (Plain::active())
        return plain::linear_transposed(x, weight, bias);
    return affine("linear_transposed", {UsePrecision::active(), true}, x, weight, bias);
}

// ---- with an activation f
//
// Backward needs the input of f for its derivative. For relu the output is enough. So only the other
// functions keep a second tensor of the hidden size, the largest of a layer.
namespace {

struct Hidden {
    Tensor values, kept;  // f(x w + bias), and what backward needs of it
};

Hidden hidden(const Product& p, const Tensor& x, const Tensor& w, const Tensor& bias, Unary f) {
    if (f == Unary::relu || NoGrad::active()) {
        const Tensor values = forward(p, x, w, bias, &f);
        return {values, values};
    }
    const Tensor before = Tensor::uninitialized(x.shape().with(-1, w.size(1)));
    return {forward(p, x, w, bias, &f, before.mutable_data()), before};
}

}  // namespace

// y = f(x @ weight + bias)      d = dy f', then as in linear
Tensor linear_activation(const Tensor& x, const Tensor& weight, const Tensor& bias, Activation activation) {
    check_linear("linear_activation", x.shape(), weight, bias);
    if (Plain::active())
        return plain::linear_activation(x, weight, bias, activation);
    const Unary f = unary_of(activation);
    const Product p = {UsePrecision::active()};
    const Hidden y = hidden(p, x, weight, bias, f);
    return with_backward("linear_activation", y.values, {&x, &weight, &bias},
                         [f, p, to = Sinks(x, weight, bias), x = x.save(), w = weight.save(),
                          kept = y.kept.save()](const Tensor& dy) {
                             Tensor d = Tensor::uninitialized(dy.shape());  // (..., N)
                             kernels::cpu().unary_backward(f, d.numel(), kept.data(), dy.data(),
                                                           {d.mutable_data()});
                             backward(p, x.tensor(), w, d, to);
                         });
}

// ---- gated: gu = g | u        h = f(g) u        dg = dh u f'(g), du = dh f(g)

Tensor glu(const Tensor& x, Activation activation) {
    check(x.rank() >= 1 && x.size(-1) % 2 == 0, "[glu] x is ", x.shape(), "; it must be g | u, (..., 2*N)");
    if (Plain::active())
        return plain::glu(x, activation);
    const Unary f = unary_of(activation);
    const int64_t n = x.size(-1) / 2;
    Tensor h = Tensor::uninitialized(x.shape().with(-1, n));
    kernels::cpu().glu(f, rows_of(x), n, x.data(), h.mutable_data());
    return with_backward("glu", h, {&x}, [f, n, dx = x.sink(), x = x.save()](const Tensor& dh) {
        kernels::cpu().glu_backward(f, rows_of(dh), n, x.data(), dh.data(), dx.open());
    });
}

// ---- two layers: out = h @ w2 + b2
//
// They exist to save memory: for backward the composition keeps h and the input of f, these ops only one of
// them.

// dh = dout @ w2ᵀ
static Tensor backward_of_h(const Product& p, Tensor& h, const Saved& w2, const Tensor& dout) {
    const Shape shape = h.shape();
    h = {};                                          // dh can have its memory
    const Tensor dh = Tensor::uninitialized(shape);  // (..., d_ff)
    backward_of_x(p, dout, w2, {dh.mutable_data()});
    return dh;
}

// h = f(x @ w1 + b1)        d = dh f', then as in linear
Tensor feed_forward(const Tensor& x, const Tensor& w1, const Tensor& b1, const Tensor& w2, const Tensor& b2,
                    Activation activation) {
    check_linear("feed_forward", x.shape(), w1, b1);
    check_linear("feed_forward", x.shape().with(-1, w1.size(1)), w2, b2);
    if (Plain::active())
        return plain::feed_forward(x, w1, b1, w2, b2, activation);
    const Unary f = unary_of(activation);
    const Product p = {UsePrecision::active()};
    const Hidden first = hidden(p, x, w1, b1, f);         // (..., d_ff)
    const Tensor out = forward(p, first.values, w2, b2);  // (..., N)
    return with_backward(
        "feed_forward", out, {&x, &w1, &b1, &w2, &b2},
        [f, activation, p, to1 = Sinks(x, w1, b1), to2 = Sinks({}, w2, b2), x = x.save(), w1 = w1.save(),
         w2 = w2.save(), kept = first.kept.save()](const Tensor& dout) {
            Tensor h = f == Unary::relu ? kept.tensor() : autograd::activation(kept.tensor(), activation);
            backward(p, h, w2, dout, to2);
            if (!to1.any())  // then x may have changed
                return;
            const Tensor d = backward_of_h(p, h, w2, dout);  // (..., d_ff): dh, and then d
            kernels::cpu().unary_backward(f, d.numel(), kept.data(), d.data(), {d.mutable_data()});
            backward(p, x.tensor(), w1, d, to1);
        });
}

// g | u = x @ w1 + b1, h = f(g) u        dg and du as in glu, then as in linear
Tensor gated_feed_forward(const Tensor& x, const Tensor& w1, const Tensor& b1, const Tensor& w2,
                          const Tensor& b2, Activation activation) {
    check_linear("gated_feed_forward", x.shape(), w1, b1);
    check(w1.size(1) % 2 == 0, "[gated_feed_forward] w1 is ", w1.shape(), "; it must be gate | up, (K, 2*N)");
    check_linear("gated_feed_forward", x.shape().with(-1, w1.size(1) / 2), w2, b2);
    if (Plain::active())
        return plain::gated_feed_forward(x, w1, b1, w2, b2, activation);
    const Unary f = unary_of(activation);
    const Product p = {UsePrecision::active()};
    const Tensor gu = forward(p, x, w1, b1);                     // (..., 2*d_ff)
    const Tensor out = forward(p, glu(gu, activation), w2, b2);  // (..., N)
    return with_backward("gated_feed_forward", out, {&x, &w1, &b1, &w2, &b2},
                         [f, activation, p, to1 = Sinks(x, w1, b1), to2 = Sinks({}, w2, b2), x = x.save(),
                          w1 = w1.save(), w2 = w2.save(), gu = gu.save()](const Tensor& dout) {
                             Tensor h = glu(gu.tensor(), activation);
                             backward(p, h, w2, dout, to2);
                             if (!to1.any())  // then x may have changed
                                 return;
                             const Tensor dh = backward_of_h(p, h, w2, dout);     // (..., d_ff)
                             const Tensor d = Tensor::uninitialized(gu.shape());  // (..., 2*d_ff)
                             kernels::cpu().glu_backward(f, rows_of(d), dh.size(-1), gu.data(), dh.data(),
                                                         {d.mutable_data()});
                             backward(p, x.tensor(), w1, d, to1);
                         });
}

}  // namespace plaingrad::autograd
