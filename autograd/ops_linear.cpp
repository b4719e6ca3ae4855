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

// What the gradients of a layer x @ w + bias need, but x, which some layers compute again.
struct Layer {
    Layer(const Product& product, const Tensor& x, const Tensor& weight, const Tensor& bias)
        : p(product), dx(x.sink()), dw(weight.sink()), dbias(bias.sink()), w(weight.save()) {}
    bool wants_any() const { return dx || dw || dbias; }

    // dx (M, K) = d (M, N) @ wᵀ
    void backward_of_x(const Tensor& d, kernels::Out to) const {
        const int64_t n = d.size(-1), ldw = w.shape()[1], k = p.transposed ? ldw : w.shape()[0];
        Gemm product = {.m = rows_of(d), .n = k, .k = n, .lda = n, .ldb = ldw, .ldc = k};
        product.b_transposed = !p.transposed;
        gemm(product, p.precision, d, w.data(), to);
    }

    // Of d (M, N), the gradient of x (M, K) @ w + bias:
    // dx = d @ wᵀ       dw = xᵀ @ d (transposed: dᵀ @ x)       dbias = Σ d over the rows
    void backward(const Tensor& x, const Tensor& d) const {
        const int64_t m = rows_of(d), n = d.size(-1), k = x.size(-1);
        if (dx)
            backward_of_x(d, dx.open());
        if (dw && p.transposed)
            gemm({.m = n, .n = k, .k = m, .lda = n, .ldb = k, .ldc = k, .a_transposed = true}, p.precision, d,
                 x.data(), dw.open());
        if (dw && !p.transposed)
            gemm({.m = k, .n = n, .k = m, .lda = k, .ldb = n, .ldc = n, .a_transposed = true}, p.precision, x,
                 d.data(), dw.open());
        if (dbias)
            kernels::cpu().sum({1, m, n}, 1, d.data(), dbias.open());
    }

    Product p;
    GradSink dx, dw, dbias;
    Saved w;
};

void check_linear(const char* op, const Shape& x, const Tensor& weight, const Tensor& bias,
                  bool transposed = false) {
    check(x.rank() >= 1 && weight.rank() == 2 && x[-1] == weight.size(transposed ? 1 : 0), "[", op, "] x is ",
          x, ", weight is ", weight.shape(), "; x's last must equal weight's ",
          transposed ? "second" : "first");
    check(!bias.defined() || bias.shape() == Shape{weight.size(transposed ? 0 : 1)}, "[", op, "] bias is ",
          bias.shape(), ", weight is ", weight.shape(), "; there must be one bias for each output");
}

Tensor affine(const char* op, const Tensor& x, const Tensor& w, const Tensor& bias, bool transposed) {
    check_linear(op, x.shape(), w, bias, transposed);
    if (Plain::active())
        return plain::linear(x, w, bias, transposed);
    const Product p = {UsePrecision::active(), transposed};
    return with_backward(
        op, forward(p, x, w, bias), {&x, &w, &bias},
        [layer = Layer(p, x, w, bias), x = x.save()](const Tensor& dy) { layer.backward(x.tensor(), dy); });
}

}  // namespace

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
    return affine("linear", x, weight, bias, false);
}

Tensor linear_transposed(const Tensor& x, const Tensor& weight, const Tensor& bias) {
    return affine("linear_transposed", x, weight, bias, true);
}

// ---- gated: gu = g | u        h = f(g) u        dg = dh u f'(g), du = dh f(g)

Tensor glu(const Tensor& x, Activation activation) {
    check(x.rank() >= 1 && x.size(-1) % 2 == 0, "[glu] x is ", x.shape(), "; it must be g | u, (..., 2*N)");
    if (Plain::active())
        return plain::glu(x, activation);
    const Unary f = kernels::unary_of(activation);
    const int64_t n = x.size(-1) / 2;
    Tensor h = Tensor::uninitialized(x.shape().with(-1, n));
    kernels::cpu().glu(f, rows_of(x), n, x.data(), h.mutable_data());
    return with_backward("glu", h, {&x}, [f, n, dx = x.sink(), x = x.save()](const Tensor& dh) {
        kernels::cpu().glu_backward(f, rows_of(dh), n, x.data(), dh.data(), dx.open());
    });
}

// ---- two layers: h = f(x @ w1 + b1), or gated as above, out = h @ w2 + b2
//
// It exists to save memory: backward needs h, and the input of f for its derivative. The composition keeps
// both. Here the input of f is enough, from which h is computed again; for relu it is h alone.
//
// dh = dout @ w2ᵀ, d = dh f' or as in glu, then as in linear
Tensor feed_forward(const Tensor& x, const Tensor& w1, const Tensor& b1, const Tensor& w2, const Tensor& b2,
                    Activation activation, bool gated) {
    check_linear("feed_forward", x.shape(), w1, b1);
    check(!gated || w1.size(1) % 2 == 0, "[feed_forward] w1 is ", w1.shape(),
          "; if gated it must be gate | up, (K, 2*N)");
    check_linear("feed_forward", x.shape().with(-1, w1.size(1) / (gated ? 2 : 1)), w2, b2);
    if (Plain::active())
        return plain::feed_forward(x, w1, b1, w2, b2, activation, gated);
    const Product p = {UsePrecision::active()};
    const Unary f = kernels::unary_of(activation);
    Tensor h, kept;  // (..., d_ff), and what backward needs of it
    if (gated) {
        kept = forward(p, x, w1, b1);  // (..., 2*d_ff)
        h = glu(kept, activation);
    } else if (f == Unary::relu || NoGrad::active()) {
        h = kept = forward(p, x, w1, b1, &f);
    } else {
        kept = Tensor::uninitialized(x.shape().with(-1, w1.size(1)));
        h = forward(p, x, w1, b1, &f, kept.mutable_data());
    }
    const Tensor out = forward(p, h, w2, b2);  // (..., N)
    return with_backward(
        "feed_forward", out, {&x, &w1, &b1, &w2, &b2},
        [gated, activation, f, layer1 = Layer(p, x, w1, b1), layer2 = Layer(p, {}, w2, b2), x = x.save(),
         kept = kept.save()](const Tensor& dout) {
            const Tensor before = kept.tensor();
            Tensor hidden = gated              ? glu(before, activation)
                            : f == Unary::relu ? before
                                               : autograd::activation(before, activation);  // (..., d_ff)
            layer2.backward(hidden, dout);
            if (!layer1.wants_any())  // then x may have changed
                return;
            const Shape shape = hidden.shape();
            hidden = {};                                                          // dh can have its memory
            const Tensor dh = Tensor::uninitialized(shape);                       // (..., d_ff)
            const Tensor d = gated ? Tensor::uninitialized(before.shape()) : dh;  // (..., 2*d_ff), or d_ff
            layer2.backward_of_x(dout, {dh.mutable_data()});
            if (gated)
                kernels::cpu().glu_backward(f, rows_of(d), dh.size(-1), before.data(), dh.data(),
                                            {d.mutable_data()});
            else
                kernels::cpu().unary_backward(f, d.numel(), before.data(), dh.data(), {d.mutable_data()});
            layer1.backward(x.tensor(), d);
        });
}

}  // namespace plaingrad::autograd
