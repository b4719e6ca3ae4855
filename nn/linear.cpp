#include "nn/linear.h"

namespace nn {

Linear::Linear(int64_t in, int64_t out, const Rng& rng, const LinearOptions& options)
    : weight(initial_matrix(options.init, {in, out}, in, out, rng.fork("weight"))) {
    if (options.bias)
        bias = Parameter(initial_bias(options.init, in, out, rng.fork("bias")));
}

}  // namespace nn
