// Training an encoder-decoder model on pairs of sentences: teacher forcing.
#pragma once

#include <vector>

#include "models/transformer.h"
#include "nn/training.h"

namespace plaingrad::models {

// A pair of sentences as ids. make_batch adds start and end to tgt, and leaves src as it is. A Translator
// reads an end after each source: to train a model for it, put specials.end() behind src.
struct Pair {
    std::vector<int32_t> src, tgt;
};

struct Batch {
    Tokens src;  // (B, S)
    Tokens tgt;  // (B, T + 1): start, sentence, end, padding

    // Teacher forcing: at each position the decoder reads the true target up to there, not what it would have
    // written, and predicts the next token. So all positions learn in one pass.
    Tokens read() const { return tgt.slice(0, tgt.length() - 1); }  // <sos> 9 3 5        (B, T)
    Tokens said() const { return tgt.slice(1, tgt.length()); }      //       9 3 5 <eos>  (B, T)
    int64_t tokens() const;                                         // that are said, without padding
};
// specials: those of the model's configuration.
Batch make_batch(const std::vector<Pair>& pairs, const Specials& specials = {});

// With teacher forcing. The loss is the mean cross-entropy of the tokens; padding does not count.
nn::StepLoss teacher_forcing(const Transformer& model, const Batch& batch, const Mode& mode,
                             Real label_smoothing = 0);

}  // namespace plaingrad::models
