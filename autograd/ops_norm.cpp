// Layer normalisation (Ba, Kiros & Hinton 2016) and RMS normalisation (Zhang & Sennrich 2019), alone and
// fused with a residual connection before it. The formulas: kernels/rows.cpp.
#include "autograd/op.h"
#include "autograd/ops.h"
#include "autograd/plain.h"

namespace plaingrad::autograd {
namespace {

// out = x̂ gain + bias,  x̂ = (s - mean) rstd,  s = x + dropout(y), or x without a y
// ds = rstd (g - mean(g) - x̂ mean(g x̂)) with g = dout gain;   dgain = Σ dout x̂,  dbias = Σ dout
// dx = ds,  dy = ds m with dropout's factors m, which are 0 or 1/(1-p)
// RMS norm (o.centred is false) has neither mean nor mean(g): only mean(g x̂) stays.
// Backward keeps s and three numbers a row. It computes x̂ again, which is cheaper than keeping it.
Tensor normalized(const char* op, const Tensor& x, const Tensor& y, const Tensor& gain, const Tensor& bias,
                  kernels::LayerNorm o) {
    o.n = x.size(-1);
    o.rows = o.n > 0 ? x.numel() / o.n : 0;
    Tensor out = Tensor::uninitialized(x.shape()), statistics = Tensor::uninitialized({o.rows, 3});
    Tensor s = y.defined() ? Tensor::uninitialized(x.shape()) : x;
    kernels::cpu().layer_norm(
        o, x.data(), y.defined() ? y.data() : nullptr, gain.data(), bias.defined() ? bias.data() : nullptr,
        y.defined() ? s.mutable_data() : nullptr, out.mutable_data(), statistics.mutable_data());
    return with_backward(
        op, out, {&x, &y, &gain, &bias},
        [o, dx = x.sink(), dy = y.sink(), dgain = gain.sink(), dbias = bias.sink(), s = s.save(),
         gain = gain.save(), statistics = statistics.save()](const Tensor& dout) {
            const kernels::Out to_x = dx.open(), to_y = dy.open();
            const kernels::Out to_gain = dgain.open(), to_bias = dbias.open();
            kernels::cpu().layer_norm_backward(o, s.data(), gain.data(), statistics.data(), dout.data(), to_x,
                                               to_y, to_gain, to_bias);
        });
}

void check_norm(const char* op, const Tensor& x, const Tensor& gain, const Tensor& bias, Real eps) {
    check(x.rank() >= 1 && gain.shape() == Shape{x.size(-1)} &&
              (!bias.defined() || bias.shape() == gain.shape()),
          "[", op, "] x is ", x.shape(), ", gain is ", gain.shape(), ", bias is ", bias.shape(),
          "; gain and bias must have x's last size");
    check(eps >= 0, "[", op, "] eps must not be negative: got ", eps);
}

void check_residual(const char* op, const Tensor& x, const Tensor& y, Real p) {
    check(x.shape() == y.shape(), "[", op, "] x is ", x.shape(), ", y is ", y.shape(),
          "; they must be equal");
    check(p >= 0 && p < 1, "[", op, "] the dropout rate must be in [0, 1): got ", p);
    y.data();  // throws if y is empty: `normalized` takes that for a norm without a residual
}

}  // namespace

Tensor layer_norm(const Tensor& x, const Tensor& gain, const Tensor& bias, Real eps) {
    check_norm("layer_norm", x, gain, bias, eps);
    if (Plain::active())
        return plain::layer_norm(x, gain, bias, eps);
    return normalized("layer_norm", x, {}, gain, bias, {.rows = 0, .n = 0, .eps = eps});
}

Tensor residual_norm(const Tensor& x, const Tensor& y, Real p, const Rng& rng, const Tensor& gain,
                     const Tensor& bias, Real eps) {
    check_residual("residual_norm", x, y, p);
    check_norm("residual_norm", x, gain, bias, eps);
    if (Plain::active())
        return plain::residual_norm(x, y, p, rng, gain, bias, eps);
    return normalized("residual_norm", x, y, gain, bias,
                      {.rows = 0, .n = 0, .eps = eps, .p = p, .key = rng.key()});
}

Tensor rms_norm(const Tensor& x, const Tensor& gain, Real eps) {
    check_norm("rms_norm", x, gain, {}, eps);
    if (Plain::active())
        return plain::rms_norm(x, gain, eps);
    return normalized("rms_norm", x, {}, gain, {}, {.rows = 0, .n = 0, .eps = eps, .centred = false});
}

// out = x + dropout(y)        dx = dout,  dy = dout where y was kept, scaled
Tensor residual(const Tensor& x, const Tensor& y, Real p, const Rng& rng) {
    check_residual("residual", x, y, p);
    if (Plain::active())
        return plain::residual(x, y, p, rng);
    Tensor out = Tensor::uninitialized(x.shape());
    kernels::cpu().residual(x.numel(), p, rng.key(), x.data(), y.data(), out.mutable_data());
    return with_backward("residual", out, {&x, &y},
                         [p, key = rng.key(), dx = x.sink(), dy = y.sink()](const Tensor& dout) {
                             if (dy)
                                 kernels::cpu().dropout(dout.numel(), p, key, dout.data(), dy.open());
                             dx.pass(dout);
                         });
}

}  // namespace plaingrad::autograd
