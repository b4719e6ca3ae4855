// Kernels that treat each row of n numbers by itself: softmax, log-softmax, cross-entropy, layer norm.
// Part of unit.cpp. Forward and backward stand side by side; references: tests/reference.h.
#include "autograd/base/parallel.h"
#include "autograd/base/scratch.h"
#include "autograd/kernels/random.h"
#include "autograd/kernels/row.h"

namespace autograd::kernels {
namespace {

// ---- softmax: y = exp(x) / Σ exp(x)          dx = y * (dy - Σ y dy)

void softmax(int64_t rows, int64_t n, const Real* x, Real* y) {
    for_rows(rows, n, [&](int64_t r) { row_softmax(n, x + r * n, y + r * n); });
}

void softmax_backward(int64_t rows, int64_t n, const Real* y, const Real* dy, Out dx) {
    for_rows(rows, n, [&](int64_t r) {
        const Real *yr = y + r * n, *dyr = dy + r * n;
        const Vec dot = broadcast(row_dot(n, yr, dyr));
        for (int64_t i = 0; i < n; i += kLanes)
            put(dx, r * n + i, n - i, load(yr + i, n - i) * (load(dyr + i, n - i) - dot));
    });
}

// ---- log-softmax: y = x - log Σ exp(x)       dx = dy - exp(y) * Σ dy

void log_softmax(int64_t rows, int64_t n, const Real* x, Real* y) {
    for_rows(rows, n, [&](int64_t r) {
        const Real* xr = x + r * n;
        const Real shift = row_max(n, xr);  // apart from the sum's logarithm: x - max is exact near 0
        const Vec rest = log(broadcast(row_sum_exp(n, xr, shift)));
        for (int64_t i = 0; i < n; i += kLanes)
            store(y + r * n + i, n - i, (load(xr + i, n - i) - broadcast(shift)) - rest);
    });
}

void log_softmax_backward(int64_t rows, int64_t n, const Real* y, const Real* dy, Out dx) {
    for_rows(rows, n, [&](int64_t r) {
        const Real *yr = y + r * n, *dyr = dy + r * n;
        const Vec sum = broadcast(row_sum(n, dyr));
        for (int64_t i = 0; i < n; i += kLanes)
            put(dx, r * n + i, n - i, fnma(exp(load(yr + i, n - i)), sum, load(dyr + i, n - i)));
    });
}

// ---- cross-entropy with label smoothing s, on logits x:
//      loss = lse - (1-s) x[target] - s mean(x)         lse = log Σ exp(x)
//      dx   = scale * (exp(x - lse) - s/n - (1-s) [v == target])

void cross_entropy(int64_t rows, int64_t n, const Real* logits, const int32_t* targets, int32_t ignore,
                   Real smoothing, Real* loss, Real* log_sum_exp) {
    for_rows(rows, n, [&](int64_t r) {
        loss[r] = log_sum_exp[r] = 0;
        if (targets[r] == ignore)
            return;
        const Real* x = logits + r * n;
        const Real shift = row_max(n, x);
        const Real rest = first_lane(log(broadcast(row_sum_exp(n, x, shift))));
        log_sum_exp[r] = shift + rest;
        // Not from log_sum_exp: where the logits are large it has lost the digits that make up a small loss.
        loss[r] = rest - (Real(1) - smoothing) * (x[targets[r]] - shift);
        if (smoothing != 0)
            loss[r] = loss[r] - smoothing * (row_sum(n, x) / static_cast<Real>(n) - shift);
    });
}

void cross_entropy_backward(int64_t rows, int64_t n, const Real* logits, const int32_t* targets,
                            int32_t ignore, Real smoothing, const Real* log_sum_exp, Real scale,
                            Out dlogits) {
    const Vec spread = broadcast(smoothing / static_cast<Real>(n)), factor = broadcast(scale);
    for_rows(rows, n, [&](int64_t r) {
        Real* to = dlogits.data + r * n;
        if (targets[r] == ignore) {
            for (int64_t i = 0; !dlogits.accumulate && i < n; i += kLanes)
                store(to + i, n - i, zero());
            return;
        }
        const Vec lse = broadcast(log_sum_exp[r]);
        for (int64_t i = 0; i < n; i += kLanes) {
            const Vec p = exp(load(logits + r * n + i, n - i) - lse);
            put(dlogits, r * n + i, n - i, (p - spread) * factor);
        }
        to[targets[r]] = to[targets[r]] - scale * (Real(1) - smoothing);
    });
}

// ---- layer norm: y = x̂ gain + bias,  x̂ = (x - mean) rstd,  rstd = 1/sqrt(var + eps)
//      dx = rstd (g - mean(g) - x̂ mean(g x̂)),  g = dy gain;   dgain = Σ dy x̂,  dbias = Σ dy
//
// The variance is the corrected two-pass one: with d = x - m for the rounded mean m, the remainder
// c = mean(d) is not quite 0, and var = mean(d²) - c². On rows with a mean of 1000 and a spread of
// 0.01 the one-pass formula loses every digit, the plain two-pass most; this loses none.

struct RowStatistics {
    Real mean, remainder, rstd;
};

inline Vec centred(const Real* x, int64_t n, const RowStatistics& s) {
    return (load(x, n) - broadcast(s.mean)) - broadcast(s.remainder);
}

RowStatistics row_statistics(int64_t n, const Real* x, Real eps) {
    const Real count = static_cast<Real>(n);
    const Real mean = row_sum(n, x) / count;
    Vec sum = zero(), squares = zero();
    for (int64_t i = 0; i < n; i += kLanes) {
        const Vec d = load(x + i, n - i, mean) - broadcast(mean);
        sum = sum + d;
        squares = fma(d, d, squares);
    }
    const Real remainder = reduce_add(sum) / count;
    const Real variance = reduce_add(squares) / count - remainder * remainder;
    const Vec bounded = broadcast((variance > 0 ? variance : Real(0) * variance) + eps);
    return {mean, remainder, first_lane(broadcast(1) / sqrt(bounded))};
}

void layer_norm(const LayerNorm& o, const Real* x, const Real* y, const Real* gain, const Real* bias,
                Real* sum, Real* out, Real* statistics) {
    const int64_t n = o.n;
    const DropOut drop_out(o.key, o.p);
    for_rows(o.rows, n, [&](int64_t r) {
        for (int64_t i = 0; y != nullptr && i < n; i += kLanes) {
            const int64_t at = r * n + i;
            store(sum + at, n - i, load(x + at, n - i) + drop_out(load(y + at, n - i), at));
        }
        const Real* const xr = (y != nullptr ? sum : x) + r * n;
        const RowStatistics s = row_statistics(n, xr, o.eps);
        for (int64_t i = 0; i < n; i += kLanes) {
            const Vec x_hat = centred(xr + i, n - i, s) * broadcast(s.rstd);
            store(out + r * n + i, n - i, fma(x_hat, load(gain + i, n - i), load(bias + i, n - i)));
        }
        statistics[3 * r] = s.mean;
        statistics[3 * r + 1] = s.remainder;
        statistics[3 * r + 2] = s.rstd;
    });
}

// Row r of dx, and of dy if x was a sum.
void layer_norm_dx(const LayerNorm& o, int64_t r, const Real* x, const Real* gain, const RowStatistics& s,
                   const Real* dout, Out dx, Out dy) {
    const int64_t n = o.n;
    const Real count = static_cast<Real>(n);
    Vec sum = zero(), dot = zero();
    for (int64_t i = 0; i < n; i += kLanes) {
        const Vec g = load(dout + i, n - i) * load(gain + i, n - i);
        sum = sum + g;
        dot = fma(g, centred(x + i, n - i, s) * broadcast(s.rstd), dot);
    }
    const DropOut drop_out(o.key, o.p);
    const Vec mean_g = broadcast(reduce_add(sum) / count), mean_gx = broadcast(reduce_add(dot) / count);
    for (int64_t i = 0; i < n; i += kLanes) {
        const Vec g = load(dout + i, n - i) * load(gain + i, n - i);
        const Vec x_hat = centred(x + i, n - i, s) * broadcast(s.rstd);
        const Vec d = fnma(x_hat, mean_gx, g - mean_g) * broadcast(s.rstd);
        if (dx.data != nullptr)
            put(dx, r * n + i, n - i, d);
        if (dy.data != nullptr)
            put(dy, r * n + i, n - i, drop_out(d, r * n + i));
    }
}

// Rows whose gain and bias gradients are summed into one partial result: fixed, so that the bits are.
constexpr int64_t kGainRows = 64;

void layer_norm_backward(const LayerNorm& o, const Real* x, const Real* gain, const Real* statistics,
                         const Real* dout, Out dx, Out dy, Out dgain, Out dbias) {
    const int64_t n = o.n, blocks = (o.rows + kGainRows - 1) / kGainRows;
    Real* partial = scratch(Scratch::partial, 2 * blocks * n + kLanes);  // (blocks, 2, n)
    parallel_for(0, o.rows, kGainRows, [&](int64_t begin, int64_t end) {
        Real *gains = partial + begin / kGainRows * 2 * n, *biases = gains + n;
        for (int64_t i = 0; i < 2 * n; ++i)
            gains[i] = 0;
        for (int64_t r = begin; r < end; ++r) {
            const Real *xr = x + r * n, *dr = dout + r * n;
            const RowStatistics s = {statistics[3 * r], statistics[3 * r + 1], statistics[3 * r + 2]};
            for (int64_t i = 0; i < n; i += kLanes) {
                const Vec d = load(dr + i, n - i);
                const Vec x_hat = centred(xr + i, n - i, s) * broadcast(s.rstd);
                store(gains + i, n - i, fma(d, x_hat, load(gains + i, n - i)));
                store(biases + i, n - i, d + load(biases + i, n - i));
            }
            if (dx.data != nullptr || dy.data != nullptr)
                layer_norm_dx(o, r, xr, gain, s, dr, dx, dy);
        }
    });
    const auto add_up = [&](const Real* first, const Out& out) {
        if (out.data == nullptr)
            return;
        parallel_for(0, (n + kLanes - 1) / kLanes, kGainRows, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin * kLanes; i < end * kLanes; i += kLanes) {
                Vec sum = zero();
                for (int64_t b = 0; b < blocks; ++b)
                    sum = sum + load(first + b * 2 * n + i, n - i);
                put(out, i, n - i, sum);
            }
        });
    };
    add_up(partial, dgain);
    add_up(partial + n, dbias);
}

}  // namespace
}  // namespace autograd::kernels
