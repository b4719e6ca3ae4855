// Matrix products, of one pair or of many. The kernel: kernels/gemm.cpp.
#include <algorithm>

#include "autograd/base/parallel.h"
#include "autograd/broadcast.h"
#include "autograd/op.h"
#include "autograd/ops.h"
#include "autograd/plain.h"

namespace plaingrad::autograd {
namespace {

using kernels::Gemm;

// op(a) (m, k) @ op(b) (k, n), all dense.
Gemm dense(int64_t m, int64_t n, int64_t k, bool a_transposed, bool b_transposed) {
    const int64_t lda = a_transposed ? m : k, ldb = b_transposed ? k : n;
    return {.m = m,
            .n = n,
            .k = k,
            .lda = lda,
            .ldb = ldb,
            .ldc = n,
            .a_transposed = a_transposed,
            .b_transposed = b_transposed};
}

// The same shape of matrices (rows, columns). (1, 1): each matrix as one element.
Shape with_matrix(const Shape& shape, int64_t rows, int64_t columns) {
    return shape.with(-2, rows).with(-1, columns);
}

// Maps a matrix index in the broadcast result to the index of that matrix in an operand.
int64_t number_of(int64_t matrix, const int64_t sizes[4], const int64_t strides[4]) {
    int64_t at = 0;
    for (int dim = 3; dim >= 0; matrix /= sizes[dim], --dim)
        at += matrix % sizes[dim] * strides[dim];
    return at;
}

// Products of fewer multiply-adds than this (16 us on one core) run in parallel, one thread each. Larger ones
// run one after the other, each split over the threads. A chunk takes at least half a microsecond.
constexpr int64_t kSmallProduct = 1 << 21, kChunkWork = 1 << 16;

// c (lead, m, n) = op(a) @ op(b), for every pair of matrices that broadcasting the leading dims yields. lead:
// the shape of c, each matrix as one element.
void multiply(Gemm g, const Tensor& a, const Tensor& b, const Shape& lead, Precision p, kernels::Out c) {
    g.accumulate = c.accumulate;
    const auto product = kernels::cpu().products(p).gemm;
    const kernels::Loop4 loop =
        broadcast_loop(lead, with_matrix(a.shape(), 1, 1), with_matrix(b.shape(), 1, 1));
    const int64_t count = lead.numel(), work = g.m * g.n * g.k + 1;
    const int64_t grain = work > kSmallProduct ? count : (kChunkWork + work - 1) / work;
    parallel_for(0, count, std::max<int64_t>(grain, 1), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
            product(g, a.data() + number_of(i, loop.size, loop.a) * g.m * g.k,
                    b.data() + number_of(i, loop.size, loop.b) * g.k * g.n, c.data + i * g.m * g.n);
    });
}

// Multiplies, and adds the products to the gradient of an operand of shape `to`, summed over its broadcast
// dims.
void pass_products(const Gemm& g, const Tensor& a, const Tensor& b, const Shape& lead, Precision p,
                   const Shape& to, const GradSink& sink) {
    if (with_matrix(to, 1, 1) == lead)
        return multiply(g, a, b, lead, p, sink.open());
    const Tensor products = Tensor::uninitialized(with_matrix(lead, g.m, g.n));
    multiply(g, a, b, lead, p, {products.mutable_data()});
    pass_sum(products, 1, to, sink);
}

}  // namespace

// out (..., M, N) = a (..., M, K) @ b (..., K, N)      or with b (..., N, K), transposed: a @ bᵀ
// da = dout @ bᵀ,  db = aᵀ @ dout      or with b transposed: da = dout @ b,  db = doutᵀ @ a
// Each is summed over its broadcast dims.
Tensor matmul(const Tensor& a, const Tensor& b, bool b_transposed) {
    check(a.rank() >= 2 && b.rank() >= 2, "[matmul] at least two dimensions are needed: a is ", a.shape(),
          ", b is ", b.shape());
    const int64_t m = a.size(-2), k = a.size(-1), n = b.size(b_transposed ? -2 : -1);
    check(k == b.size(b_transposed ? -1 : -2), "[matmul] inner sizes differ: a is ", a.shape(), ", b is ",
          b.shape(), "; a's last must equal b's ", b_transposed ? "last" : "second to last");
    const Precision p = UsePrecision::active();
    if (p == Precision::bf16 && Plain::active())
        return plain::matmul_bf16(a, b, b_transposed);
    if (a.rank() > 2 && b.rank() == 2) {  // all rows of a as one matrix
        const Tensor rows = a.with_shape({a.shape().without(-1).numel(), k});
        return matmul(rows, b, b_transposed).with_shape(a.shape().with(-1, n));
    }
    Tensor out = Tensor::uninitialized(
        broadcast_shapes("matmul", with_matrix(a.shape(), m, n), with_matrix(b.shape(), m, n)));
    const Shape lead = with_matrix(out.shape(), 1, 1);
    multiply(dense(m, n, k, false, b_transposed), a, b, lead, p, {out.mutable_data()});
    return with_backward(
        "matmul", out, {&a, &b},
        [=, da = a.sink(), db = b.sink(), a = a.save(), b = b.save()](const Tensor& dout) {
            if (da)
                pass_products(dense(m, k, n, false, !b_transposed), dout, b.tensor(), lead, p, a.shape(), da);
            if (db && b_transposed)
                pass_products(dense(n, k, m, true, false), dout, a.tensor(), lead, p, b.shape(), db);
            if (db && !b_transposed)
                pass_products(dense(k, n, m, true, false), a.tensor(), dout, lead, p, b.shape(), db);
        });
}

}  // namespace plaingrad::autograd
