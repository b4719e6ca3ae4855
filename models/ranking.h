// Pruning the beam: the most probable of all continuations of some hypotheses.
#pragma once

#include <span>

#include "models/stepper.h"

namespace plaingrad::models {

// One way to continue a hypothesis.
struct Candidate {
    int32_t from;  // which hypothesis
    int32_t token;
    double log_probability;  // of the hypothesis with this token
};

// A hypothesis that is still growing.
struct Live {
    int32_t row;  // of the stepper's batch
    std::vector<int32_t> ids;
    double log_probability;
};

// logits (rows, V): of the next token. Returns the best `count` >= 1 candidates, or fewer if no others have a
// probability above 0; best first, ties going to the earlier hypothesis and the smaller id. Tokens of
// specials.never are no candidates. Throws Error for a probability that is not a number.
std::vector<Candidate> best_candidates(std::span<const Live> hypotheses, const Tensor& logits,
                                       std::size_t count, const Specials& specials);

}  // namespace plaingrad::models
