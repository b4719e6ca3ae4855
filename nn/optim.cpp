#include "nn/optim.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "autograd/base/float_control.h"
#include "autograd/base/parallel.h"
#include "autograd/base/portable_math.h"
#include "autograd/broadcast.h"
#include "autograd/kernels/kernels.h"

namespace plaingrad::nn {

namespace kernels = autograd::kernels;

std::vector<Stretch> stretches_of(const std::vector<NamedParameter>& parameters) {
    std::vector<Stretch> all;
    for (std::size_t i = 0; i < parameters.size(); ++i)
        for (int64_t begin = 0, n = parameters[i].tensor.numel(); begin < n; begin += kStretch)
            all.push_back({i, begin, std::min(begin + kStretch, n)});
    return all;
}

std::vector<StretchGrad> gradients_of(const std::vector<NamedParameter>& parameters) {
    std::vector<StretchGrad> all;
    for (const Stretch& s : stretches_of(parameters))
        if (const Tensor& w = parameters[s.parameter].tensor; w.has_grad())
            all.push_back({s, w.grad().data() + s.begin});
    return all;
}

namespace {

// f(i) for i < n, on all threads. A model has many small parameters and a few large ones. Cut into stretches,
// they are one loop for all threads; with a loop per parameter, most would be too short for two threads.
template <class F>
void for_each(std::size_t n, const F& f) {
    autograd::parallel_for(0, static_cast<int64_t>(n), 1,
                           [&](int64_t i, int64_t) { f(static_cast<std::size_t>(i)); });
}

Real real(double x) { return static_cast<Real>(x); }
bool is_rate(double x) { return std::isfinite(real(x)) && x >= 0; }

// Throws Error for a stretch that the parameters do not have.
template <class Stretches>
void check_stretches(const char* name, const Stretches& stretches,
                     const std::vector<NamedParameter>& parameters) {
    for (const Stretch& s : stretches)
        check(s.parameter < parameters.size() && s.begin >= 0 && s.begin <= s.end &&
                  s.end <= parameters[s.parameter].tensor.numel(),
              "[", name, "] there is no stretch from ", s.begin, " to ", s.end, " of parameter ",
              s.parameter);
}

}  // namespace

// ---- what optimizers have in common

Optimizer::Optimizer(const char* name, const std::vector<NamedParameter>& parameters, double lr,
                     double weight_decay, const std::vector<const char*>& kept)
    : name_(name), lr_(lr), kept_(kept.size()) {
    check(is_rate(lr), "[", name, "] lr must be finite and not negative: got ", lr);
    check(is_rate(weight_decay), "[", name, "] weight decay must be finite and not negative: got ",
          weight_decay);
    for (const NamedParameter& p : parameters)
        check(p.tensor.defined(), "[", name, "] parameter ", p.name, " is empty: it was never assigned");
    parameters_ = unique_parameters(parameters);
    for (const NamedParameter& p : parameters_)
        for (const char* what : kept)
            state_.push_back({autograd::join(what, ".", p.name), Tensor::zeros(p.tensor.shape())});
    steps_of_each_.resize(parameters_.size());
}

void Optimizer::set_steps(int64_t steps, std::vector<int64_t> of_each) {
    check(steps >= 0, "[", name_, "] the number of steps must not be negative: got ", steps);
    const bool fits =
        std::all_of(of_each.begin(), of_each.end(), [&](int64_t n) { return n >= 0 && n <= steps; });
    check(fits && of_each.size() == parameters_.size(), "[", name_, "] a number of steps from 0 to ", steps,
          " is needed for each of ", parameters_.size(), " parameters");
    steps_ = steps;
    steps_of_each_ = std::move(of_each);
}

void Optimizer::step(double lr, double grad_scale) {
    std::vector<bool> moved;
    for (const NamedParameter& p : parameters_)
        moved.push_back(p.tensor.has_grad());
    step(lr, grad_scale, moved, gradients_of(parameters_));
}

void Optimizer::step(double lr, double grad_scale, const std::vector<bool>& moved,
                     const std::vector<StretchGrad>& gradients) {
    check(is_rate(lr), "[", name_, "] the learning rate of a step must be finite and not negative: got ", lr);
    check(std::isfinite(real(grad_scale)), "[", name_, "] the gradients' scale must be finite: got ",
          grad_scale);
    check(moved.size() == parameters_.size(), "[", name_, "] moved needs a value for each of ",
          parameters_.size(), " parameters: got ", moved.size());
    check_stretches(name_, gradients, parameters_);
    const auto is_kept = [this](const StretchGrad& s) {
        if (places_.empty())
            return true;
        const auto place = places_[s.parameter].find(s.begin);
        return place != places_[s.parameter].end() && place->second.end == s.end;
    };
    for (const StretchGrad& s : gradients)
        check(s.grad != nullptr && is_kept(s), "[", name_, "] of the stretch from ", s.begin, " to ", s.end,
              " of parameter ", s.parameter,
              " there is no gradient, or this optimizer keeps no state for it");
    std::vector<Piece> whole(parameters_.size());
    std::vector<Piece> pieces;
    for (const StretchGrad& s : gradients) {
        const Tensor& w = parameters_[s.parameter].tensor;
        Piece& all = whole[s.parameter];
        if (all.w == nullptr) {
            const int64_t t = steps_of_each_[s.parameter] + 1;
            all = {w.numel(), nullptr, w.mutable_data(), t, w.rank() >= 2, {}};
            for (std::size_t k = 0; k < kept_; ++k)
                all.kept[k] = state_[s.parameter * kept_ + k].tensor.mutable_data();
        }
        pieces.push_back(all);
        pieces.back().n = s.size();
        pieces.back().grad = s.grad;
        pieces.back().w += s.begin;
        for (std::size_t k = 0; k < kept_; ++k)
            pieces.back().kept[k] += places_.empty() ? s.begin : places_[s.parameter].at(s.begin).begin;
    }
    autograd::thread_count();  // starts the threads, if nothing has done so yet
    // From here on nothing needs memory: a step is taken whole, or not at all.
    ++steps_;
    for (std::size_t i = 0; i < parameters_.size(); ++i)
        steps_of_each_[i] += moved[i] ? 1 : 0;
    for_each(pieces.size(), [&](std::size_t i) { update(pieces[i], lr, grad_scale); });
}

void Optimizer::keep_only(const std::vector<Stretch>& kept) {
    check(steps_ == 0, "[", name_, "] keep_only must come before the first step");
    check_stretches(name_, kept, parameters_);
    places_.assign(parameters_.size(), {});
    std::vector<int64_t> sizes(parameters_.size());
    for (const Stretch& s : kept) {
        places_[s.parameter][s.begin] = {s.end, sizes[s.parameter]};
        sizes[s.parameter] += s.size();
    }
    for (std::size_t i = 0; i < state_.size(); ++i)
        state_[i].tensor = Tensor::zeros({sizes[i / kept_]});
}

// ---- the rules

Sgd::Sgd(const std::vector<NamedParameter>& parameters, const SgdOptions& options)
    : Optimizer("Sgd", parameters, options.lr, options.weight_decay,
                options.momentum != 0 ? std::vector{"velocity"} : std::vector<const char*>()),
      options_(options) {
    check(options.momentum >= 0 && options.momentum < 1, "[Sgd] momentum must be in [0, 1): got ",
          options.momentum);
    check(options.momentum > 0 || !options.nesterov, "[Sgd] nesterov needs a momentum: got ",
          options.momentum);
}

// Sgd has no kernel: memory limits the loop, whatever the instruction set.
void Sgd::update(const Piece& p, double lr, double grad_scale) const {
    const Real rate = real(lr), scale = real(grad_scale), decay = real(options_.weight_decay);
    const Real momentum = real(options_.momentum);
    Real* const velocity = p.kept[0];
    for (int64_t i = 0; i < p.n; ++i) {
        const Real g = scale * p.grad[i] + decay * p.w[i];
        Real step = g;
        if (velocity != nullptr) {
            velocity[i] = momentum * velocity[i] + g;
            step = options_.nesterov ? g + momentum * velocity[i] : velocity[i];
        }
        p.w[i] -= rate * step;
    }
}

Adam::Adam(const std::vector<NamedParameter>& parameters, const AdamOptions& options)
    : Optimizer("Adam", parameters, options.lr, options.weight_decay, {"mean", "square"}), options_(options) {
    const auto beta = [](double b) { return b >= 0 && b < 1; };
    check(beta(options.beta1) && beta(options.beta2), "[Adam] betas must be in [0, 1): got ", options.beta1,
          ", ", options.beta2);
    check(real(options.eps) > 0 && std::isfinite(real(options.eps)),
          "[Adam] eps must be positive and finite: got ", options.eps);
}

void Adam::update(const Piece& p, double lr, double grad_scale) const {
    const double t = static_cast<double>(p.t);
    const bool decays = p.is_matrix || !options_.decay_matrices_only;
    const kernels::Adam rule = {.lr = real(lr),
                                .beta1 = real(options_.beta1),
                                .beta2 = real(options_.beta2),
                                .rest1 = real(1 - options_.beta1),
                                .rest2 = real(1 - options_.beta2),
                                .eps = real(options_.eps),
                                .correction1 = real(1 - autograd::portable::pow(options_.beta1, t)),
                                .correction2 = real(1 - autograd::portable::pow(options_.beta2, t)),
                                .decay = real(decays ? options_.weight_decay : 0),
                                .decoupled = options_.decoupled,
                                .grad_scale = real(grad_scale)};
    kernels::cpu().adam(rule, p.n, p.grad, p.w, p.kept[0], p.kept[1]);
}

// ---- clipping

std::vector<double> sums_of_squares(const std::vector<StretchGrad>& gradients) {
    std::vector<double> sums(gradients.size());
    for_each(gradients.size(), [&](std::size_t i) {
        sums[i] = kernels::cpu().sum_of_squares(gradients[i].size(), gradients[i].grad);
    });
    return sums;
}

double grad_norm(const std::vector<NamedParameter>& parameters) {
    const std::vector<double> squares = sums_of_squares(gradients_of(unique_parameters(parameters)));
    return autograd::in_ieee_mode(
        [&] { return std::sqrt(std::accumulate(squares.begin(), squares.end(), 0.0)); });
}

double clip_scale(double norm, double max_norm) {
    check(max_norm > 0, "[clip_grad_norm] the largest norm must be positive: got ", max_norm);
    return autograd::in_ieee_mode(
        [&] { return !std::isfinite(norm) || norm <= max_norm ? 1 : max_norm / norm; });
}

double clip_grad_norm(const std::vector<NamedParameter>& parameters, double max_norm) {
    const double norm = grad_norm(parameters);
    const Real factor = autograd::in_ieee_mode([&] { return real(clip_scale(norm, max_norm)); });
    for (const NamedParameter& p : unique_parameters(parameters)) {
        if (factor == 1 || !p.tensor.has_grad())
            continue;
        const Tensor grad = p.tensor.grad();
        Real* g = grad.mutable_data();
        kernels::cpu().binary(kernels::Binary::mul,
                              autograd::broadcast_loop(grad.shape(), grad.shape(), Shape()), g, &factor, {g});
    }
    return norm;
}

}  // namespace plaingrad::nn
