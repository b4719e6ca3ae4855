// The loop that trains an encoder-decoder model.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "models/transformer.h"

namespace kit {

// Pairs of sentences as ids, without <sos> and <eos>.
struct Pair {
    std::vector<int32_t> src, tgt;
};

struct Batch {
    autograd::Tokens src;  // (B, S)
    autograd::Tokens tgt;  // (B, T): <sos> first, <eos> last, then padding
};
Batch make_batch(const std::vector<Pair>& pairs);

struct TrainingOptions {
    int64_t steps = 1000;
    std::function<double(int64_t step)> learning_rate;
    double beta1 = 0.9, beta2 = 0.98, eps = 1e-9;  // the paper's, §5.3
    double clip = 1;                               // largest norm of the gradient
    uint64_t seed = 0;                             // of dropout
    int64_t plain_lines_every = 100;               // when standard error is not a terminal
};

struct TrainingResult {
    std::vector<double> losses;  // of each step
    double seconds = 0;
};

// Teacher forcing: from <sos> and the target up to a position, the model predicts the next token; the loss is
// the mean cross-entropy over all of them but padding. next_batch(step) gives the batch of a step (from 1).
// Throws Error at the first loss or gradient that is not finite, and Interrupted after Ctrl-C.
TrainingResult train(const models::Transformer& model, const std::function<Batch(int64_t step)>& next_batch,
                     const TrainingOptions& options);

}  // namespace kit
