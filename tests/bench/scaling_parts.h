// How unequal the parts of a batch of real sentences are: in a step all wait for the largest.
#pragma once

#include "models/text/batches.h"

namespace plaingrad::bench {

// How much more the largest part of a batch has than their mean, as a share of it; means over batches.
struct Imbalance {
    double tokens = 0, padded = 0;  // padded: rows * the longest, of each side, which is what computing takes
};
// Batches as in training (models/text/batches.h), dealt to so many parts (models/parts.h).
Imbalance measure_imbalance(const std::vector<models::text::PairLength>& lengths, int64_t batch_tokens,
                            int64_t parts);
// As many random pairs; lengths have a log-normal distribution like sentences', of some 12 words.
std::vector<models::text::PairLength> random_lengths(int64_t count);

}  // namespace plaingrad::bench
