// Matrix products. The kernel: kernels/gemm.cpp.
#include <algorithm>
#include <optional>

#include "autograd/base/parallel.h"
#include "autograd/broadcast.h"
#include "autograd/op.h"
#include "autograd/ops.h"

namespace autograd {
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

// Products of fewer fmas than this (16 us of one core) run side by side, a thread each; larger ones follow each
// other, and the kernel spreads each over the threads. One chunk is worth half a microsecond at least.
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

    return with_backward(
        out, {&a, &b}, [=, da = a.sink(), db = b.sink(), a = a.save(), b = b.save()](const Tensor& dout) {
            const Shape lead_a = leading(a.shape()), lead_b = leading(b.shape());
            if (da)
                batched_gradient(Batch(lead, lead, lead_b), dense(m, k, n, false, !b_transposed), dout.data(),
                                 b.data(), join(lead, m, k), a.shape(), da);
            if (db && b_transposed)
                batched_gradient(Batch(lead, lead, lead_a), dense(n, k, m, true, false), dout.data(),
                                 a.data(), join(lead, n, k), b.shape(), db);
            if (db && !b_transposed)
                batched_gradient(Batch(lead, lead_a, lead), dense(k, n, m, true, false), a.data(),
                                 dout.data(), join(lead, k, n), b.shape(), db);
        });
}

Unary unary_of(Activation f) {
    return f == Activation::relu       ? Unary::relu
           : f == Activation::gelu_erf ? Unary::gelu_erf
                                       : Unary::gelu_tanh;
}

// A product of rows with a matrix, and what is done to it on the way.
struct RowsTimes {
    bool transposed = false;          // w is (N, K)
    int64_t first = 0, columns = -1;  // the part of w's columns, and of bias, that is meant; -1: all
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

// out (..., N) = f(x (..., K) @ w (K, N) + bias (N))      or with w (N, K), transposed: x @ wᵀ + bias
// d = dout f'       dx = d @ wᵀ       dw = xᵀ @ d (transposed: dᵀ @ x)       dbias = Σ d over the rows
Tensor rows_times_matrix(const Tensor& x, const Tensor& w, const Tensor& bias, RowsTimes o) {
    if (o.columns < 0)
        o.columns = w.size(o.transposed ? 0 : 1);
    const int64_t m = x.shape().without(-1).numel(), k = x.size(-1), n = o.columns, ldw = w.size(1);
    Tensor out = Tensor::uninitialized(x.shape().with(-1, n));
    Tensor before = o.keeps_input() && !NoGrad::active() ? Tensor::uninitialized(out.shape()) : Tensor();
    Gemm g = dense(m, n, k, false, o.transposed);
    g.ldb = ldw;
    g.bias = bias.defined() ? bias.data() + o.first : nullptr;
    g.activation = o.activation ? &*o.activation : nullptr;
    g.before_activation = before.defined() ? before.mutable_data() : nullptr;
    gemm(g, x.data(), w.data() + o.first, {out.mutable_data()});

    const Tensor& kept = !o.activation ? x : before.defined() ? before : out;
    return with_backward(
        out, {&x, &w, &bias},
        [=, dx = x.sink(), dw = w.sink(), dbias = bias.sink(), x = x.save(), w = w.save(),
         kept = kept.save()](const Tensor& dout) {
            const Tensor d = o.activation ? Tensor::uninitialized(dout.shape()) : dout;
            if (o.activation)
                kernels::cpu().unary_backward(*o.activation, d.numel(), kept.data(), dout.data(),
                                              {Tensor(d).mutable_data()});
            if (dx)
                gemm({.m = m, .n = k, .k = n, .lda = n, .ldb = ldw, .ldc = k, .b_transposed = !o.transposed},
                     d.data(), w.data() + o.first, dx.open());
            if (dw && o.transposed)
                gemm(dense(n, k, m, true, false), d.data(), x.data(), dw.open());
            if (dw && !o.transposed)
                gemm({.m = k, .n = n, .k = m, .lda = k, .ldb = n, .ldc = ldw, .a_transposed = true}, x.data(),
                     d.data(), open_columns(dw, w.shape(), o.first, n));
            if (dbias)
                kernels::cpu().sum({1, m, n}, 1, d.data(),
                                   open_columns(dbias, Shape{o.transposed ? n : ldw}, o.first, n));
        });
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b, bool b_transposed) {
    check(a.rank() >= 2 && b.rank() >= 2, "[matmul] at least two dimensions are needed: a is ", a.shape(),
          ", b is ", b.shape());
    check(a.size(-1) == b.size(b_transposed ? -1 : -2), "[matmul] inner sizes differ: a is ", a.shape(),
          ", b is ", b.shape(),
          b_transposed ? "; a's last must equal b's last" : "; a's last must equal b's last but one");
    return b.rank() == 2 ? rows_times_matrix(a, b, {}, {.transposed = b_transposed})
                         : batched_matmul(a, b, b_transposed);
}

static Tensor linear(const char* name, const Tensor& x, const Tensor& weight, const Tensor& bias,
                     const RowsTimes& o) {
    check(x.rank() >= 1 && weight.rank() == 2 && x.size(-1) == weight.size(o.transposed ? 1 : 0), "[", name,
          "] x is ", x.shape(), ", weight is ", weight.shape(), "; x's last must equal weight's ",
          o.transposed ? "second" : "first");
    check(!bias.defined() || bias.shape() == Shape{weight.size(o.transposed ? 0 : 1)}, "[", name,
          "] bias is ", bias.shape(), ", weight is ", weight.shape(),
          "; there must be one bias for each output");
    check(o.columns < 0 || (o.first >= 0 && o.first + o.columns <= weight.size(1)), "[", name, "] columns ",
          o.first, " to ", o.first + o.columns, " are not in weight ", weight.shape());
    return rows_times_matrix(x, weight, bias, o);
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
    return linear("linear", x, weight, bias, {});
}
Tensor linear_transposed(const Tensor& x, const Tensor& weight, const Tensor& bias) {
    return linear("linear_transposed", x, weight, bias, {.transposed = true});
}
Tensor linear_columns(const Tensor& x, const Tensor& weight, const Tensor& bias, int64_t first,
                      int64_t count) {
    check(count >= 0, "[linear_columns] the number of columns must not be negative: got ", count);
    return linear("linear_columns", x, weight, bias, {.first = first, .columns = count});
}
Tensor linear_activation(const Tensor& x, const Tensor& weight, const Tensor& bias, Activation f) {
    return linear("linear_activation", x, weight, bias, {.activation = unary_of(f)});
}

}  // namespace autograd
