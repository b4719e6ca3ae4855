#include "nn/optim.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "autograd/base/parallel.h"
#include "autograd/base/portable_math.h"
#include "autograd/kernels/kernels.h"
#include "autograd/plain.h"

namespace plaingrad::nn {

namespace kernels = autograd::kernels;

static Real real(double x) { return static_cast<Real>(x); }

// ---- the rules

// What is the same for all weights of a parameter that makes its step number t.
static kernels::Adam constants(const AdamOptions& options, double t, bool is_matrix, double lr,
                               double grad_scale) {
    const bool decays = is_matrix || !options.decay_matrices_only;
    return {.lr = real(lr),
            .beta1 = real(options.beta1),
            .beta2 = real(options.beta2),
            .rest1 = real(1 - options.beta1),
            .rest2 = real(1 - options.beta2),
            .eps = real(options.eps),
            .correction1 = real(1 - autograd::portable::pow(options.beta1, t)),
            .correction2 = real(1 - autograd::portable::pow(options.beta2, t)),
            .decay = real(decays ? options.weight_decay : 0),
            .decoupled = options.decoupled,
            .grad_scale = real(grad_scale)};
}

void Adam::update(const Piece& p, double lr, double grad_scale, bool plain) const {
    const kernels::Adam o = constants(options_, static_cast<double>(p.t), p.is_matrix, lr, grad_scale);
    if (!plain)
        return kernels::cpu().adam(o, p.n, p.grad, p.w, p.kept[0], p.kept[1]);  // the same in one fast pass
    for (int64_t i = 0; i < p.n; ++i) {
        Real &w = p.w[i], &m = p.kept[0][i], &v = p.kept[1][i];
        const Real decay = o.decay * w;
        const Real g = o.grad_scale * p.grad[i] + (o.decoupled ? 0 : decay);
        m = o.beta1 * m + o.rest1 * g;  // rest = 1 - β
        v = o.beta2 * v + o.rest2 * g * g;
        const Real m_hat = m / o.correction1, v_hat = v / o.correction2;  // correction = 1 - β^t
        w -= o.lr * m_hat / (std::sqrt(v_hat) + o.eps) + (o.decoupled ? o.lr * decay : 0);
    }
}

// Sgd has no kernel: memory limits the loop, whatever the instruction set.
void Sgd::update(const Piece& p, double lr, double grad_scale, bool) const {
    const Real rate = real(lr), scale = real(grad_scale), decay = real(options_.weight_decay);
    const Real momentum = real(options_.momentum);
    Real* const velocity = p.kept[0];
    for (int64_t i = 0; i < p.n; ++i) {
        const Real g = scale * p.grad[i] + decay * p.w[i];
        p.w[i] -= rate * (velocity != nullptr ? velocity[i] = momentum * velocity[i] + g : g);
    }
}

Sgd::Sgd(const std::vector<NamedParameter>& parameters, const SgdOptions& options)
    : Optimizer("Sgd", parameters, options.lr, options.weight_decay,
                options.momentum != 0 ? std::vector{"velocity"} : std::vector<const char*>()),
      options_(options) {
    check(options.momentum >= 0 && options.momentum < 1, "[Sgd] momentum must be in [0, 1): got ",
          options.momentum);
}

Adam::Adam(const std::vector<NamedParameter>& parameters, const AdamOptions& options)
    : Optimizer("Adam", parameters, options.lr, options.weight_decay, {"mean", "square"}), options_(options) {
    const auto beta = [](double b) { return b >= 0 && b < 1; };
    check(beta(options.beta1) && beta(options.beta2), "[Adam] betas must be in [0, 1): got ", options.beta1,
          ", ", options.beta2);
    check(real(options.eps) > 0 && std::isfinite(real(options.eps)),
          "[Adam] eps must be positive and finite: got ", options.eps);
}

// ---- what optimizers have in common

namespace {

bool is_rate(double x) { return std::isfinite(real(x)) && x >= 0; }

// Calls f(index of a parameter, first element, number of elements) for pieces of those that have a gradient.
// A model has many small parameters and a few large ones. Cut into pieces, they are one loop for all threads;
// with a loop per parameter, most would be too short for two threads.
template <class F>
void for_each_piece(const std::vector<NamedParameter>& parameters, const F& f) {
    constexpr int64_t kPiece = 1 << 14;  // some microseconds of Adam
    for (std::size_t i = 0; i < parameters.size(); ++i)
        if (const Tensor& w = parameters[i].tensor; w.has_grad())
            for (int64_t begin = 0; begin < w.numel(); begin += kPiece)
                f(i, begin, std::min(kPiece, w.numel() - begin));
}

// f(i) for i < n, on all threads.
template <class F>
void for_each(std::size_t n, const F& f) {
    autograd::parallel_for(0, static_cast<int64_t>(n), 1,
                           [&](int64_t i, int64_t) { f(static_cast<std::size_t>(i)); });
}

}  // namespace

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
    check(is_rate(lr), "[", name_, "] the learning rate of a step must be finite and not negative: got ", lr);
    check(std::isfinite(real(grad_scale)), "[", name_, "] the gradients' scale must be finite: got ",
          grad_scale);
    std::vector<Piece> pieces;
    for_each_piece(parameters_, [&](std::size_t i, int64_t begin, int64_t n) {
        const Tensor& w = parameters_[i].tensor;
        pieces.push_back(
            {n, w.grad().data() + begin, w.mutable_data() + begin, steps_of_each_[i] + 1, w.rank() >= 2, {}});
        for (std::size_t k = 0; k < kept_; ++k)
            pieces.back().kept[k] = state_[i * kept_ + k].tensor.mutable_data() + begin;
    });
    // The first call starts the threads, which may fail. From here on nothing can: a step is taken whole, or
    // not at all.
    autograd::thread_count();
    ++steps_;
    for (std::size_t i = 0; i < parameters_.size(); ++i)
        steps_of_each_[i] += parameters_[i].tensor.has_grad() ? 1 : 0;
    const bool plain = autograd::Plain::active();  // asked here, because a Plain belongs to its thread
    for_each(pieces.size(), [&](std::size_t i) { update(pieces[i], lr, grad_scale, plain); });
}

// ---- clipping

double grad_norm(const std::vector<NamedParameter>& parameters) {
    const std::vector<NamedParameter> each = unique_parameters(parameters);
    std::vector<std::pair<int64_t, const Real*>> pieces;
    for_each_piece(each, [&](std::size_t i, int64_t begin, int64_t n) {
        pieces.emplace_back(n, each[i].tensor.grad().data() + begin);
    });
    std::vector<double> squares(pieces.size());
    for_each(pieces.size(), [&](std::size_t i) {
        squares[i] = kernels::cpu().sum_of_squares(pieces[i].first, pieces[i].second);
    });
    return std::sqrt(std::accumulate(squares.begin(), squares.end(), 0.0));
}

double clip_scale(double norm, double max_norm) {
    check(max_norm > 0, "[clip_scale] the largest norm must be positive: got ", max_norm);
    return !std::isfinite(norm) || norm <= max_norm ? 1 : max_norm / norm;
}

}  // namespace plaingrad::nn
