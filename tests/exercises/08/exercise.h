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
    void step(Row& w, const Row& g) { not_written(8, "Adam::step", w, g); }
};

}  // namespace plaingrad::exercises
