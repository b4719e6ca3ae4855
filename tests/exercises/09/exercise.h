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

#include <algorithm>
#include <cmath>

#include "tests/exercises/09/given.h"

namespace plaingrad::exercises {

// answer
// All continuations of all beginnings by one token, and of these the `beam` most probable. They compete
// with each other, whatever they continue: a good beginning may survive several times, and a bad one not
// at all.
inline std::vector<Hypothesis> best_continuations(const Model& model, const std::vector<Hypothesis>& live,
                                                  std::size_t beam) {
    std::vector<Hypothesis> all;
    for (const Hypothesis& h : live) {
        const Row log_p = model(h.tokens);
        for (std::size_t token = 0; token < log_p.size(); ++token) {
            all.push_back({h.tokens, h.log_p + log_p[token]});
            all.back().tokens.push_back(static_cast<int>(token));
        }
    }
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.log_p > b.log_p; });
    all.resize(std::min(all.size(), beam));
    return all;
}
// end

// Starts with one hypothesis, without tokens. In each step, all live hypotheses are continued by all
// tokens, and the `beam` continuations with the largest log p are kept. Those that end with kEnd are
// finished; the others live on. The search ends when none is live, or after max_tokens steps; hypotheses
// that are still live then are dropped. Returns the finished ones, at most `beam`, the largest score
// first. Each token lowers log p, so alpha = 0 prefers short sentences; with alpha = 1 the score is the
// mean over the tokens.
inline std::vector<Hypothesis> beam_search(const Model& model, std::size_t beam, int max_tokens,
                                           double alpha) {
    // skeleton: not_written(9, "beam_search", model, beam, max_tokens, alpha);
    // answer
    std::vector<Hypothesis> live = {{}}, done;
    for (int length = 1; length <= max_tokens && !live.empty(); ++length) {
        std::vector<Hypothesis> next;
        for (Hypothesis& h : best_continuations(model, live, beam)) {
            const bool ended = h.tokens.back() == kEnd;
            if (ended) {
                h.tokens.pop_back();
                h.score = h.log_p / std::pow(length, alpha);
            }
            (ended ? done : next).push_back(h);
        }
        live = next;
    }
    std::stable_sort(done.begin(), done.end(),
                     [](const auto& a, const auto& b) { return a.score > b.score; });
    done.resize(std::min(done.size(), beam));
    return done;
    // end
}

}  // namespace plaingrad::exercises

// answer
// In the library: models/decoding/beam_search.cpp, advance
//
// The library searches for all sentences of a batch at once, with a cache. It takes more candidates, so
// that `beam` hypotheses stay alive, and stops as soon as none of them can win any more.
// end
