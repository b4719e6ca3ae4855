// Matrix products: in each precision, of b as it is and of b packed before.
#include "tests/autograd/kernels/bf16_reference.h"
#include "tests/autograd/kernels/calls.h"
#include "tests/trust/functions.h"
#include "tests/trust/product.h"

namespace plaingrad::tests {

using namespace autograd::kernels;  // NOLINT
using autograd::Precision;

namespace {

// c is r.rows by r.n. Rows of a and of b are `gap` further apart than they need to be; then there is a bias.
// What is activated is not added to.
void multiply(Run& r, bool a_transposed, bool b_transposed, int64_t gap, bool activates) {
    static constexpr Unary kActivation = Unary::silu;
    const int64_t m = r.rows, n = r.n, k = (7 * m + 3 * n) % 38;
    Gemm g = {};
    g.m = m, g.n = g.ldc = n, g.k = k;
    g.a_transposed = a_transposed, g.lda = gap + (a_transposed ? m : k);
    g.b_transposed = b_transposed, g.ldb = gap + (b_transposed ? k : n);
    g.bias = activates || gap > 0 ? r.in(n, 3) : nullptr;
    g.activation = activates ? &kActivation : nullptr;
    const auto extent = trust::Product::extent;
    const Real* const a = r.in(a_transposed ? extent(k, m, g.lda) : extent(m, k, g.lda), 1);
    const Real* const b = r.in(b_transposed ? extent(n, k, g.ldb) : extent(k, n, g.ldb), 2);
    for (const Precision precision : {Precision::float32, Precision::bf16}) {
        const Products& products = cpu().products(precision);
        Real* const of_b = r.room(packed_size(n, k, precision));
        products.pack(g, b, of_b);
        const auto factor = [&](const Real* x, int64_t i) {
            return static_cast<double>(precision == Precision::bf16 ? bf16(x[i]) : x[i]);
        };
        const auto of_column = [&](int64_t l, int64_t j) {
            return factor(b, b_transposed ? j * g.ldb + l : l * g.ldb + j);
        };
        const Row sums = each(r.asks ? m * n : 0, [&](int64_t i) {
            double sum = g.bias != nullptr ? static_cast<double>(g.bias[i % n]) : 0;
            for (int64_t l = 0; l < k; ++l)
                sum += factor(a, a_transposed ? l * g.lda + i / n : i / n * g.lda + l) * of_column(l, i % n);
            return sum;
        });
        for (const bool packed : {false, true}) {
            const Out c = activates ? Out{r.out(m * n)} : r.sink(m * n);
            g.accumulate = c.accumulate, g.b_packed = packed;
            g.before_activation = activates ? r.out(m * n) : nullptr;
            products.gemm(g, a, packed ? of_b : b, c.data);
            r.expect(g.before_activation, sums);
            r.expect(c.data, [&](int64_t i) {
                return activates ? trust::true_value<double>(kActivation, false, sums[at(i)]).value
                                 : sums[at(i)];
            });
        }
        g.b_packed = false, g.before_activation = nullptr;
        if (n == 0)
            continue;
        Real* const column = r.out(k);
        products.unpack_column(g, of_b, n - 1, column);
        r.expect(column, [&](int64_t l) { return of_column(l, n - 1); });
    }
}

}  // namespace

std::vector<Call> gemm_calls() {
    return {
        {"gemm", [](Run& r) { multiply(r, false, false, 0, false); }},
        {"gemm, bias and activation", [](Run& r) { multiply(r, false, false, 0, true); }},
        {"gemm, bias, rows further apart", [](Run& r) { multiply(r, false, false, 5, false); }},
        {"gemm, a transposed", [](Run& r) { multiply(r, true, false, 0, false); }},
        {"gemm, b transposed", [](Run& r) { multiply(r, false, true, 0, false); }},
        {"gemm, both transposed and further apart", [](Run& r) { multiply(r, true, true, 5, false); }},
    };
}

}  // namespace plaingrad::tests
