// Matrix products. The kernel: kernels/gemm.cpp.
#include <algorithm>
#include <optional>

#include "autograd/base/parallel.h"
#include "autograd/broadcast.h"
#include "autograd/op.h"
#include "autograd/ops.h"
#include "autograd/plain.h"

namespace plaingrad::autograd {
namespace {

using kernels::Gemm;
using kernels::Unary;

// op(a) (m, k) @ op(b) (k, n), all dense.
Gemm dense(int64_t m, int64_t n, int64_t k, bool a_transposed, bool b_transposed) {
    return {.m = m,
            .n = n,
            .k = k,
            .lda = a_transposed ? m : k,
            .ldb = b_transposed ? k : n,
            .ldc = n,
            .a_transposed = a_transposed,
            .b_transposed = b_transposed};
}

void gemm(Gemm g, const Real* a, const Real* b, kernels::Out c) {
    g.accumulate = c.accumulate;
    kernels::cpu().gemm(g, a, b, c.data);
}

// Everything but the last two dims.
Shape leading(const Shape& shape) { return Shape(shape.begin(), shape.rank() - 2); }

Shape join(const Shape& lead, int64_t rows, int64_t columns) {
    int64_t sizes[Shape::kMaxRank];
    int n = 0;
    for (const int64_t size : lead)
        sizes[n++] = size;
    sizes[n++] = rows;
    sizes[n++] = columns;
    return Shape(sizes, n);
}

// Which matrix of a and of b goes into matrix `i` of the product, over the broadcast leading dims.
struct Batch {
    kernels::Loop4 loop;
    int64_t count;
    Batch(const Shape& out, const Shape& a, const Shape& b)
        : loop(broadcast_loop(out, a, b)), count(out.numel()) {}
    int64_t operator()(const int64_t strides[4], int64_t i) const {
        int64_t at = 0;
        for (int dim = 3; dim >= 0; i /= loop.size[dim], --dim)
            at += i % loop.size[dim] * strides[dim];
        return at;
    }
};

// Products of fewer fmas than this (16 us of one core) run side by side, a thread each; larger ones follow
// each other, and the kernel spreads each over the threads. One chunk is worth half a microsecond at least.
constexpr int64_t kSmallProduct = 1 << 21, kChunkWork = 1 << 16;

// c[i] (m, n) = op(a[..]) op(b[..]) for every matrix of the batch.
void batched(const Batch& batch, const Gemm& g, const Real* a, const Real* b, Real* c) {
    const int64_t work = g.m * g.n * g.k + 1;
    const int64_t grain = work > kSmallProduct ? batch.count : (kChunkWork + work - 1) / work;
    parallel_for(0, batch.count, std::max<int64_t>(grain, 1), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
            gemm(g, a + batch(batch.loop.a, i) * g.m * g.k, b + batch(batch.loop.b, i) * g.k * g.n,
                 {c + i * g.m * g.n});
    });
}

// The batched products of a gradient, summed over the dims along which the operand was repeated.
void batched_gradient(const Batch& batch, const Gemm& g, const Real* a, const Real* b, const Shape& full,
                      const Shape& to, const GradSink& sink) {
    Tensor products = Tensor::uninitialized(full);
    batched(batch, g, a, b, products.mutable_data());
    sum_to(full, products.data(), to, 1, sink.open());
}

// out (..., M, N) = a (..., M, K) @ b (..., K, N)
// da = dout @ bᵀ         db = aᵀ @ dout, each summed over its broadcast dims
Tensor batched_matmul(const Tensor& a, const Tensor& b, bool b_transposed) {
    const Shape lead = broadcast_shapes("matmul", leading(a.shape()), leading(b.shape()));
    const int64_t m = a.size(-2), k = a.size(-1), n = b.size(b_transposed ? -2 : -1);
    check(lead.rank() + 2 <= Shape::kMaxRank, "[matmul] at most ", Shape::kMaxRank, " dimensions");
    Tensor out = Tensor::uninitialized(join(lead, m, n));
    const Batch batch(lead, leading(a.shape()), leading(b.shape()));
    batched(batch, dense(m, n, k, false, b_transposed), a.data(), b.data(), out.mutable_data());

    return with_backward("matmul", out, {&a, &b},
                         [=, da = a.sink(), db = b.sink(), a = a.save(), b = b.save()](const Tensor& dout) {
                             const Shape lead_a = leading(a.shape()), lead_b = leading(b.shape());
                             if (da)
                                 batched_gradient(Batch(lead, lead, lead_b),
                                                  dense(m, k, n, false, !b_transposed), dout.data(), b.data(),
                                                  join(lead, m, k), a.shape(), da);
                             if (db && b_transposed)
                                 batched_gradient(Batch(lead, lead, lead_a), dense(n, k, m, true, false),
                                                  dout.data(), a.data(), join(lead, n, k), b.shape(), db);
                             if (db && !b_transposed)
                                 batched_gradient(Batch(lead, lead_a, lead), dense(k, n, m, true, false),
                                                  a.data(), dout.data(), join(lead, k, n), b.shape(), db);
                         });
}

// A product of rows with a matrix, and what is done to it on the way.
struct RowsTimes {
    bool transposed = false;                 // w is (N, K)
    int64_t first_column = 0, columns = -1;  // the part of w's columns, and of bias, that is meant; -1: all
    std::optional<Unary> activation = {};

    // relu'(x) can be told from relu(x), so what was before it need not be kept.
    bool keeps_input() const {
        return activation && *activation != Unary::relu && !kernels::unary_saves_output(*activation);
    }
};

// Where the gradient of some columns goes; this op gives the others 0.
kernels::Out open_columns(const GradSink& sink, const Shape& shape, int64_t first, int64_t columns) {
    const kernels::Out out = sink.open();
    if (columns == shape[-1])
        return out;
    if (!out.accumulate)
        kernels::cpu().fill(shape.numel(), 0, out.data);
    return {out.data + first, true};
}

struct Sinks {
    GradSink dx, dw, dbias;
    Sinks(const Tensor& x, const Tensor& w, const Tensor& bias)
        : dx(x.sink()), dw(w.sink()), dbias(bias.sink()) {}
    bool any() const { return dx || dw || dbias; }
};

// d (M, N), the gradient of x (M, K) @ w + bias:
// dx = d @ wᵀ       dw = xᵀ @ d (transposed: dᵀ @ x)       dbias = Σ d over the rows
void pass_gradients(const RowsTimes& o, int64_t m, const Real* x, const Saved& w, const Real* d,
                    const Sinks& to) {
    const int64_t ldw = w.shape()[1], n = o.columns, k = o.transposed ? ldw : w.shape()[0];
    if (to.dx)
        gemm({.m = m, .n = k, .k = n, .lda = n, .ldb = ldw, .ldc = k, .b_transposed = !o.transposed}, d,
             w.data() + o.first_column, to.dx.open());
    if (to.dw && o.transposed)
        gemm(dense(n, k, m, true, false), d, x, to.dw.open());
    if (to.dw && !o.transposed)
        gemm({.m = k, .n = n, .k = m, .lda = k, .ldb = n, .ldc = ldw, .a_transposed = true}, x, d,
             open_columns(to.dw, w.shape(), o.first_column, n));
    if (to.dbias)
        kernels::cpu().sum({1, m, n}, 1, d,
                           open_columns(to.dbias, Shape{o.transposed ? n : ldw}, o.first_column, n));
}

// out (M, N) = f(x (M, K) @ w (K, N) + bias (N)), and what was before f if `before` has room.
void multiply(const RowsTimes& o, int64_t m, const Tensor& x, const Tensor& w, const Tensor& bias,
              Tensor& out, Tensor& before) {
    Gemm g = dense(m, o.columns, x.size(-1), false, o.transposed);
    g.ldb = w.size(1);
    g.bias = bias.defined() ? bias.data() + o.first_column : nullptr;
    g.activation = o.activation ? &*o.activation : nullptr;
    g.before_activation = before.defined() ? before.mutable_data() : nullptr;
    gemm(g, x.data(), w.data() + o.first_column, {out.mutable_data()});
}

// Room for what was before an activation, if backward needs it.
Tensor room_before(const RowsTimes& o, const Shape& shape) {
    return o.keeps_input() && !NoGrad::active() ? Tensor::uninitialized(shape) : Tensor();
}

// out (..., N) = f(x (..., K) @ w (K, N) + bias (N))      or with w (N, K), transposed: x @ wᵀ + bias
// d = dout f', and on with pass_gradients
Tensor rows_times_matrix(const char* op, const Tensor& x, const Tensor& w, const Tensor& bias, RowsTimes o) {
    if (o.columns < 0)
        o.columns = w.size(o.transposed ? 0 : 1);
    const int64_t m = x.shape().without(-1).numel();
    Tensor out = Tensor::uninitialized(x.shape().with(-1, o.columns)), before = room_before(o, out.shape());
    multiply(o, m, x, w, bias, out, before);

    const Tensor& kept = !o.activation ? x : before.defined() ? before : out;
    return with_backward(
        op, out, {&x, &w, &bias},
        [o, m, to = Sinks(x, w, bias), x = x.save(), w = w.save(), kept = kept.save()](const Tensor& dout) {
            Tensor d = o.activation ? Tensor::uninitialized(dout.shape()) : dout;
            if (o.activation)
                kernels::cpu().unary_backward(*o.activation, d.numel(), kept.data(), dout.data(),
                                              {d.mutable_data()});
            pass_gradients(o, m, x.data(), w, d.data(), to);
        });
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b, bool b_transposed) {
    check(a.rank() >= 2 && b.rank() >= 2, "[matmul] at least two dimensions are needed: a is ", a.shape(),
          ", b is ", b.shape());
    check(a.size(-1) == b.size(b_transposed ? -1 : -2), "[matmul] inner sizes differ: a is ", a.shape(),
          ", b is ", b.shape(),
          b_transposed ? "; a's last must equal b's last" : "; a's last must equal b's last but one");
    return b.rank() == 2 ? rows_times_matrix("matmul", a, b, {}, {.transposed = b_transposed})
                         : batched_matmul(a, b, b_transposed);
}

static void check_linear(const char* name, const Shape& x, const Tensor& weight, const Tensor& bias,
                         const RowsTimes& o) {
    check(x.rank() >= 1 && weight.rank() == 2 && x[-1] == weight.size(o.transposed ? 1 : 0), "[", name,
          "] x is ", x, ", weight is ", weight.shape(), "; x's last must equal weight's ",
          o.transposed ? "second" : "first");
    check(!bias.defined() || bias.shape() == Shape{weight.size(o.transposed ? 0 : 1)}, "[", name,
          "] bias is ", bias.shape(), ", weight is ", weight.shape(),
          "; there must be one bias for each output");
    check(o.columns < 0 || (o.first_column >= 0 && o.first_column <= weight.size(1) - o.columns), "[", name,
          "] ", o.columns, " columns from ", o.first_column, " on are not in weight ", weight.shape());
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
    check_linear("linear", x.shape(), weight, bias, {});
    return Plain::active() ? plain::linear(x, weight, bias)
                           : rows_times_matrix("linear", x, weight, bias, {});
}

Tensor linear_transposed(const Tensor& x, const Tensor& weight, const Tensor& bias) {
    const RowsTimes o = {.transposed = true};
    check_linear("linear_transposed", x.shape(), weight, bias, o);
    return Plain::active() ? plain::linear_transposed(x, weight, bias)
                           : rows_times_matrix("linear_transposed", x, weight, bias, o);
}

Tensor linear_columns(const Tensor& x, const Tensor& weight, const Tensor& bias, int64_t first,
                      int64_t count) {
    check(count >= 0, "[linear_columns] the number of columns must not be negative: got ", count);
    const RowsTimes o = {.first_column = first, .columns = count};
    check_linear("linear_columns", x.shape(), weight, bias, o);
    return Plain::active() ? plain::linear_columns(x, weight, bias, first, count)
                           : rows_times_matrix("linear_columns", x, weight, bias, o);
}

Tensor linear_activation(const Tensor& x, const Tensor& weight, const Tensor& bias, Activation f) {
    check_linear("linear_activation", x.shape(), weight, bias, {});
    return Plain::active() ? plain::linear_activation(x, weight, bias, f)
                           : rows_times_matrix("linear_activation", x, weight, bias,
                                               {.activation = kernels::unary_of(f)});
}

// hidden = f(x w1 + b1)         out = hidden w2 + b2
// dhidden = dout @ w2ᵀ, d = dhidden f', and on with pass_gradients for both
// Of the hidden vectors, the largest tensors of a layer, one is kept: what was before f, and hidden is
// computed again; or hidden alone, if f' can be told from it.
Tensor feed_forward(const Tensor& x, const Tensor& w1, const Tensor& b1, const Tensor& w2, const Tensor& b2,
                    Activation activation) {
    check_linear("feed_forward", x.shape(), w1, b1, {});
    const Unary f = kernels::unary_of(activation);
    const RowsTimes first = {.columns = w1.size(1), .activation = f}, second = {.columns = w2.size(-1)};
    const Shape shape = x.shape().with(-1, first.columns);
    check_linear("feed_forward", shape, w2, b2, {});
    if (Plain::active())
        return plain::feed_forward(x, w1, b1, w2, b2, activation);
    const int64_t m = x.shape().without(-1).numel();
    Tensor hidden = Tensor::uninitialized(shape), before = room_before(first, shape), none;
    Tensor out = Tensor::uninitialized(x.shape().with(-1, second.columns));
    multiply(first, m, x, w1, b1, hidden, before);
    multiply(second, m, hidden, w2, b2, out, none);

    return with_backward(
        "feed_forward", out, {&x, &w1, &b1, &w2, &b2},
        [=, to1 = Sinks(x, w1, b1), to2 = Sinks(none, w2, b2), x = x.save(), w1 = w1.save(), w2 = w2.save(),
         kept = (before.defined() ? before : hidden).save()](const Tensor& dout) {
            Tensor again = first.keeps_input() ? Tensor::uninitialized(kept.shape()) : Tensor();
            if (again.defined() && to2.dw)
                kernels::cpu().unary(f, again.numel(), kept.data(), again.mutable_data());
            pass_gradients(second, m, again.defined() ? again.data() : kept.data(), w2, dout.data(), to2);
            if (!to1.any())
                return;
            Tensor d = again.defined() ? again : Tensor::uninitialized(kept.shape());
            const int64_t k = second.columns, n = first.columns;
            gemm({.m = m, .n = n, .k = k, .lda = k, .ldb = k, .ldc = n, .b_transposed = true}, dout.data(),
                 w2.data(), {d.mutable_data()});
            kernels::cpu().unary_backward(f, d.numel(), kept.data(), d.data(), {d.mutable_data()});
            pass_gradients(first, m, x.data(), w1, d.data(), to1);
        });
}

}  // namespace plaingrad::autograd
