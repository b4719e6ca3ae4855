// From a model to sentences: greedy and beam search.
#pragma once

#include <functional>

#include "models/stepper.h"

namespace plaingrad::models {

struct Hypothesis {
    std::vector<int32_t> ids;  // the generated tokens after the prompt, without the end
    double log_probability = 0;
    double score = 0;       // log probability / length penalty
    bool finished = false;  // false: it was cut at the maximum length, and is not a whole sentence
};

// Appends the most probable next token, ties going to the smaller id, until it is one of the stepper's
// `ends`, or max_tokens were generated, or the model has no position left. Tokens of the stepper's `never`
// are skipped. Returns one hypothesis for each sentence of the batch. Throws Error for a probability that is
// not a number.
std::vector<Hypothesis> greedy(Stepper& stepper, int64_t max_tokens);

struct BeamOptions {
    int64_t beam = 4;
    int64_t n_best = 1;  // how many hypotheses to return, at most `beam`
    // score = log p / ((k + length) / (k + 1))^alpha, the end counted in the length. An alpha of 0 compares
    // plain log probabilities, which favours short sentences. k = 5: Wu et al. 2016, equation 14. k = 0: log
    // p / length^alpha, as in fairseq; with alpha 1 it is the mean log probability of a token.
    double alpha = 0.6;
    double k = 5;
    int64_t max_tokens = 100;  // the end counted
    // A limit for each sentence, at least 1; max_tokens holds as well. Empty: max_tokens alone.
    std::vector<int64_t> max_tokens_of = {};
    // Is told of each beginning that is kept, for pictures: of the ended and the others, best first in each
    // step. For a batch of one sentence: several are searched at the same time.
    std::function<void(const Hypothesis& kept)> on_kept = {};
};

// For each sentence of the batch its n_best hypotheses, best first, finished before unfinished ones.
//
// Greedy search cannot take a token back: the most probable one may lead to a worse sentence. Beam search
// keeps the `beam` most probable beginnings instead of one. At every step each is continued by every token,
// and the best of all these continuations are kept. A continuation that ends is set aside if it is among the
// best `beam` of its step.
//
// A sentence is done when `beam` hypotheses have ended and the best continuation of some step was among them.
// (fairseq stops at the first condition alone. But when a model is nearly certain of one long sentence, the
// other places of the beam hold improbable ones, which soon end; the search would then stop before the
// certain one does.) It is also done when no open hypothesis can still reach the n_best. Beam 1 is greedy
// search. Throws Error unless 1 <= n_best <= beam.
std::vector<std::vector<Hypothesis>> beam_search(Stepper& stepper, const BeamOptions& options = {});

}  // namespace plaingrad::models
