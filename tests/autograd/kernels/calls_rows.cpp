// Softmax and its kind, cross-entropy, norms, rotary positions, gated units.
#include "tests/autograd/kernels/calls.h"

namespace plaingrad::tests {

using namespace autograd::kernels;  // NOLINT

std::vector<Call> row_calls() {
    return {
        {"softmax", false,
         [](Run& r) { cpu().softmax(r.rows, r.n, r.in(r.rows * r.n, 1), r.out(r.rows * r.n)); }},
        {"softmax_backward", true,
         [](Run& r) {
             const int64_t all = r.rows * r.n;
             cpu().softmax_backward(r.rows, r.n, r.in(all, 1, 0, 1), r.in(all, 2), r.sink(all));
         }},
        {"log_softmax", false,
         [](Run& r) { cpu().log_softmax(r.rows, r.n, r.in(r.rows * r.n, 1), r.out(r.rows * r.n)); }},
        {"log_softmax_backward", true,
         [](Run& r) {
             const int64_t all = r.rows * r.n;
             cpu().log_softmax_backward(r.rows, r.n, r.in(all, 1, -4, 0), r.in(all, 2), r.sink(all));
         }},
        {"cross_entropy", true,
         [](Run& r) {
             const Real* x = r.in(r.rows * r.n, 1);
             const int32_t* ids = r.ids(r.rows, std::max<int64_t>(r.n, 1), 0);
             Real *loss = r.out(r.rows), *statistics = r.out(2 * r.rows);
             cpu().cross_entropy(r.rows, r.n, x, ids, 0, Real(0.1), loss, statistics);
             cpu().cross_entropy_backward(r.rows, r.n, x, ids, 0, Real(0.1), statistics, Real(0.7),
                                          r.sink(r.rows * r.n));
         }},
        {"layer_norm", true,
         [](Run& r) {
             const int64_t all = r.rows * r.n;
             const Real *x = r.in(all, 1), *gain = r.in(r.n, 2), *dy = r.in(all, 3);
             Real *y = r.out(all), *statistics = r.out(3 * r.rows);
             const autograd::kernels::LayerNorm o = {.rows = r.rows, .n = r.n, .eps = Real(1e-5)};
             cpu().layer_norm(o, x, nullptr, gain, r.in(r.n, 4), nullptr, y, statistics);
             const Out dx = r.sink(all), dgain = r.sink(r.n), dbias = r.sink(r.n);
             cpu().layer_norm_backward(o, x, gain, statistics, dy, dx, {nullptr}, dgain, dbias);
         }},
        {"residual, layer_norm of it", true,
         [](Run& r) {
             const int64_t all = r.rows * r.n;
             const Real *x = r.in(all, 1), *y = r.in(all, 2), *gain = r.in(r.n, 3), *dout = r.in(all, 4);
             Real *sum = r.out(all), *out = r.out(all), *statistics = r.out(3 * r.rows);
             const autograd::kernels::LayerNorm o = {
                 .rows = r.rows, .n = r.n, .eps = Real(1e-5), .p = Real(0.3), .key = {1, 2}};
             cpu().layer_norm(o, x, y, gain, r.in(r.n, 5), sum, out, statistics);
             const Out dx = r.sink(all), dy = r.sink(all), dgain = r.sink(r.n), dbias = r.sink(r.n);
             cpu().layer_norm_backward(o, sum, gain, statistics, dout, dx, dy, dgain, dbias);
             cpu().residual(all, Real(0.3), {1, 2}, x, y, r.out(all));
         }},
        {"RMS norm, of x and of a residual", true,
         [](Run& r) {
             const int64_t all = r.rows * r.n;
             const Real *x = r.in(all, 1), *y = r.in(all, 2), *gain = r.in(r.n, 3), *dout = r.in(all, 4);
             Real *sum = r.out(all), *out = r.out(all), *statistics = r.out(3 * r.rows);
             autograd::kernels::LayerNorm o = {.rows = r.rows, .n = r.n, .eps = Real(1e-5), .centred = false};
             cpu().layer_norm(o, x, nullptr, gain, nullptr, nullptr, r.out(all), statistics);
             o.p = Real(0.3);
             cpu().layer_norm(o, x, y, gain, nullptr, sum, out, statistics);
             const Out dx = r.sink(all), dy = r.sink(all), dgain = r.sink(r.n);
             cpu().layer_norm_backward(o, sum, gain, statistics, dout, dx, dy, dgain, {nullptr});
         }},
        {"rotary", false,
         [](Run& r) {
             const int64_t half = r.n / 3, length = 2, row = 2 * r.n + 1;
             const Real *turns = r.in(length * 2 * half, 1), *x = r.in(r.rows * row, 2);
             const autograd::kernels::Rotary o = {
                 .rows = r.rows, .row = row, .heads = 2, .d = r.n, .width = 2 * half, .length = length};
             cpu().rotary(o, turns, x, r.out(r.rows * row));
         }},
        {"glu", true,
         [](Run& r) {
             const int64_t all = r.rows * r.n;
             const Real *gu = r.in(2 * all, 1), *dh = r.in(all, 2);
             for (const auto f : {Unary::relu, Unary::gelu, Unary::gelu_tanh, Unary::silu}) {
                 cpu().glu(f, r.rows, r.n, gu, r.out(all));
                 cpu().glu_backward(f, r.rows, r.n, gu, dh, r.sink(2 * all));
             }
         }},
    };
}

}  // namespace plaingrad::tests
