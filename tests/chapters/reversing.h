// The small task of several experiments: an encoder-decoder with one layer a stack learns to reverse six
// symbols out of ten, in a second.
#pragma once

#include "models/batch.h"

namespace plaingrad::chapters {

struct Reversing {
    double lr = 3e-3;
    int steps = 500;
    bool causal = true;      // false: the decoder sees what it has to predict
    bool related = true;     // false: the targets are noise that has nothing to do with the sources
    bool one_batch = false;  // true: the same batch in every step
};

struct Reversed {
    std::vector<double> losses;  // of every step
    int right = 0;               // of kUnseen sequences, written token by token
};
inline constexpr int kUnseen = 200, kBatch = 32;

Reversed learn_to_reverse(const Reversing& how);

}  // namespace plaingrad::chapters
