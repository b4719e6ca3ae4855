// Computes a random program in all the ways that must agree, in this build, and says what does not.
#pragma once

#include <string>
#include <vector>

#include "tests/trust/programs/reference.h"
#include "tests/trust/programs/run.h"

namespace plaingrad::trust {

// What is wrong with a program, in words; "" if nothing is.
struct Findings {
    std::string bits = {};    // other bits with other threads or instruction sets, or in unclean memory
    std::string errors = {};  // an unexpected one, or an expected one that did not come
    std::string memory = {};  // still in use at the end
};

// The ways that must give the same bits. rotation: which numbers of threads.
Findings compare_bits(const Program& program, std::size_t count, uint64_t rotation);

// How a run compares with the double build's.
struct Comparison {
    bool compared = false;   // not if a number is on the other side of a kink than in double
    int64_t tensors = 0;     // compared, that are not all 0
    int64_t sharp = 0;       // of them, those whose bound is below 1 % of their largest number
    std::string wrong = {};  // the first number beyond its bound; "" if there is none
};
Comparison compare_with(const Reference& reference, const Run& run, const std::string& what);

}  // namespace plaingrad::trust
