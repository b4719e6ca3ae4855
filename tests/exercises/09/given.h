// What exercise 9 has: models and hypotheses.
#pragma once

#include <functional>

#include "tests/exercises/given.h"

namespace plaingrad::exercises {

// The tokens so far -> log p of each token that may come next, a number for each token of the vocabulary.
using Model = std::function<Row(const std::vector<int>& tokens)>;

constexpr int kEnd = 0;  // the token that ends a sentence

struct Hypothesis {
    std::vector<int> tokens = {};  // without kEnd
    double log_p = 0;              // of all tokens, kEnd among them
    double score = 0;              // log_p / (number of tokens, kEnd among them)^alpha
};

}  // namespace plaingrad::exercises
