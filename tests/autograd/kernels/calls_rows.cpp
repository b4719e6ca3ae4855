// Softmax and its kind, cross-entropy, norms, rotary positions, gated units.
#include "tests/autograd/kernels/calls.h"
#include "tests/trust/functions.h"

namespace plaingrad::tests {

using namespace autograd::kernels;  // NOLINT

namespace {

// What all rows must be: f(number) of each.
template <class F>
Row by_rows(const Run& r, const F& f) {
    Row all;
    for (int64_t row = 0; row < r.rows; ++row) {
        const Row y = f(row);
        all.insert(all.end(), y.begin(), y.end());
    }
    return all;
}

void forward(Run& r, decltype(Kernels::softmax) kernel, Row (*value)(Row)) {
    const Real* x = r.in(r.all, 1);
    Real* y = r.out(r.all);
    kernel(r.rows, r.n, x, y);
    r.expect(y, [&] { return by_rows(r, [&](int64_t row) { return value(wide(r.n, x + row * r.n)); }); });
}

// slope(y, dy) of each row, for y between the two.
void backward(Run& r, decltype(Kernels::softmax_backward) kernel, double low, double high,
              Row (*slope)(const Row& y, Row dy)) {
    const Real *y = r.in(r.all, 1, low, high), *dy = r.in(r.all, 2);
    const Out dx = r.sink(r.all);
    kernel(r.rows, r.n, y, dy, dx);
    r.expect(dx.data, [&] {
        return by_rows(
            r, [&](int64_t row) { return slope(wide(r.n, y + row * r.n), wide(r.n, dy + row * r.n)); });
    });
}

Row softmax_slope(const Row& y, Row dy) {
    const double mean = dot(y, dy);
    for (std::size_t i = 0; i < y.size(); ++i)
        dy[i] = y[i] * (dy[i] - mean);
    return dy;
}

Row log_softmax_slope(const Row& y, Row dy) {
    const double sum = reference::total(dy);
    for (std::size_t i = 0; i < y.size(); ++i)
        dy[i] -= std::exp(y[i]) * sum;
    return dy;
}

void cross_entropy(Run& r) {
    const Real* x = r.in(r.all, 1);
    const auto ignore = static_cast<int32_t>(r.n);
    const int32_t* ids = r.ids(r.rows, std::max<int64_t>(r.n, 1), ignore);
    Real *loss = r.out(r.rows), *statistics = r.out(2 * r.rows);
    const Out dx = r.sink(r.all);
    cpu().cross_entropy(r.rows, r.n, x, ids, ignore, Real(0.25), loss, statistics);
    cpu().cross_entropy_backward(r.rows, r.n, x, ids, ignore, Real(0.25), statistics, Real(0.5), dx);
    const auto logits = [&](int64_t row) { return wide(r.n, x + row * r.n); };
    r.expect(loss, [&](int64_t row) {
        return ids[row] == ignore ? 0 : reference::cross_entropy({logits(row)}, {ids[row]}, -1, 0.25);
    });
    r.expect(statistics, [&] {
        return by_rows(r, [&](int64_t row) {
            const Row l = logits(row);
            const double largest = *std::max_element(l.begin(), l.end());
            const double log_of_sum = l[0] - reference::log_softmax(l)[0];
            return ids[row] == ignore ? Row{0, 0} : Row{largest, log_of_sum - largest};
        });
    });
    r.expect(dx.data, [&] {
        return by_rows(r, [&](int64_t row) {
            const Row p = reference::softmax(logits(row));
            return each(r.n, [&](int64_t i) {
                const double target = 0.25 / static_cast<double>(r.n) + (i == ids[row] ? 0.75 : 0);
                return ids[row] == ignore ? 0 : 0.5 * (p[at(i)] - target);
            });
        });
    });
}

// Of x, or of a residual, x + dropout(y). RMS norm: 0 stands for the mean, and there is no bias.
void norm(Run& r, bool is_rms, bool is_residual) {
    const Real *x = r.in(r.all, 1), *gain = r.in(r.n, 3), *dout = r.in(r.all, 4);
    const Real *y = is_residual ? r.in(r.all, 2) : nullptr, *bias = is_rms ? nullptr : r.in(r.n, 5);
    Real *sum = is_residual ? r.out(r.all) : nullptr, *out = r.out(r.all), *statistics = r.out(3 * r.rows);
    const LayerNorm o = {
        .rows = r.rows, .n = r.n, .eps = Real(0.5), .p = Real(0.3), .key = {1, 2}, .centred = !is_rms};
    cpu().layer_norm(o, x, y, gain, bias, sum, out, statistics);
    const Real* const s = is_residual ? sum : x;
    const Out dx = r.sink(r.all), dy = is_residual ? r.sink(r.all) : Out{nullptr}, dgain = r.sink(r.n),
              dbias = is_rms ? Out{nullptr} : r.sink(r.n);
    cpu().layer_norm_backward(o, s, gain, statistics, dout, dx, dy, dgain, dbias);
    if (!r.asks)
        return;
    const Row factors = r.dropout_factors(r.all, 0.3, o.key), g = wide(r.n, gain);
    const Row b = is_rms ? Row(at(r.n)) : wide(r.n, bias), one(at(r.n), 1), zero(at(r.n));
    const auto count = static_cast<double>(r.n);
    Row outs, kept, gradient, gains(at(r.n)), biases(at(r.n));
    for (int64_t row = 0; row < r.rows; ++row) {
        const Row of = wide(r.n, s + row * r.n), d = wide(r.n, dout + row * r.n);
        const auto normed = [&](const Row& by, const Row& shift) {
            return is_rms ? reference::rms_norm(of, by, 0.5) : reference::layer_norm(of, by, shift, 0.5);
        };
        const Row y_row = normed(g, b), x_hat = normed(one, zero);
        const Row dg = each(r.n, [&](int64_t i) { return d[at(i)] * g[at(i)]; });
        const double mean = is_rms ? 0 : reference::total(of) / count;
        const double inverse = 1 / std::sqrt(dot(of, of) / count - mean * mean + 0.5);
        const double of_mean = is_rms ? 0 : reference::total(dg) / count, along = dot(dg, x_hat) / count;
        outs.insert(outs.end(), y_row.begin(), y_row.end());
        kept.insert(kept.end(), {mean, 0, inverse});
        for (std::size_t i = 0; i < d.size(); ++i) {
            gradient.push_back((dg[i] - of_mean - x_hat[i] * along) * inverse);
            gains[i] += d[i] * x_hat[i];
            biases[i] += d[i];
        }
    }
    r.expect(sum, [&](int64_t i) { return x[i] + factors[at(i)] * y[i]; });
    r.expect(out, outs);
    r.expect(statistics, kept);
    r.expect(dx.data, gradient);
    r.expect(dy.data, [&](int64_t i) { return factors[at(i)] * gradient[at(i)]; });
    r.expect(dgain.data, gains);
    r.expect(dbias.data, biases);
}

// Two heads, of which some numbers turn, and 3 more.
void rotary(Run& r) {
    for (const int64_t half : {r.n / 3, (r.n + 1) / 2})
        for (const bool back : {false, true}) {
            const int64_t d = r.n + 1, row = 2 * d + 3, length = 5;
            const Real *turns = r.in(length * 2 * half, 1), *x = r.in(r.rows * row, 2);
            Rotary o = {.rows = r.rows, .row = row, .heads = 2, .d = d, .width = 2 * half, .length = length};
            o.back = back;
            Real *y = r.out(r.rows * row), *in_place = r.out(r.rows * row, x);
            cpu().rotary(o, turns, x, y);
            cpu().rotary(o, turns, in_place, in_place);
            const auto turned = [&] {
                const Row before = wide(r.rows * row, x);
                Row expected = before;
                for (int64_t i = 0; i < r.rows * 2 * half; ++i) {
                    const int64_t of_row = i / (2 * half), head = i / half % 2, place = i % half;
                    const std::size_t first = at(of_row * row + head * d + place), second = first + at(half);
                    const Real* const angle = turns + of_row % length * 2 * half + place;
                    const auto cosine = static_cast<double>(angle[0]);
                    const auto sine = (back ? -1 : 1) * static_cast<double>(angle[half]);
                    expected[first] = before[first] * cosine - before[second] * sine;
                    expected[second] = before[second] * cosine + before[first] * sine;
                }
                return expected;
            };
            r.expect(y, turned), r.expect(in_place, turned);
        }
}

void glu(Run& r) {
    const Real *gu = r.in(2 * r.all, 1), *dh = r.in(r.all, 2);
    for (const auto f : {Unary::relu, Unary::gelu, Unary::gelu_tanh, Unary::silu}) {
        Real* h = r.out(r.all);
        const Out dgu = r.sink(2 * r.all);
        cpu().glu(f, r.rows, r.n, gu, h);
        cpu().glu_backward(f, r.rows, r.n, gu, dh, dgu);
        const auto gate = [&](bool derivative, int64_t row, int64_t i) {
            return trust::true_value<double>(f, derivative, gu[row * 2 * r.n + i]).value;
        };
        const auto up = [&](int64_t row, int64_t i) {
            return static_cast<double>(gu[row * 2 * r.n + r.n + i]);
        };
        r.expect(h, [&](int64_t i) { return gate(false, i / r.n, i % r.n) * up(i / r.n, i % r.n); });
        r.expect(dgu.data, [&](int64_t i) {
            const int64_t row = i / (2 * r.n), column = i % r.n;
            const auto d = static_cast<double>(dh[row * r.n + column]);
            return i / r.n % 2 == 0 ? d * up(row, column) * gate(true, row, column)
                                    : d * gate(false, row, column);
        });
    }
}

}  // namespace

std::vector<Call> row_calls() {
    return {
        {"softmax", [](Run& r) { forward(r, cpu().softmax, reference::softmax); }},
        {"softmax_backward", [](Run& r) { backward(r, cpu().softmax_backward, 0, 1, softmax_slope); }},
        {"log_softmax", [](Run& r) { forward(r, cpu().log_softmax, reference::log_softmax); }},
        {"log_softmax_backward",
         [](Run& r) { backward(r, cpu().log_softmax_backward, -9, 0, log_softmax_slope); }},
        {"cross_entropy", cross_entropy},
        {"layer_norm", [](Run& r) { norm(r, false, false); }},
        {"layer_norm of a residual", [](Run& r) { norm(r, false, true); }},
        {"RMS norm", [](Run& r) { norm(r, true, false); }},
        {"RMS norm of a residual", [](Run& r) { norm(r, true, true); }},
        {"rotary", rotary},
        {"glu", glu},
    };
}

}  // namespace plaingrad::tests
