#include "nn/optim.h"

#include <algorithm>
#include <cmath>

#include "autograd/base/parallel.h"
#include "autograd/broadcast.h"
#include "autograd/kernels/kernels.h"

namespace plaingrad::nn {

namespace kernels = autograd::kernels;

namespace {

// Numbers begin .. end of one parameter. A model has many small parameters and a few large ones: cut into
// pieces they are one loop for all threads instead of one loop each, most of them too short for two.
struct Piece {
    std::size_t parameter;
    int64_t begin, end;
    int64_t size() const { return end - begin; }
};

constexpr int64_t kPiece = 1 << 14;  // numbers: some microseconds of Adam

// Of all parameters that have a gradient.
std::vector<Piece> pieces(const std::vector<NamedParameter>& parameters) {
    std::vector<Piece> all;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        const int64_t n = parameters[i].tensor.has_grad() ? parameters[i].tensor.numel() : 0;
        for (int64_t begin = 0; begin < n; begin += kPiece)
            all.push_back({i, begin, std::min(begin + kPiece, n)});
    }
    return all;
}

template <class F>
void for_pieces(const std::vector<Piece>& all, const F& f) {
    autograd::parallel_for(0, static_cast<int64_t>(all.size()), 1, [&](int64_t i, int64_t) {
        f(static_cast<std::size_t>(i), all[static_cast<std::size_t>(i)]);
    });
}

}  // namespace

Adam::Adam(const std::vector<NamedParameter>& parameters, const AdamOptions& options) : options_(options) {
    const auto beta = [](double b) { return b >= 0 && b < 1; };
    check(options.lr >= 0, "[Adam] lr must not be negative: got ", options.lr);
    check(beta(options.beta1) && beta(options.beta2), "[Adam] betas must be in [0, 1): got ", options.beta1,
          ", ", options.beta2);
    check(options.eps > 0, "[Adam] eps must be positive: got ", options.eps);
    check(options.weight_decay >= 0, "[Adam] weight decay must not be negative: got ", options.weight_decay);
    for (const NamedParameter& p : parameters) {
        const auto shared = [&](const NamedParameter& other) { return other.tensor.same_memory(p.tensor); };
        if (std::any_of(parameters_.begin(), parameters_.end(), shared))
            continue;
        parameters_.push_back(p);
        mean_.push_back(Tensor::zeros(p.tensor.shape()));
        square_.push_back(Tensor::zeros(p.tensor.shape()));
    }
}

// Adam for one parameter: what the kernel needs.
struct Adam::Update {
    kernels::Adam rule;
    const Real* grad;
    Real *w, *mean, *square;
};

Adam::Update Adam::update_of(std::size_t i, double lr, double grad_scale) {
    const double t = static_cast<double>(steps_);
    Tensor w = parameters_[i].tensor;
    const bool decays = w.rank() >= 2 || !options_.decay_matrices_only;
    const kernels::Adam rule = {.lr = static_cast<Real>(lr),
                                .beta1 = static_cast<Real>(options_.beta1),
                                .beta2 = static_cast<Real>(options_.beta2),
                                .rest1 = static_cast<Real>(1 - options_.beta1),
                                .rest2 = static_cast<Real>(1 - options_.beta2),
                                .eps = static_cast<Real>(options_.eps),
                                .correction1 = static_cast<Real>(1 - std::pow(options_.beta1, t)),
                                .correction2 = static_cast<Real>(1 - std::pow(options_.beta2, t)),
                                .decay = static_cast<Real>(decays ? options_.weight_decay : 0),
                                .decoupled = options_.decoupled,
                                .grad_scale = static_cast<Real>(grad_scale)};
    return {rule, w.grad().data(), w.mutable_data(), mean_[i].mutable_data(), square_[i].mutable_data()};
}

void Adam::step(double lr, double grad_scale) {
    ++steps_;
    std::vector<Update> updates(parameters_.size());
    for (std::size_t i = 0; i < updates.size(); ++i)
        if (parameters_[i].tensor.has_grad())
            updates[i] = update_of(i, lr, grad_scale);
    for_pieces(pieces(parameters_), [&](std::size_t, const Piece& p) {
        const Update& u = updates[p.parameter];
        kernels::cpu().adam(u.rule, p.size(), u.grad + p.begin, u.w + p.begin, u.mean + p.begin,
                            u.square + p.begin);
    });
}

std::vector<NamedParameter> Adam::moments() const {
    std::vector<NamedParameter> all;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
        all.push_back({autograd::join("mean.", parameters_[i].name), mean_[i]});
        all.push_back({autograd::join("square.", parameters_[i].name), square_[i]});
    }
    return all;
}

void Adam::set_steps(int64_t steps) {
    check(steps >= 0, "[Adam] the number of steps must not be negative: got ", steps);
    steps_ = steps;
}

double grad_norm(const std::vector<NamedParameter>& parameters) {
    const std::vector<Piece> all = pieces(parameters);
    std::vector<double> squares(all.size());
    for_pieces(all, [&](std::size_t i, const Piece& p) {
        const Real* grad = parameters[p.parameter].tensor.grad().data();
        squares[i] = kernels::cpu().sum_of_squares(p.size(), grad + p.begin);
    });
    double sum = 0;
    for (const double square : squares)
        sum += square;
    return std::sqrt(sum);
}

double clip_scale(double norm, double max_norm) {
    check(max_norm > 0, "[clip_grad_norm] the largest norm must be positive: got ", max_norm);
    return !std::isfinite(norm) || norm <= max_norm ? 1 : max_norm / norm;
}

double clip_grad_norm(const std::vector<NamedParameter>& parameters, double max_norm) {
    const double norm = grad_norm(parameters);
    const Real factor = static_cast<Real>(clip_scale(norm, max_norm));
    for (const NamedParameter& p : parameters) {
        if (factor == 1 || !p.tensor.has_grad())
            continue;
        Tensor grad = p.tensor.grad();
        Real* g = grad.mutable_data();
        kernels::cpu().binary(kernels::Binary::mul,
                              autograd::broadcast_loop(grad.shape(), grad.shape(), Shape()), g, &factor, {g});
    }
    return norm;
}

}  // namespace plaingrad::nn
