// Adam and AdamW, and clipping of gradients.
#pragma once

#include "nn/module.h"

namespace plaingrad::nn {

struct AdamOptions {
    double lr = 1e-3;
    double beta1 = 0.9, beta2 = 0.999;  // the Transformer paper (§5.3) has 0.98
    double eps = 1e-8;                  // and 1e-9
    double weight_decay = 0;
    bool decoupled = false;            // AdamW (Loshchilov & Hutter 2019): decay apart from the gradient
    bool decay_matrices_only = false;  // decay only what has two or more dims: no biases, no layer norms
};

// Kingma & Ba 2015, algorithm 1, with bias correction:
//     m = β1 m + (1-β1) g,  v = β2 v + (1-β2) g²,  w -= lr m/(1-β1^t) / (√(v/(1-β2^t)) + eps)
class Adam {
public:
    // Throws Error for options out of range: lr < 0, betas outside [0, 1), eps <= 0, decay < 0.
    Adam(const std::vector<NamedParameter>& parameters, const AdamOptions& options = {});

    // One update. Parameters that no gradient has reached stay as they are. Each tied weight takes one step.
    void step() { step(options_.lr); }
    // With this rate, e.g. from a schedule, and every gradient scaled, e.g. by clip_scale.
    void step(double lr, double grad_scale = 1);

    // Forgets the gradients, so that the next backward writes them anew.
    void zero_grad() { nn::zero_grad(parameters_); }

    int64_t steps() const { return steps_; }
    const std::vector<NamedParameter>& parameters() const { return parameters_; }

    // What a run that goes on later needs besides the weights: m and v, "mean.encoder.layers.0.norm1.gain" and
    // "square...", as handles, to be written to a file and read back into; and how many steps were taken.
    std::vector<NamedParameter> moments() const;
    void set_steps(int64_t steps);  // Throws Error for a negative number.

private:
    struct Update;
    Update update_of(std::size_t i, double lr, double grad_scale);

    std::vector<NamedParameter> parameters_;
    std::vector<Tensor> mean_, square_;  // m and v of each parameter
    AdamOptions options_;
    int64_t steps_ = 0;
};

// √Σ g² over all gradients, in double.
double grad_norm(const std::vector<NamedParameter>& parameters);

// What clipping multiplies the gradients by: max_norm / norm if norm is larger than max_norm, else (and if norm
// is not finite: check it) 1. Throws Error unless max_norm > 0.
double clip_scale(double norm, double max_norm);

// Scales the gradients themselves by clip_scale of their norm, and returns the norm before. Adam::step with
// clip_scale does the same without touching them all once more.
double clip_grad_norm(const std::vector<NamedParameter>& parameters, double max_norm);

}  // namespace plaingrad::nn
