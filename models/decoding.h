// From a model to sentences: greedy and beam search.
#pragma once

#include <cstdint>
#include <vector>

#include "models/config.h"

namespace plaingrad::models {

// A model in the middle of decoding a batch, one token a step. Models give it as `start(...)`. After an
// Error it is of no more use.
class Stepper {
public:
    virtual ~Stepper() = default;
    // The next token of every sentence -> logits (B, V) of what follows. Throws Error beyond max_length().
    virtual Tensor step(const std::vector<int32_t>& tokens) = 0;
    // Sentence i of the batch becomes what sentence rows[i] was: for reordering, repeating, dropping.
    // Throws Error for a row that there is not.
    virtual void select(const std::vector<int32_t>& rows) = 0;
    virtual int64_t max_length() const = 0;
};

struct Hypothesis {
    std::vector<int32_t> ids;  // without <sos> and <eos>
    double log_probability = 0;
    double score = 0;       // log probability / length penalty
    bool finished = false;  // false: it was cut at the maximum length, and is no whole sentence
};

// Always the most probable next token (never <pad> or <sos>, which no sentence contains). Each sentence ends
// for itself at <eos>, or is cut after max_tokens (or at the model's maximum length). One hypothesis for each
// sentence of the batch.
std::vector<Hypothesis> greedy(Stepper& stepper, int64_t batch, int64_t max_tokens);

struct BeamOptions {
    int64_t beam = 4;
    int64_t n_best = 1;  // how many hypotheses to return, at most `beam`
    // score = log p / ((k + length) / (k + 1))^alpha, <eos> counted in the length. An alpha of 0 compares plain log
    // probabilities, which favours short sentences. k = 5: Wu et al. 2016, equation 14. k = 0: log p / length^alpha,
    // as fairseq has it; with alpha 1 that is the mean for a token.
    double alpha = 0.6;
    double k = 5;
    int64_t max_tokens = 100;  // <eos> counted
    // For each sentence a number of its own, from 1 to max_tokens; none: max_tokens for all.
    std::vector<int64_t> max_tokens_of = {};
};

// For each sentence of the batch its n_best hypotheses, best first, finished ones before cut ones. Every step
// keeps the `beam` most probable hypotheses that have not ended; one that ends within the best `beam` of all
// continuations is put aside. A sentence is done when `beam` hypotheses have ended, and the most probable one of
// some step was among them (fairseq does without: where a model is sure, whatever else is in the beam is hopeless and soon
// ends, and what it is sure of would not come to its end); or when none that is open can still be among the n_best.
// Beam 1 is greedy search. Throws Error unless 1 <= n_best <= beam.
std::vector<std::vector<Hypothesis>> beam_search(Stepper& stepper, int64_t batch,
                                                 const BeamOptions& options = {});

}  // namespace plaingrad::models
