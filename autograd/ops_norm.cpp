// Layer normalisation (Ba, Kiros & Hinton 2016). The formulas: kernels/rows.cpp.
#include "autograd/op.h"
#include "autograd/ops.h"

namespace autograd {

// y = x̂ gain + bias,  x̂ = (x - mean) rstd
// dx = rstd (g - mean(g) - x̂ mean(g x̂)) with g = dy gain;   dgain = Σ dy x̂,  dbias = Σ dy
// Kept: x and three numbers a row. x̂ is computed again: cheaper than keeping a second x.
Tensor layer_norm(const Tensor& x, const Tensor& gain, const Tensor& bias, Real eps) {
    check(x.rank() >= 1 && gain.shape() == Shape{x.size(-1)} && bias.shape() == gain.shape(),
          "[layer_norm] x is ", x.shape(), ", gain is ", gain.shape(), ", bias is ", bias.shape(),
          "; gain and bias must have x's last size");
    const int64_t n = x.size(-1), rows = n > 0 ? x.numel() / n : 0;
    Tensor y = Tensor::uninitialized(x.shape());
    Tensor statistics = Tensor::uninitialized({rows, 3});
    kernels::cpu().layer_norm(rows, n, eps, x.data(), gain.data(), bias.data(), y.mutable_data(),
                              statistics.mutable_data());
    return with_backward(
        y, {&x, &gain, &bias},
        [=, dx = x.sink(), dgain = gain.sink(), dbias = bias.sink(), x = x.save(), gain = gain.save(),
         statistics = statistics.save()](const Tensor& dy) {
            const kernels::Out to_x = dx.open(), to_gain = dgain.open(), to_bias = dbias.open();
            kernels::cpu().layer_norm_backward(rows, n, x.data(), gain.data(), statistics.data(), dy.data(),
                                               to_x, to_gain, to_bias);
        });
}

}  // namespace autograd
