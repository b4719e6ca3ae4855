// Functions of one number and of two, dropout, fill.
#include "tests/autograd/kernels/calls.h"

namespace plaingrad::tests {

using namespace autograd::kernels;  // NOLINT

namespace {

void unary(Run& r) {
    const int64_t all = r.rows * r.n;
    const Real *x = r.in(all, 1, 0.1, 3), *dy = r.in(all, 2);
    for (int f = 0; f < static_cast<int>(Unary::count); ++f) {
        cpu().unary(static_cast<Unary>(f), all, x, r.out(all));
        cpu().unary_backward(static_cast<Unary>(f), all, x, dy, r.sink(all));
    }
}

// Of equal shapes; with a row, a column, a number that repeats.
void binary(Run& r) {
    const Loop4 dense = {{1, 1, r.rows, r.n}, {0, 0, r.n, 1}, {0, 0, r.n, 1}};
    Loop4 row = dense, column = dense, number = dense;
    row.b[2] = 0;
    column.a[2] = 1, column.a[3] = 0;
    number.a[2] = number.a[3] = 0;
    const Real *x = r.in(r.rows * r.n, 1), *y = r.in(r.rows * r.n, 2), *one = r.in(1, 5);
    const Real *one_row = r.in(r.n, 3), *one_column = r.in(r.rows, 4);
    for (int f = 0; f < static_cast<int>(Binary::count); ++f) {
        const auto operation = static_cast<Binary>(f);
        cpu().binary(operation, dense, x, y, r.sink(r.rows * r.n));
        cpu().binary(operation, row, x, one_row, r.sink(r.rows * r.n));
        cpu().binary(operation, column, one_column, y, r.sink(r.rows * r.n));
        cpu().binary(operation, number, one, y, r.sink(r.rows * r.n));
    }
}

}  // namespace

std::vector<Call> elementwise_calls() {
    return {
        {"unary", true, unary},
        {"binary", true, binary},
        {"dropout", true,
         [](Run& r) {
             const int64_t all = r.rows * r.n;
             const Real* x = r.in(all, 1);
             for (const Real p : {Real(0), Real(0.3)})
                 cpu().dropout(all, p, {1, 2}, x, r.sink(all));
         }},
        {"residual", false,
         [](Run& r) {
             const int64_t all = r.rows * r.n;
             cpu().residual(all, Real(0.3), {1, 2}, r.in(all, 1), r.in(all, 2), r.out(all));
         }},
        {"fill", false, [](Run& r) { cpu().fill(r.rows * r.n, Real(0.25), r.out(r.rows * r.n)); }},
    };
}

}  // namespace plaingrad::tests
