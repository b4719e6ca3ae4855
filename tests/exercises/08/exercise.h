// Exercise 8: Adam (30 minutes)
//
// The idea: a running mean m of the gradients says in which direction to go, and a running mean v of
// their squares says how large they usually are. Divided by √v, each weight moves by about the learning
// rate, whether its gradients are large or small. Both means start at 0, so at first they are too small;
// dividing by 1 - βᵗ corrects that.
//     m = β1 m + (1-β1) g,  v = β2 v + (1-β2) g²,  w -= lr m/(1-β1ᵗ) / (√(v/(1-β2ᵗ)) + eps)
//
// Given: the hyper-parameters and the state, for one row of weights.
// Write: step (Kingma & Ba 2015, algorithm 1).
// Read before: nn/training.md ("9. From gradient descent to Adam")
#pragma once

#include <cmath>

#include "tests/exercises/given.h"

namespace plaingrad::exercises {

struct Adam {
    double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
    Row m = {}, v = {};  // empty before the first step
    int64_t t = 0;       // how many steps were taken

    // One step of all weights w by their gradients g, of the same size.
    void step(Row& w, const Row& g) {
        // skeleton: not_written(8, "Adam::step", w, g);
        // answer
        m.resize(w.size());
        v.resize(w.size());
        ++t;  // first: with t = 0 the corrections would be 0, and 0/0 is NaN
        // After t steps the weights (1-β) βⁱ of the mean sum to 1 - βᵗ.
        const auto steps = static_cast<double>(t);
        const double m_sum = 1 - std::pow(beta1, steps), v_sum = 1 - std::pow(beta2, steps);
        for (std::size_t i = 0; i < w.size(); ++i) {
            m[i] = beta1 * m[i] + (1 - beta1) * g[i];
            v[i] = beta2 * v[i] + (1 - beta2) * g[i] * g[i];
            // eps only keeps the division finite where a gradient has always been 0.
            w[i] -= lr * (m[i] / m_sum) / (std::sqrt(v[i] / v_sum) + eps);
        }
        // end
    }
};

}  // namespace plaingrad::exercises

// answer
// In the library: nn/optim.cpp, Adam::update
// In the library: autograd/kernels/adam.cpp, adam
// end
