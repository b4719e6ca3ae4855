// Kernels that treat each row of n numbers by itself: softmax, log-softmax, a search, cross-entropy, layer
// norm.
// Part of unit.cpp. Forward and backward stand side by side; references: tests/reference.h.
#include "autograd/base/parallel.h"
#include "autograd/kernels/random.h"
#include "autograd/kernels/row.h"
#include "autograd/kernels/scratch.h"

namespace plaingrad::autograd::kernels {
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
        const Real shift = row_max(n, xr);  // subtracted by itself: x - max is exact near 0
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

// ---- the first number of a row that is not below a bound: how decoding finds the best of a vocabulary

// Nearly all are below it. So 128 are compared without a branch, and one branch then asks whether any was not
// below the bound, which NaN is not either. x[i] is asked first: where most are wanted, that ends the call.
int64_t first_from(int64_t n, const Real* x, Real bound) {
    constexpr int64_t kBlock = 8 * kLanes;
    int64_t i = 0;
    for (; i + kBlock <= n && x[i] < bound; i += kBlock) {
        Vec found = zero();
        for (int64_t j = i; j < i + kBlock; j += kLanes)
            found = select(less(load(x + j), broadcast(bound)), found, broadcast(1));
        if (reduce_max(found) > 0)
            break;
    }
    while (i < n && x[i] < bound)
        ++i;
    return i;
}

// ---- cross-entropy with label smoothing s, on logits x:
//      loss = log Σ exp(x) - (1-s) x[target] - s mean(x)
//      dx   = scale * (exp(x) / Σ exp(x) - s/n - (1-s) [v == target])
//
// log Σ exp(x) = max + rest is kept as these two numbers. With large logits their sum would lose the digits
// of a small loss, and a probability would be off by 2.5e-4 at logits of 10⁴, by 0.3 at 10⁷.

void cross_entropy(int64_t rows, int64_t n, const Real* logits, const int32_t* targets, int32_t ignore,
                   Real smoothing, Real* loss, Real* statistics) {
    for_rows(rows, n, [&](int64_t r) {
        loss[r] = statistics[2 * r] = statistics[2 * r + 1] = 0;
        if (targets[r] == ignore)
            return;
        const Real* x = logits + r * n;
        const Real shift = row_max(n, x);
        const Real rest = first_lane(log(broadcast(row_sum_exp(n, x, shift))));
        statistics[2 * r] = shift;
        statistics[2 * r + 1] = rest;
        loss[r] = rest - (Real(1) - smoothing) * (x[targets[r]] - shift);
        if (smoothing != 0)
            loss[r] = loss[r] - smoothing * (row_sum_above(n, x, shift) / static_cast<Real>(n));
    });
}

void cross_entropy_backward(int64_t rows, int64_t n, const Real* logits, const int32_t* targets,
                            int32_t ignore, Real smoothing, const Real* statistics, Real scale, Out dlogits) {
    const Vec spread = broadcast(smoothing / static_cast<Real>(n)), factor = broadcast(scale);
    for_rows(rows, n, [&](int64_t r) {
        Real* to = dlogits.data + r * n;
        if (targets[r] == ignore) {
            for (int64_t i = 0; !dlogits.accumulate && i < n; i += kLanes)
                store(to + i, n - i, zero());
            return;
        }
        const Vec shift = broadcast(statistics[2 * r]), rest = broadcast(statistics[2 * r + 1]);
        for (int64_t i = 0; i < n; i += kLanes) {
            const Vec p = exp((load(logits + r * n + i, n - i) - shift) - rest);
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
// 0.01 the one-pass formula loses every digit and the plain two-pass one most of them; this loses none.
//
// RMS norm is the same with 0 for the mean, so that var = mean(x²), and without the term mean(g) in dx.
//
// Short rows are processed 16 at a time: their reductions are combined into one (row.h), and so are the
// square root and the quotient. For long rows memory is the limit, so they are processed one by one: reading
// one row overlaps with writing another.

constexpr int64_t kNormRows = kLanes;
constexpr int64_t kShortRow = 256;

// f(begin, end) for the rows from first to last.
template <class F>
void for_norm_rows(int64_t n, int64_t first, int64_t last, const F& f) {
    const int64_t step = n <= kShortRow ? kNormRows : 1;
    for (int64_t r = first; r < last; r += step)
        f(r, r + step < last ? r + step : last);
}

struct RowStatistics {
    Real mean, remainder, rstd;  // the mean in two parts
};
inline RowStatistics kept_statistics(const Real* statistics, int64_t row) {
    return {statistics[3 * row], statistics[3 * row + 1], statistics[3 * row + 2]};
}

inline Vec normalised(const Real* x, int64_t n, const RowStatistics& s) {
    return (load(x, n) - broadcast(s.mean) - broadcast(s.remainder)) * broadcast(s.rstd);
}

// Of at most 16 rows of n, to (rows, 3).
void row_statistics(const LayerNorm& o, int64_t rows, const Real* x, Real* statistics) {
    const int64_t n = o.n;
    alignas(64) Real sums[kNormRows * kLanes] = {}, squares[kNormRows * kLanes] = {};
    alignas(64) Real mean[kNormRows], remainder[kNormRows], rstd[kNormRows];
    const Vec count = broadcast(static_cast<Real>(n));
    for (int64_t r = 0; o.centred && r < rows; ++r)
        store(sums + r * kLanes, row_sums(n, x + r * n));
    store(mean, sum_rows(sums) / count);
    for (int64_t r = 0; r < rows; ++r) {
        const TwoSums sum = sum_terms(n, kLanes, TwoSums(), [&](const TwoSums& so_far, int64_t i) {
            const Vec d = load(x + r * n + i, n - i, mean[r]) - broadcast(mean[r]);
            return TwoSums{so_far.a + d, fma(d, d, so_far.b)};
        });
        store(sums + r * kLanes, sum.a);
        store(squares + r * kLanes, sum.b);
    }
    const Vec rest = o.centred ? sum_rows(sums) / count : zero();
    const Vec variance = sum_rows(squares) / count - rest * rest;
    store(remainder, rest);
    // 0 * variance: a NaN stays one
    const Vec bounded = select(less(zero(), variance), variance, zero() * variance) + broadcast(o.eps);
    store(rstd, broadcast(1) / sqrt(bounded));
    for (int64_t r = 0; r < rows; ++r) {
        statistics[3 * r] = mean[r];
        statistics[3 * r + 1] = remainder[r];
        statistics[3 * r + 2] = rstd[r];
    }
}

void layer_norm(const LayerNorm& o, const Real* x, const Real* y, const Real* gain, const Real* bias,
                Real* sum, Real* out, Real* statistics) {
    const int64_t n = o.n;
    const Real* const from = y != nullptr ? sum : x;
    const auto block = [&](int64_t first, int64_t last) {
        const DropOut drop_out(o.key, o.p);  // a local, which the compiler need not reload after every store
        for (int64_t r = first; y != nullptr && r < last; ++r)
            for (int64_t i = 0; i < n; i += kLanes) {
                const int64_t at = r * n + i;
                store(sum + at, n - i, load(x + at, n - i) + drop_out(load(y + at, n - i), at));
            }
        row_statistics(o, last - first, from + first * n, statistics + 3 * first);
        for (int64_t r = first; r < last; ++r) {
            const RowStatistics s = kept_statistics(statistics, r);
            for (int64_t i = 0; i < n; i += kLanes)
                store(out + r * n + i, n - i,
                      fma(normalised(from + r * n + i, n - i, s), load(gain + i, n - i),
                          bias != nullptr ? load(bias + i, n - i) : zero()));
        }
    };
    for_chunks(o.rows, n, [&](int64_t begin, int64_t end) { for_norm_rows(n, begin, end, block); });
}

// Rows first ... last - 1, at most 16: adds to `gains` and `biases`, partial results of dgain and dbias, and
// writes dx, and dy if x was a sum.
void layer_norm_backward_block(const LayerNorm& o, int64_t first, int64_t last, const Real* x,
                               const Real* gain, const Real* statistics, const Real* dout, Out dx, Out dy,
                               Real* gains, Real* biases) {
    alignas(64) Real sums[kNormRows * kLanes] = {}, dots[kNormRows * kLanes] = {};
    alignas(64) Real mean_g[kNormRows], mean_gx[kNormRows];
    const int64_t n = o.n;
    for (int64_t r = first; r < last; ++r) {
        const RowStatistics s = kept_statistics(statistics, r);
        const TwoSums sum = sum_terms(n, kLanes, TwoSums(), [&](const TwoSums& so_far, int64_t i) {
            const Vec d = load(dout + r * n + i, n - i), x_hat = normalised(x + r * n + i, n - i, s);
            const Vec g = d * load(gain + i, n - i);
            store(gains + i, n - i, fma(d, x_hat, load(gains + i, n - i)));
            store(biases + i, n - i, d + load(biases + i, n - i));
            return TwoSums{so_far.a + g, fma(g, x_hat, so_far.b)};
        });
        store(sums + (r - first) * kLanes, sum.a);
        store(dots + (r - first) * kLanes, sum.b);
    }
    if (dx.data == nullptr && dy.data == nullptr)
        return;
    const DropOut drop_out(o.key, o.p);
    const Vec count = broadcast(static_cast<Real>(n));
    store(mean_g, o.centred ? sum_rows(sums) / count : zero());
    store(mean_gx, sum_rows(dots) / count);
    for (int64_t r = first; r < last; ++r) {
        const RowStatistics s = kept_statistics(statistics, r);
        const Vec g_mean = broadcast(mean_g[r - first]), gx_mean = broadcast(mean_gx[r - first]);
        for (int64_t i = 0; i < n; i += kLanes) {
            const int64_t at = r * n + i;
            const Vec g = load(dout + at, n - i) * load(gain + i, n - i);
            const Vec d = fnma(normalised(x + at, n - i, s), gx_mean, g - g_mean) * broadcast(s.rstd);
            if (dx.data != nullptr)
                put(dx, at, n - i, d);
            if (dy.data != nullptr)
                put(dy, at, n - i, drop_out(d, at));
        }
    }
}

// The number of rows whose gain and bias gradients make one partial result: fixed, to fix the bits.
constexpr int64_t kGainRows = 64;

// out (n) = the sum of the partial results (blocks, n), in their order; their rows are `stride` apart. Does
// nothing if out.data is nullptr.
void add_partial_results(int64_t blocks, int64_t n, int64_t stride, const Real* partial, const Out& out) {
    if (out.data == nullptr)
        return;
    parallel_for(0, (n + kLanes - 1) / kLanes, /*grain*/ 64, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin * kLanes; i < end * kLanes; i += kLanes) {
            put(out, i, n - i, sum_terms(blocks, 1, [&](Vec sum, int64_t b) {
                    return sum + load(partial + b * stride + i, n - i);
                }));
        }
    });
}

void layer_norm_backward(const LayerNorm& o, const Real* x, const Real* gain, const Real* statistics,
                         const Real* dout, Out dx, Out dy, Out dgain, Out dbias) {
    const int64_t n = o.n, blocks = (o.rows + kGainRows - 1) / kGainRows;
    Real* partial = scratch(Scratch::partial, 2 * blocks * n);  // (blocks, 2, n)
    parallel_for(0, o.rows, kGainRows, [&](int64_t begin, int64_t end) {
        Real *gains = partial + begin / kGainRows * 2 * n, *biases = gains + n;
        for (int64_t i = 0; i < 2 * n; i += kLanes)
            store(gains + i, 2 * n - i, zero());
        for_norm_rows(n, begin, end, [&](int64_t first, int64_t last) {
            layer_norm_backward_block(o, first, last, x, gain, statistics, dout, dx, dy, gains, biases);
        });
    });
    add_partial_results(blocks, n, 2 * n, partial, dgain);
    add_partial_results(blocks, n, 2 * n, partial + n, dbias);
}

}  // namespace
}  // namespace plaingrad::autograd::kernels
