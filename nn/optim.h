// Optimizers: gradient descent (Sgd), Adam and AdamW; and clipping of gradients.
//
// The gradient g says how the loss rises with each weight, so a step goes in the opposite direction. With
// momentum the steps follow a running sum of the gradients: components that change sign from batch to batch
// cancel, consistent ones add up. Adam also keeps a running average of the squares and divides by its root:
// each weight then moves by about the learning rate, whether its gradients are large or small. (In a
// Transformer they differ by orders of magnitude between embeddings, norms and matrices, and no single rate
// of Sgd suits them all.)
#pragma once

#include "nn/module.h"

namespace plaingrad::nn {

// What all optimizers have in common. A parameter without a gradient, because none has reached it or because
// it is frozen, does not change, and neither does its optimizer state, as in PyTorch. A tied weight takes one
// step.
class Optimizer {
public:
    virtual ~Optimizer() = default;

    // One update, at the rate of the options.
    void step() { step(lr_); }
    // At this rate, e.g. from a schedule, with every gradient multiplied by grad_scale, e.g. by clip_scale.
    // Throws Error unless both are finite and the rate is not negative: the step would destroy the weights.
    void step(double lr, double grad_scale = 1);
    // Drops the gradients, so that the next backward overwrites them.
    void zero_grad() { nn::zero_grad(parameters_); }

    const std::vector<NamedParameter>& parameters() const { return parameters_; }

    // State to save for resuming, besides the weights. First the running averages, named "mean.", "square."
    // or "velocity." + parameter name; the tensors are handles, so loading can write into them. Then the
    // number of steps taken, and the number of steps that moved each parameter.
    const std::vector<NamedParameter>& state() const { return state_; }
    int64_t steps() const { return steps_; }
    const std::vector<int64_t>& steps_of_each() const { return steps_of_each_; }
    // Throws Error unless there is a number from 0 to `steps` for each parameter.
    void set_steps(int64_t steps, std::vector<int64_t> of_each);

protected:
    // Throws Error for an empty tensor, and unless lr and weight_decay are finite and not negative. `kept`:
    // the names of the tensors that the rule keeps for each parameter, which begin as zeros.
    Optimizer(const char* name, const std::vector<NamedParameter>& parameters, double lr, double weight_decay,
              const std::vector<const char*>& kept);
    Optimizer(Optimizer&&) = default;
    Optimizer& operator=(Optimizer&&) = default;

    // Neighbouring weights of one parameter, their gradients, and their optimizer state. A step goes through
    // a model in such pieces, on all threads.
    struct Piece {
        int64_t n;
        const Real* grad;
        Real* w;
        int64_t t;       // how many steps have moved this parameter, this one included
        bool is_matrix;  // it has two or more dims
        Real* kept[2];   // nullptr if the rule keeps less
    };
    virtual void update(const Piece& p, double lr, double grad_scale, bool plain) const = 0;

private:
    const char* name_;  // for messages
    double lr_;
    std::vector<NamedParameter> parameters_, state_;
    std::size_t kept_;  // tensors in state_ for each parameter
    int64_t steps_ = 0;
    std::vector<int64_t> steps_of_each_;
};

struct SgdOptions {
    double lr = 1e-2;
    double momentum = 0;      // μ; 0.9 is usual
    double weight_decay = 0;  // added to the gradient: g += decay w
};

// Stochastic gradient descent, as torch.optim.SGD:
//     u = μ u + g,  w -= lr u        u: the velocity (without momentum: w -= lr g)
class Sgd : public Optimizer {
public:
    // Throws Error for options out of range: lr < 0, momentum outside [0, 1), decay < 0.
    Sgd(const std::vector<NamedParameter>& parameters, const SgdOptions& options = {});

private:
    void update(const Piece& p, double lr, double grad_scale, bool plain) const override;
    SgdOptions options_;
};

struct AdamOptions {
    double lr = 1e-3;
    // Kingma & Ba's defaults. The Transformer paper (§5.3) has beta2 = 0.98, which averages over about 50
    // steps instead of 1000 and so adapts faster, and eps = 1e-9.
    double beta1 = 0.9, beta2 = 0.999;
    double eps = 1e-8;
    double weight_decay = 0;
    bool decoupled = false;            // AdamW (Loshchilov & Hutter 2019): decay apart from the gradient
    bool decay_matrices_only = false;  // decay only what has two or more dims: no biases, no norms
};

// Kingma & Ba 2015, algorithm 1, with bias correction:
//     m = β1 m + (1-β1) g,  v = β2 v + (1-β2) g²,  w -= lr m/(1-β1^t) / (√(v/(1-β2^t)) + eps)
// m and v ("mean.", "square.") are running averages of g and g², the paper's moments. They begin at 0, so
// after t steps their weights sum to 1 - β^t. Dividing by that removes the bias toward 0. Adam::update in
// optim.cpp has it in a few lines, which run while a Plain (autograd/plain.h) exists; else a kernel does.
class Adam : public Optimizer {
public:
    // Throws Error for options out of range: lr < 0, betas outside [0, 1), eps <= 0, decay < 0, or infinite
    // ones.
    Adam(const std::vector<NamedParameter>& parameters, const AdamOptions& options = {});

private:
    void update(const Piece& p, double lr, double grad_scale, bool plain) const override;
    AdamOptions options_;
};

// √Σ g² over all gradients, in double; a tied weight counts once.
double grad_norm(const std::vector<NamedParameter>& parameters);

// The factor by which clipping scales the gradients, for Optimizer::step: max_norm / norm if norm > max_norm;
// 1 if norm is smaller or not finite (which the caller must check). PyTorch divides by norm + 1e-6, so its
// gradients are slightly smaller. Throws Error unless max_norm > 0.
double clip_scale(double norm, double max_norm);

}  // namespace plaingrad::nn
