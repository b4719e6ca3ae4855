// Matrix products. The kernel: kernels/gemm.cpp.
#include "autograd/broadcast.h"
#include "autograd/op.h"
#include "autograd/ops.h"

namespace autograd {
namespace {

using kernels::Gemm;

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

// c[i] (m, n) = op(a[..]) op(b[..]) for every matrix of the batch.
void batched(const Batch& batch, const Gemm& g, const Real* a, const Real* b, Real* c) {
    for (int64_t i = 0; i < batch.count; ++i)
        gemm(g, a + batch(batch.loop.a, i) * g.m * g.k, b + batch(batch.loop.b, i) * g.k * g.n,
             {c + i * g.m * g.n});
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

// out (..., N) = x (..., K) @ w (K, N) + bias (N)      or with w (N, K), transposed: x @ wᵀ + bias
// dx = dout @ wᵀ         dw = xᵀ @ dout (transposed: doutᵀ @ x)         dbias = Σ dout over the rows
Tensor rows_times_matrix(const Tensor& x, const Tensor& w, const Tensor& bias, bool transposed) {
    const int64_t m = x.shape().without(-1).numel(), k = x.size(-1), n = w.size(transposed ? 0 : 1);
    Tensor out = Tensor::uninitialized(x.shape().with(-1, n));
    Gemm g = dense(m, n, k, false, transposed);
    g.bias = bias.defined() ? bias.data() : nullptr;
    gemm(g, x.data(), w.data(), {out.mutable_data()});

    return with_backward(out, {&x, &w, &bias},
                         [=, dx = x.sink(), dw = w.sink(), dbias = bias.sink(), x = x.save(),
                          w = w.save()](const Tensor& dout) {
                             if (dx)
                                 gemm(dense(m, k, n, false, !transposed), dout.data(), w.data(), dx.open());
                             if (dw && transposed)
                                 gemm(dense(n, k, m, true, false), dout.data(), x.data(), dw.open());
                             if (dw && !transposed)
                                 gemm(dense(k, n, m, true, false), x.data(), dout.data(), dw.open());
                             if (dbias)
                                 kernels::cpu().sum({1, m, n}, 1, dout.data(), dbias.open());
                         });
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b, bool b_transposed) {
    check(a.rank() >= 2 && b.rank() >= 2, "[matmul] at least two dimensions are needed: a is ", a.shape(),
          ", b is ", b.shape());
    check(a.size(-1) == b.size(b_transposed ? -1 : -2), "[matmul] inner sizes differ: a is ", a.shape(),
          ", b is ", b.shape(),
          b_transposed ? "; a's last must equal b's last" : "; a's last must equal b's last but one");
    return b.rank() == 2 ? rows_times_matrix(a, b, {}, b_transposed) : batched_matmul(a, b, b_transposed);
}

static Tensor linear(const char* name, const Tensor& x, const Tensor& weight, const Tensor& bias,
                     bool transposed) {
    check(x.rank() >= 1 && weight.rank() == 2 && x.size(-1) == weight.size(transposed ? 1 : 0), "[", name,
          "] x is ", x.shape(), ", weight is ", weight.shape(), "; x's last must equal weight's ",
          transposed ? "second" : "first");
    check(!bias.defined() || bias.shape() == Shape{weight.size(transposed ? 0 : 1)}, "[", name, "] bias is ",
          bias.shape(), ", weight is ", weight.shape(), "; there must be one bias for each output");
    return rows_times_matrix(x, weight, bias, transposed);
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
    return linear("linear", x, weight, bias, false);
}
Tensor linear_transposed(const Tensor& x, const Tensor& weight, const Tensor& bias) {
    return linear("linear_transposed", x, weight, bias, true);
}

}  // namespace autograd
