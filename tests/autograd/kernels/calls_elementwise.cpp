// Functions of one number and of two, dropout, fill.
#include "tests/autograd/kernels/calls.h"
#include "tests/trust/functions.h"

namespace plaingrad::tests {

using namespace autograd::kernels;  // NOLINT

namespace {

void unary(Run& r) {
    const Real *any = r.in(r.all, 1), *positive = r.in(r.all, 3, 0.1, 3), *dy = r.in(r.all, 2);
    for (int i = 0; i < static_cast<int>(Unary::count); ++i) {
        const auto f = static_cast<Unary>(i);
        const Real* const x = f == Unary::log || f == Unary::sqrt ? positive : any;
        Real *y = r.out(r.all), *in_place = r.out(r.all, x);
        const Out dx = r.sink(r.all);
        cpu().unary(f, r.all, x, y);
        cpu().unary(f, r.all, in_place, in_place);
        cpu().unary_backward(f, r.all, x, dy, dx);
        const auto value = [&](bool derivative, int64_t j) {
            return trust::true_value<double>(f, derivative, x[j]).value;
        };
        for (const Real* const result : {y, in_place})
            r.expect(result, [&](int64_t j) { return value(false, j); });
        r.expect(dx.data, [&](int64_t j) { return value(true, j) * dy[j]; });
    }
}

// Of equal shapes; with a row, a column, a number that repeats.
void binary(Run& r) {
    const Real *x = r.in(r.all, 1), *y = r.in(r.all, 2), *one = r.in(1, 5);
    const Real *one_row = r.in(r.n, 3), *one_column = r.in(r.rows, 4);
    const auto call = [&](Binary f, const Real* a, const Real* b, int64_t a_row, int64_t a_step,
                          int64_t b_row) {
        const Out out = r.sink(r.all);
        cpu().binary(f, {{1, 1, r.rows, r.n}, {0, 0, a_row, a_step}, {0, 0, b_row, 1}}, a, b, out);
        r.expect(out.data, [&](int64_t i) {
            const int64_t row = i / r.n, column = i % r.n;
            return operate<double>(f, a[row * a_row + column * a_step], b[row * b_row + column]);
        });
    };
    for (int i = 0; i < static_cast<int>(Binary::count); ++i) {
        const auto f = static_cast<Binary>(i);
        call(f, x, y, r.n, 1, r.n);
        call(f, x, one_row, r.n, 1, 0);
        call(f, one_column, y, 1, 0, r.n);
        call(f, one, y, 0, 0, r.n);
    }
}

void dropout(Run& r) {
    const Real* x = r.in(r.all, 1);
    for (const double p : {0.0, 0.3}) {
        const Out y = r.sink(r.all);
        cpu().dropout(r.all, static_cast<Real>(p), {1, 2}, x, y);
        const Row factors = r.dropout_factors(r.all, p, {1, 2});
        r.expect(y.data, [&](int64_t i) { return x[i] * factors[at(i)]; });
    }
}

void residual(Run& r) {
    const Real *x = r.in(r.all, 1), *y = r.in(r.all, 2);
    Real* sum = r.out(r.all);
    cpu().residual(r.all, Real(0.3), {1, 2}, x, y, sum);
    const Row factors = r.dropout_factors(r.all, 0.3, {1, 2});
    r.expect(sum, [&](int64_t i) { return x[i] + y[i] * factors[at(i)]; });
}

void fill(Run& r) {
    Real* y = r.out(r.all);
    cpu().fill(r.all, Real(0.25), y);
    r.expect(y, [&](int64_t) { return 0.25; });
}

}  // namespace

std::vector<Call> elementwise_calls() {
    return {
        {"unary", unary}, {"binary", binary}, {"dropout", dropout}, {"residual", residual}, {"fill", fill}};
}

}  // namespace plaingrad::tests
