// Adam, "Adam: A Method for Stochastic Optimization" (Kingma & Ba 2015), algorithm 1, one fused pass
// over a parameter. Part of unit.cpp.
//
//   m = β1 m + (1-β1) g        v = β2 v + (1-β2) g²
//   w = w - lr m̂ / (sqrt(v̂) + eps),    m̂ = m / (1-β1^t),  v̂ = v / (1-β2^t)
//
// What does not depend on the element (the two corrections, both rates) is computed once.
#include "autograd/base/parallel.h"
#include "autograd/kernels/row.h"

namespace plaingrad::autograd::kernels {
namespace {

void adam(const Adam& o, int64_t n, const Real* grad, Real* w, Real* m, Real* v) {
    const Vec beta1 = broadcast(o.beta1), beta2 = broadcast(o.beta2), eps = broadcast(o.eps);
    const Vec rest1 = broadcast(o.rest1), rest2 = broadcast(o.rest2);
    const Vec rate = broadcast(o.lr / o.correction1);
    const Vec unbias = broadcast(1) / sqrt(broadcast(o.correction2));
    const Vec coupled = broadcast(o.decoupled ? 0 : o.decay);
    const Vec decoupled = broadcast(o.decoupled ? o.lr * o.decay : 0);  // 1 - this would lose its digits
    const Vec grad_scale = broadcast(o.grad_scale);
    parallel_for(0, n, kGrainNumbers, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i += kLanes) {
            const int64_t left = end - i;
            const Vec weight = load(w + i, left);
            const Vec g = fma(coupled, weight, load(grad + i, left) * grad_scale);
            const Vec mean = fma(beta1, load(m + i, left), rest1 * g);
            const Vec square = fma(beta2, load(v + i, left), rest2 * (g * g));
            const Vec step = rate * mean / fma(sqrt(square), unbias, eps);
            store(m + i, left, mean);
            store(v + i, left, square);
            store(w + i, left, weight - fma(decoupled, weight, step));
        }
    });
}

}  // namespace
}  // namespace plaingrad::autograd::kernels
