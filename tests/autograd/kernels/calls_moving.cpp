// Look-up, sums and maxima, copies, searching, and Adam.
#include "tests/autograd/kernels/calls.h"

namespace plaingrad::tests {

using namespace autograd::kernels;  // NOLINT

namespace {

void look_up(Run& r) {
    const int64_t words = 23;
    const int32_t* ids = r.ids(r.rows, words, 4);
    const Lookup o = {.count = r.rows, .n = r.n, .pad = 4};
    const Real *table = r.in(words * r.n, 1), *dy = r.in(r.all, 2);
    Real* y = r.out(r.all);
    const Out dtable = r.sink(words * r.n);
    cpu().gather(o, ids, table, y);
    cpu().scatter_add(o, ids, dy, words, dtable);
    r.expect(y, [&](int64_t i) { return ids[i / r.n] == o.pad ? 0 : table[ids[i / r.n] * r.n + i % r.n]; });
    r.expect(dtable.data, [&] {
        Row sums(at(words * r.n));
        for (int64_t i = 0; i < r.all; ++i)
            sums[at(ids[i / r.n] * r.n + i % r.n)] += ids[i / r.n] == o.pad ? 0 : dy[i];
        return sums;
    });
}

// f(place) for each element of the middle of which element i of a reduction is made.
template <class F>
void for_middle(const Middle& m, int64_t i, const F& f) {
    for (int64_t j = 0; j < m.n; ++j)
        f((i / m.inner * m.n + j) * m.inner + i % m.inner);
}

void sum(Run& r, int64_t outer, int64_t n, int64_t inner, double scale) {
    const Middle m = {outer, n, inner};
    const Real* x = r.in(outer * n * inner, 1);
    const Out y = r.sink(outer * inner);
    cpu().sum(m, static_cast<Real>(scale), x, y);
    r.expect(y.data, [&](int64_t i) {
        double total = 0;
        for_middle(m, i, [&](int64_t place) { total += x[place]; });
        return total * scale;
    });
}

void max(Run& r) {
    if (r.rows == 0)
        return;  // of nothing there is no maximum
    const Middle m = {3, r.rows, r.n};
    const Real *x = r.in(3 * r.all, 1), *dy = r.in(3 * r.n, 2);
    int32_t* const index = r.places(3 * r.n);
    Real* y = r.out(3 * r.n);
    const Out dx = r.sink(3 * r.all);
    cpu().max(m, x, y, index);
    cpu().max_backward(m, index, dy, dx);
    const auto largest = [&](int64_t i) {
        int64_t best = -1;
        for_middle(m, i, [&](int64_t place) { best = best < 0 || x[place] > x[best] ? place : best; });
        return best;
    };
    r.expect(y, [&](int64_t i) { return x[largest(i)]; });
    r.expect(dx.data, [&] {
        Row d(at(3 * r.all));
        for (int64_t i = 0; i < 3 * r.n; ++i)
            d[at(largest(i))] = dy[i];
        return d;
    });
}

// To rows of a dense matrix, from numbers that lie `down` and `right` apart.
void copy(Run& r, int64_t rows, int64_t columns, int64_t down, int64_t right) {
    const Real* x = r.in(r.all, 1);
    const Out y = r.sink(r.all);
    cpu().copy({{1, 1, rows, columns}, {0, 0, down, right}, {0, 0, columns, 1}}, x, y);
    r.expect(y.data, [&](int64_t i) { return x[i / columns * down + i % columns * right]; });
}

void sum_of_squares(Run& r) {
    const Real* x = r.in(r.all, 1);
    const double sum = cpu().sum_of_squares(r.all, x), high = static_cast<double>(static_cast<Real>(sum));
    Real* y = r.out(2, {static_cast<Real>(high), static_cast<Real>(sum - high)});
    r.expect(y, [&] { return Row{dot(wide(r.all, x), wide(r.all, x)), sum - high}; });
}

// Bounds: the number in each place, the largest one, beyond all and below all; with NaN in no place, in one
// and in two.
void first_from(Run& r) {
    std::vector<Real> values = numbers(r.n, 1), found;
    Row expected;
    const auto find = [&](const Real* x, Real bound) {
        const auto is_found = [&](Real y) { return !(y < bound); };
        found.push_back(static_cast<Real>(cpu().first_from(r.n, x, bound)));
        expected.push_back(static_cast<double>(std::find_if(x, x + r.n, is_found) - x));
    };
    for (const int64_t nans : {0, 1, 2}) {
        if (nans > 0 && r.n > 0)
            values[at(r.n / nans - (nans == 1))] = kNan;
        const Real* x = r.in(values);
        const Real largest = r.n > 0 ? *std::max_element(x, x + r.n) : 0;  // of numbers
        for (const Real bound : {Real(100), Real(HUGE_VAL), Real(-HUGE_VAL), largest})
            find(x, bound);
        for (int64_t row = 0; r.n > 0 && row < r.rows; ++row)
            find(x, x[row * 37 % r.n]);
    }
    Real* y = r.out(length(found), found);
    r.expect(y, expected);
}

void adam(Run& r) {
    Adam o = {.lr = Real(0.25),
              .beta1 = Real(0.5),
              .beta2 = Real(0.75),
              .rest1 = Real(0.375),
              .rest2 = Real(0.25),
              .eps = Real(0.125),
              .correction1 = Real(0.5),
              .correction2 = Real(0.25),
              .decay = Real(0.5),
              .grad_scale = 2};
    const Real *grad = r.in(r.all, 1), *w = r.in(r.all, 2), *m = r.in(r.all, 3), *v = r.in(r.all, 4, 0.1, 1);
    for (const bool decoupled : {false, true}) {
        o.decoupled = decoupled;
        Real *to_w = r.out(r.all, w), *to_m = r.out(r.all, m), *to_v = r.out(r.all, v);
        cpu().adam(o, r.all, grad, to_w, to_m, to_v);
        const auto gradient = [&](int64_t i) { return 2.0 * grad[i] + (decoupled ? 0 : 0.5 * w[i]); };
        const auto mean = [&](int64_t i) { return 0.5 * m[i] + 0.375 * gradient(i); };
        const auto square = [&](int64_t i) { return 0.75 * v[i] + 0.25 * gradient(i) * gradient(i); };
        r.expect(to_m, mean);
        r.expect(to_v, square);
        r.expect(to_w, [&](int64_t i) {
            const double weight = static_cast<double>(w[i]), decay = decoupled ? 0.25 * 0.5 * weight : 0;
            return weight - decay - 0.25 * (mean(i) / 0.5) / (std::sqrt(square(i) / 0.25) + 0.125);
        });
    }
}

}  // namespace

std::vector<Call> moving_calls() {
    return {
        {"gather and scatter_add", look_up},
        {"sum, contiguous", [](Run& r) { sum(r, 1, r.all, 1, 0.3); }},
        {"sum, rows", [](Run& r) { sum(r, r.rows, r.n, 1, 1); }},
        {"sum, columns", [](Run& r) { sum(r, 1, r.rows, r.n, 1); }},
        {"sum, middle", [](Run& r) { sum(r, 3, r.rows, r.n, -1); }},
        {"max", max},
        {"copy, dense", [](Run& r) { copy(r, r.rows, r.n, r.n, 1); }},
        {"copy, transposing", [](Run& r) { copy(r, r.n, r.rows, 1, r.n); }},
        {"sum_of_squares", sum_of_squares},
        {"first_from", first_from},
        {"adam", adam},
    };
}

}  // namespace plaingrad::tests
