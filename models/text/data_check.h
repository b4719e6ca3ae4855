// Checks parallel text before training: what may be wrong with it.
#pragma once

#include <string>
#include <vector>

#include "models/text/parallel.h"

namespace plaingrad::models::text {

inline constexpr std::size_t kUneven = 9;  // as in Moses' clean-corpus-n.perl

struct Finding {
    std::string what;
    Lines lines;
};

// What was found, in a fixed order. training: of validation data, what the model learns from; else null.
std::vector<Finding> check_data(const ParallelText& text, const ParallelText* training = nullptr);

// "a.en, a.de: 7 pairs; duplicates of an earlier pair: 3 (first in line 2)"
std::string report(const ParallelText& text, const std::vector<Finding>& found);

}  // namespace plaingrad::models::text
