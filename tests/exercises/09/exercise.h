// Exercise 9: beam search (90 minutes)
//
// The idea: greedy search takes the most probable token and cannot take it back, even if every sentence
// that begins so is improbable. Beam search keeps several beginnings, `beam` of them. In each step every
// beginning is continued by every token, and of all continuations together the best `beam` are kept.
//
// Given (09/given.h): a model, as a function that returns log p. Probabilities of long sentences would
// round to 0 if multiplied; their logarithms are added.
// Write: beam_search.
// Read before: models/README.md ("From probabilities to a sentence")
#pragma once

#include "tests/exercises/09/given.h"

namespace plaingrad::exercises {

// Starts with one hypothesis, without tokens. In each step, all live hypotheses are continued by all
// tokens, and the `beam` continuations with the largest log p are kept. Those that end with kEnd are
// finished; the others live on. The search ends when none is live, or after max_tokens steps; hypotheses
// that are still live then are dropped. Returns the finished ones, at most `beam`, the largest score
// first. Each token lowers log p, so alpha = 0 prefers short sentences; with alpha = 1 the score is the
// mean over the tokens.
inline std::vector<Hypothesis> beam_search(const Model& model, std::size_t beam, int max_tokens,
                                           double alpha) {
    not_written(9, "beam_search", model, beam, max_tokens, alpha);
}

}  // namespace plaingrad::exercises
