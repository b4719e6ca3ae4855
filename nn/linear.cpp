#include "nn/linear.h"

namespace plaingrad::nn {

Linear side_by_side(int64_t in, const std::vector<Part>& parts, const Rng& rng, const LinearOptions& o) {
    if (o.init == Init::none) {  // there is nothing to put side by side
        int64_t out = 0;
        for (const Part& part : parts)
            out += part.out;
        return Linear(in, out, rng, o);
    }
    const autograd::NoGrad no_grad;
    std::vector<Tensor> weights, biases;
    for (const Part& part : parts) {
        const Linear one(in, part.out, rng.fork(part.name), o);
        weights.push_back(one.weight);  // (in, part.out)
        biases.push_back(one.bias);     // (part.out)
    }
    return Linear(Parameter(autograd::concat(weights, 1)),
                  o.bias ? Parameter(autograd::concat(biases, 0)) : Parameter());
}

}  // namespace plaingrad::nn
