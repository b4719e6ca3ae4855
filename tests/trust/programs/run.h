// Runs a random program: all of its results and all gradients of its leaves, as numbers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tests/trust/programs/program.h"

namespace plaingrad::trust {

// What a run leaves of one node: its result, or its gradient.
struct Numbers {
    int node = 0;
    bool is_gradient = false;
    std::vector<Real> x = {};
};

struct Run {
    std::vector<Numbers> all = {};             // results in order, then the gradients that there are
    std::vector<std::string> errors = {};      // of the calls that were to throw, in order; "" if one did not
    std::string failure = {};                  // an Error that nobody expected
    uint64_t branches = 0;                     // see Branches
    double loss = 0;                           // what backward started from: the sum of all its losses
    double loss_terms = 0;                     // what they are sums of, without their signs
    std::vector<std::vector<int>> roots = {};  // of each backward, the nodes that it started from
    std::vector<bool> in_graph = {};           // of each node, whether its result needs a gradient
};

struct How {
    bool plain = false;
    bool branches = false;  // find out on which side of each kink the numbers are
    // Every number that goes into or comes out of a node that rounds is multiplied by 1 + e, with a random e
    // up to this, and so is every gradient, including that of a node that does not round: what rounding does,
    // exaggerated. Where the terms of a gradient cancel (Node::terms), it is moved by e times such a term. 0:
    // nothing is disturbed.
    double noise = 0, bf16_noise = 0;
    uint64_t sample = 0;  // which e
    // For central differences: forward only, each wanted leaf moved by `step` along a random direction. What
    // is not in the graph keeps its values from `held`, the undisturbed run: for backward it is constant.
    const Run* held = nullptr;
    double step = 0;
    uint64_t direction = 0;
};

// The first `count` nodes, and then a backward.
Run run_program(const Program& program, std::size_t count, const How& how = {});

// Element i of the direction for a leaf; 0 for the leaves that this one leaves as they are.
double direction_at(const Program& program, uint64_t direction, int leaf, uint64_t i);

// The first results whose bits differ, a NaN being like any other; "" if there are none.
std::string first_difference(const Run& a, const Run& b);

// "x7" or "the gradient of x7"
std::string name_of(const Numbers& numbers);

}  // namespace plaingrad::trust
