// Look-up, sums and maxima, copies, searching, and Adam.
#include "tests/autograd/kernels/calls.h"

namespace plaingrad::tests {

using namespace autograd::kernels;  // NOLINT

std::vector<Call> moving_calls() {
    return {
        {"gather and scatter_add", true,
         [](Run& r) {
             const int32_t* ids = r.ids(r.rows, 23, 4);
             const autograd::kernels::Lookup o = {.count = r.rows, .n = r.n, .pad = 4};
             cpu().gather(o, ids, r.in(23 * r.n, 1), r.out(r.rows * r.n));
             cpu().scatter_add(o, ids, r.in(r.rows * r.n, 2), 23, r.sink(23 * r.n));
         }},
        {"sum, contiguous", true,
         [](Run& r) {
             cpu().sum({1, r.rows * r.n, 1}, Real(0.3), r.in(r.rows * r.n, 1), r.sink(1));
         }},
        {"sum, rows", true,
         [](Run& r) {
             cpu().sum({r.rows, r.n, 1}, 1, r.in(r.rows * r.n, 1), r.sink(r.rows));
         }},
        {"sum, columns", true,
         [](Run& r) {
             cpu().sum({1, r.rows, r.n}, 1, r.in(r.rows * r.n, 1), r.sink(r.n));
         }},
        {"sum, middle", true,
         [](Run& r) {
             cpu().sum({3, r.rows, r.n}, -1, r.in(3 * r.rows * r.n, 1), r.sink(3 * r.n));
         }},
        {"max", true,
         [](Run& r) {
             if (r.rows == 0)
                 return;  // of nothing there is no maximum
             int32_t* const index = r.places(3 * r.n);
             cpu().max({3, r.rows, r.n}, r.in(3 * r.rows * r.n, 1), r.out(3 * r.n), index);
             cpu().max_backward({3, r.rows, r.n}, index, r.in(3 * r.n, 2), r.sink(3 * r.rows * r.n));
         }},
        {"copy, dense", true,
         [](Run& r) {
             cpu().copy({{1, 1, r.rows, r.n}, {0, 0, r.n, 1}, {0, 0, r.n, 1}}, r.in(r.rows * r.n, 1),
                        r.sink(r.rows * r.n));
         }},
        {"copy, transposing", true,
         [](Run& r) {
             cpu().copy({{1, 1, r.n, r.rows}, {0, 0, 1, r.n}, {0, 0, r.rows, 1}}, r.in(r.rows * r.n, 1),
                        r.sink(r.rows * r.n));
         }},
        {"sum_of_squares", false,
         [](Run& r) {
             const double s = cpu().sum_of_squares(r.rows * r.n, r.in(r.rows * r.n, 1));
             const Real high = static_cast<Real>(s);
             r.out(2, {high, static_cast<Real>(s - static_cast<double>(high))});
         }},
        {"first_from", false,
         [](Run& r) {
             const Real* x = r.in(r.n, 1);
             for (const Real bound : {r.n > 0 ? x[r.n / 2] : 0, r.n > 0 ? x[r.n - 1] : 0, Real(100)})
                 r.out(1, {static_cast<Real>(cpu().first_from(r.n, x, bound))});
         }},
        {"adam", false,
         [](Run& r) {
             const int64_t n = r.rows * r.n;
             const Adam o = {.lr = Real(1e-2),
                             .beta1 = Real(0.9),
                             .beta2 = Real(0.98),
                             .rest1 = Real(0.1),
                             .rest2 = Real(0.02),
                             .eps = Real(1e-9),
                             .correction1 = Real(0.19),
                             .correction2 = Real(0.04),
                             .decay = Real(0.1),
                             .decoupled = true,
                             .grad_scale = Real(0.5)};
             const Real* grad = r.in(n, 1);
             Real *w = r.out(n, numbers(n, 2)), *m = r.out(n, numbers(n, 3)),
                  *v = r.out(n, numbers(n, 4, 0, 1));
             cpu().adam(o, n, grad, w, m, v);
             Adam coupled = o;
             coupled.decoupled = false;
             cpu().adam(coupled, n, grad, w, m, v);
         }},
    };
}

}  // namespace plaingrad::tests
