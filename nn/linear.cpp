#include "nn/linear.h"

namespace plaingrad::nn {

Linear side_by_side(int64_t in, const std::vector<Projection>& projections, const Rng& rng,
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
