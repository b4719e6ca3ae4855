// Training an encoder-decoder model on pairs of sentences: teacher forcing.
#pragma once

#include <vector>

#include "apps/kit/training.h"
#include "models/transformer.h"

namespace plaingrad::kit {

// Pairs of sentences as ids, without <sos> and <eos>.
struct Pair {
    std::vector<int32_t> src, tgt;
};

struct Batch {
    autograd::Tokens src;  // (B, S)
    autograd::Tokens tgt;  // (B, T): <sos> first, <eos> last, then padding
};
Batch make_batch(const std::vector<Pair>& pairs);

// From <sos> and the target up to a position, the model predicts the next token; the loss is the mean
// cross-entropy over all of them but padding.
StepLoss teacher_forcing(const models::Transformer& model, const Batch& batch, const nn::Mode& mode,
                         autograd::Real label_smoothing = 0);

}  // namespace plaingrad::kit
