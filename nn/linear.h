// y = x W + b: each output is a weighted sum of all inputs. Most of a model's parameters are such weights.
#pragma once

#include "nn/init.h"

namespace plaingrad::nn {

struct LinearOptions {
    bool bias = true;
    Init init = Init::xavier;
};

// x (..., in) -> (..., out). The weight is (in, out) in memory, so that the formula reads as in the paper.
// rng.fork gives each part random numbers of its own, so adding or removing one part does not change those of
// the others.
struct Linear {
    Linear(int64_t in, int64_t out, const Rng& rng, const LinearOptions& o = {})
        : weight(initial_matrix(o.init, {in, out}, in, out, rng.fork("weight"))),
          bias(o.bias ? Parameter(initial_bias(o.init, in, out, rng.fork("bias"))) : Parameter()) {}
    Linear(Parameter weight_, Parameter bias_) : weight(std::move(weight_)), bias(std::move(bias_)) {}
    Tensor operator()(const Tensor& x) const { return autograd::linear(x, weight, bias); }  // (..., out)
    void visit(Visitor& v) const {
        v.matrix("weight", weight);
        v("bias", bias);
    }

    Parameter weight;  // (in, out)
    Parameter bias;    // (out), or absent
};

// Several layers of one input as one, so that one product computes all of them: their weights and biases side
// by side, each with initial values of its own, from rng.fork(name).
struct Projection {
    const char* name;
    int64_t out;
};
inline Linear side_by_side(int64_t in, const std::vector<Projection>& projections, const Rng& rng,
                           const LinearOptions& o) {
    if (o.init == Init::none) {  // there is nothing to put side by side
        int64_t out = 0;
        for (const Projection& p : projections)
            out += p.out;
        return Linear(in, out, rng, o);
    }
    const autograd::NoGrad no_grad;
    std::vector<Tensor> weights, biases;
    for (const Projection& p : projections) {
        const Linear one(in, p.out, rng.fork(p.name), o);
        weights.push_back(one.weight);  // (in, out)
        biases.push_back(one.bias);     // (out)
    }
    return Linear(Parameter(autograd::concat(weights, 1)),
                  o.bias ? Parameter(autograd::concat(biases, 0)) : Parameter());
}

}  // namespace plaingrad::nn
