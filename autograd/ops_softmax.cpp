// Softmax, its logarithm, and small losses. The formulas and their derivatives: kernels/rows.cpp.
#include "autograd/op.h"
#include "autograd/ops.h"

namespace plaingrad::autograd {
namespace {

int64_t count_rows(const Tensor& x) { return x.size(-1) > 0 ? x.numel() / x.size(-1) : 0; }

// Applies a function of rows whose derivative needs only its output y, so y alone is saved for backward.
// A dim other than the last is transposed to the end and back.
Tensor along(const char* op, const Tensor& x, int dim, decltype(kernels::Kernels::softmax) forward,
             decltype(kernels::Kernels::softmax_backward) backward) {
    if (x.shape().index(dim) != x.rank() - 1)
        return transpose(along(op, transpose(x, dim, -1), -1, forward, backward), dim, -1);
    Tensor y = Tensor::uninitialized(x.shape());
    forward(count_rows(x), x.size(-1), x.data(), y.mutable_data());
    return with_backward(op, y, {&x}, [backward, dx = x.sink(), y = y.save()](const Tensor& dy) {
        backward(count_rows(dy), dy.size(-1), y.data(), dy.data(), dx.open());
    });
}

}  // namespace

// y = eˣ / Σ eˣ              dx = y (dy - Σ y dy)
Tensor softmax(const Tensor& x, int dim) {
    return along("softmax", x, dim, kernels::cpu().softmax, kernels::cpu().softmax_backward);
}

// y = x - ln Σ eˣ            dx = dy - eʸ Σ dy
Tensor log_softmax(const Tensor& x, int dim) {
    return along("log_softmax", x, dim, kernels::cpu().log_softmax, kernels::cpu().log_softmax_backward);
}

// loss = mean (x - target)²
Tensor mse_loss(const Tensor& x, const Tensor& target) {
    check(x.shape() == target.shape(), "[mse_loss] x is ", x.shape(), ", the target is ", target.shape(),
          "; they must be equal");
    const Tensor difference = x - target;
    return mean(difference * difference);
}

// A logit x is class 1's score minus class 0's, so sigmoid(x) = eˣ / (e⁰ + eˣ) is a softmax over (0, x).
// Computed this way the loss stays finite where sigmoid(x) underflows.
Tensor bce_with_logits(const Tensor& logits, const Tensor& target) {
    check(logits.shape() == target.shape(), "[bce_with_logits] the logits are ", logits.shape(),
          ", the target is ", target.shape(), "; they must be equal");
    const Tensor x = reshape(logits, {-1}), t = reshape(target, {-1});             // (N)
    const Tensor log_p = log_softmax(stack({Tensor::zeros(x.shape()), x}, 0), 0);  // (2, N)
    const Tensor if_one = t * log_p[1];                                            // (N)
    const Tensor if_zero = (1 - t) * log_p[0];                                     // (N)
    return -mean(if_one + if_zero);
}

}  // namespace plaingrad::autograd
