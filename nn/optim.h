// What moves the weights: gradient descent (Sgd), Adam and AdamW; and clipping of gradients.
//
// The gradient g says how the loss rises with each weight, so a step goes the other way. With momentum the
// steps follow a running sum of the gradients: what changes its sign from batch to batch cancels out, what
// does not adds up. Adam also keeps the mean of the squares, and divides by its root: each weight then moves
// by about the learning rate, whether its gradients are large or small. (In a Transformer they differ by
// orders of magnitude between embeddings, norms and matrices, and no single rate of Sgd suits them all.)
#pragma once

#include "nn/module.h"

namespace plaingrad::nn {

// What all optimizers have in common. A parameter without a gradient, because none has reached it or because
// it is frozen, stays as it is, and so does what the optimizer keeps of it, as in PyTorch. A tied weight
// takes one step.
class Optimizer {
public:
    virtual ~Optimizer() = default;

    // One update, at the rate of the options.
    void step() { step(lr_); }
    // At this rate, e.g. from a schedule, with every gradient multiplied by grad_scale, e.g. by clip_scale.
    // Throws Error unless both are finite and the rate is not negative: the weights would be lost.
    void step(double lr, double grad_scale = 1);

    // Forgets the gradients, so that the next backward overwrites them.
    void zero_grad() { nn::zero_grad(parameters_); }

    const std::vector<NamedParameter>& parameters() const { return parameters_; }

    // What a run that is resumed needs besides the weights. First, running means and the like, "mean." and
    // "square." or "velocity." before the parameter's name, as handles: to be written to a file and read back
    // into. Then how many steps were taken, and how many of them moved each parameter.
    const std::vector<NamedParameter>& state() const { return state_; }
    int64_t steps() const { return steps_; }
    const std::vector<int64_t>& steps_of_each() const { return steps_of_each_; }
    void set_steps(int64_t steps);  // of all parameters; throws Error for a negative number
    // Throws Error unless there is a number from 0 to `steps` for each parameter.
    void set_steps(int64_t steps, std::vector<int64_t> of_each);

protected:
    // Throws Error for an empty tensor, and unless lr and weight_decay are finite and not negative. `kept`:
    // the names of what the rule keeps of each weight, which begins as zeros.
    Optimizer(const char* name, const std::vector<NamedParameter>& parameters, double lr, double weight_decay,
              const std::vector<const char*>& kept);
    Optimizer(Optimizer&&) = default;
    Optimizer& operator=(Optimizer&&) = default;

    // n weights of one parameter, their gradients, and what is kept of them.
    struct Piece {
        int64_t n;
        const Real* grad;
        Real* w;
        int64_t t;       // how many steps have moved this parameter, this one included
        bool is_matrix;  // it has two or more dims
        Real* kept[2];   // nullptr if the rule keeps less
    };
    virtual void update(const Piece& piece, double lr, double grad_scale) const = 0;

private:
    const char* name_;  // for messages
    double lr_;
    std::size_t kept_;  // tensors in state_ for each parameter
    std::vector<NamedParameter> parameters_, state_;
    int64_t steps_ = 0;
    std::vector<int64_t> steps_of_each_;
};

struct SgdOptions {
    double lr = 1e-2;
    double momentum = 0;      // μ; 0.9 is usual
    double weight_decay = 0;  // added to the gradient: g += decay w
    bool nesterov = false;    // looks ahead: the step is g + μ v (Sutskever et al. 2013)
};

// Stochastic gradient descent, as torch.optim.SGD:
//     v = μ v + g,  w -= lr v        (without momentum: w -= lr g)
class Sgd : public Optimizer {
public:
    // Throws Error for options out of range: lr < 0, momentum outside [0, 1), decay < 0, nesterov without
    // momentum.
    Sgd(const std::vector<NamedParameter>& parameters, const SgdOptions& options = {});

private:
    void update(const Piece& piece, double lr, double grad_scale) const override;
    SgdOptions options_;
};

struct AdamOptions {
    double lr = 1e-3;
    double beta1 = 0.9, beta2 = 0.999;  // the Transformer paper (§5.3) has 0.98
    double eps = 1e-8;                  // and 1e-9
    double weight_decay = 0;
    bool decoupled = false;            // AdamW (Loshchilov & Hutter 2019): decay apart from the gradient
    bool decay_matrices_only = false;  // decay only what has two or more dims: no biases, no norms
};

// Kingma & Ba 2015, algorithm 1, with bias correction:
//     m = β1 m + (1-β1) g,  v = β2 v + (1-β2) g²,  w -= lr m/(1-β1^t) / (√(v/(1-β2^t)) + eps)
// m and v begin at 0, so after t steps they hold only a share of 1 - β^t of the gradients' weight: the
// division makes means of them from the first step on.
class Adam : public Optimizer {
public:
    // Throws Error for options out of range: lr < 0, betas outside [0, 1), eps <= 0, decay < 0.
    Adam(const std::vector<NamedParameter>& parameters, const AdamOptions& options = {});

private:
    void update(const Piece& piece, double lr, double grad_scale) const override;
    AdamOptions options_;
};

// √Σ g² over all gradients, in double; a tied weight counts once.
double grad_norm(const std::vector<NamedParameter>& parameters);

// What clipping multiplies the gradients by: max_norm / norm if norm is larger than max_norm, else (and if
// norm is not finite: check it) 1. PyTorch divides by norm + 1e-6, so that its gradients come out a little
// smaller. Throws Error unless max_norm > 0.
double clip_scale(double norm, double max_norm);

// Scales the gradients themselves by clip_scale of their norm, and returns the norm before. Optimizer::step
// with clip_scale does the same without touching them all once more.
double clip_grad_norm(const std::vector<NamedParameter>& parameters, double max_norm);

}  // namespace plaingrad::nn
