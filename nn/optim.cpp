#include "nn/optim.h"

#include <cmath>

#include "autograd/broadcast.h"
#include "autograd/kernels/kernels.h"

namespace nn {

using autograd::check;
namespace kernels = autograd::kernels;

Adam::Adam(std::vector<NamedParameter> parameters, const AdamOptions& options)
    : parameters_(std::move(parameters)), options_(options) {
    const auto beta = [](double b) { return b >= 0 && b < 1; };
    check(options.lr >= 0, "[Adam] lr must not be negative: got ", options.lr);
    check(beta(options.beta1) && beta(options.beta2), "[Adam] betas must be in [0, 1): got ", options.beta1,
          ", ", options.beta2);
    check(options.eps > 0, "[Adam] eps must be positive: got ", options.eps);
    check(options.weight_decay >= 0, "[Adam] weight decay must not be negative: got ", options.weight_decay);
    for (const NamedParameter& p : parameters_)
        moments_.push_back({Tensor::zeros(p.tensor.shape()), Tensor::zeros(p.tensor.shape())});
}

void Adam::step(double lr) {
    ++steps_;
    const double t = static_cast<double>(steps_);
    kernels::Adam update = {.lr = static_cast<Real>(lr),
                            .beta1 = static_cast<Real>(options_.beta1),
                            .beta2 = static_cast<Real>(options_.beta2),
                            .rest1 = static_cast<Real>(1 - options_.beta1),
                            .rest2 = static_cast<Real>(1 - options_.beta2),
                            .eps = static_cast<Real>(options_.eps),
                            .correction1 = static_cast<Real>(1 - std::pow(options_.beta1, t)),
                            .correction2 = static_cast<Real>(1 - std::pow(options_.beta2, t)),
                            .decoupled = options_.decoupled};
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
        Tensor w = parameters_[i].tensor;
        if (!w.has_grad())
            continue;
        const bool decays = w.rank() >= 2 || !options_.decay_matrices_only;
        update.decay = static_cast<Real>(decays ? options_.weight_decay : 0);
        const Tensor grad = w.grad();
        kernels::cpu().adam(update, w.numel(), grad.data(), w.mutable_data(), moments_[i].mean.mutable_data(),
                            moments_[i].square.mutable_data());
    }
}

double grad_norm(const std::vector<NamedParameter>& parameters) {
    double squares = 0;
    for (const NamedParameter& p : parameters)
        if (p.tensor.has_grad())
            squares += kernels::cpu().sum_of_squares(p.tensor.numel(), p.tensor.grad().data());
    return std::sqrt(squares);
}

double clip_grad_norm(const std::vector<NamedParameter>& parameters, double max_norm) {
    check(max_norm > 0, "[clip_grad_norm] the largest norm must be positive: got ", max_norm);
    const double norm = grad_norm(parameters);
    if (!std::isfinite(norm) || norm <= max_norm)
        return norm;
    const Real factor = static_cast<Real>(max_norm / norm);
    for (const NamedParameter& p : parameters) {
        if (!p.tensor.has_grad())
            continue;
        Tensor grad = p.tensor.grad();
        Real* g = grad.mutable_data();
        kernels::cpu().binary(kernels::Binary::mul,
                              autograd::broadcast_loop(grad.shape(), grad.shape(), Shape()), g, &factor, {g});
    }
    return norm;
}

}  // namespace nn
