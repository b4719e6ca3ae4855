// Data-parallel training: the batch of a step is cut into parts, and each process computes the gradients of
// some of them. What comes out has the same bits for any number of processes: parts decide the numbers, not
// processes (PartSum is the tree in which their gradients are added). A step:
//
//     backward      each process: the gradients of its own parts, added up as far as the tree allows
//     all-reduce    the sums of all processes are added up, and every process gets the total
//
// From there on each process does what a single one does: all take the same optimizer's step.
#pragma once

#include <cstdint>
#include <vector>

#include "nn/module.h"
#include "nn/parallel/team.h"

namespace plaingrad::nn {

// Which piece of the data a loss is asked for: part `part` of `parts` of a batch. A step has several batches
// if they are accumulated.
struct StepPart {
    int64_t step = 1;  // from 1
    int64_t batch = 0, part = 0, parts = 1;
    int64_t batches = 1;  // of a step at most

    bool is_whole() const { return parts == 1 && batches == 1; }
};
// Its own random stream, for dropout; step: that of its step.
Rng rng_of(const Rng& step, const StepPart& at);

// The loss of a part of a batch.
struct StepLoss {
    Tensor loss;         // empty for a part without rows
    int64_t tokens = 0;  // for the log
    // How many terms the loss is the mean of; 0: as many as tokens. They are its weight where batches are
    // accumulated or cut into parts.
    int64_t terms = 0;
};

// What forward and backward of a step have found.
struct StepGradient {
    double loss = 0;  // the mean over all terms
    int64_t tokens = 0;
    double norm = 0;  // of the gradient of that mean
    // The parameters hold a sum of gradients. Times `scale` it is the gradient of the mean: give `scale` to
    // Optimizer::step. One over the number of terms if the batch was cut into parts; otherwise 1.
    double scale = 1;
};

// ---- the tree
//
// The batch of a step is cut into parts. The sum of their gradients is taken in the order of one fixed tree,
// whoever computes it:
//
//     part  0   1   2   3   4   5   6
//            \ /     \ /     \ /   /
//             +       +       +   /
//              \     /         \ /
//               \   /           +
//                 +            /
//                   \         /
//                        +
//
// Floating-point sums depend on their order. A tree, unlike a chain, lets each process add up its own parts
// first: if they are a subtree, it has one sum to send.

// The sum of parts begin .. end - 1: a node of the tree.
struct PartSum {
    int64_t begin, end;
};
struct GradientSum : PartSum {
    Tensor gradients = {};  // of all parameters, one after the other; empty where only the tree matters
};

// Appends a sum to those that are adjacent on its left. As soon as two of them are siblings in the tree, they
// are added up, in the memory of the left one.
void append(std::vector<GradientSum>& sums, const GradientSum& sum, int64_t parts);

// The parts that process `rank` of `size` computes: consecutive ones. Any two processes have equally many,
// or one more.
constexpr PartSum parts_of(int64_t rank, int64_t size, int64_t parts) {
    return {rank * parts / size, (rank + 1) * parts / size};
}

// Cuts 0..n in the same way, calls f(begin, end) for the own range, and returns the results of all processes
// in order, in every one of them: numbers, or texts.
template <class F>
auto shared_ranges(Team& team, int64_t n, const F& f) {
    const PartSum own = parts_of(team.rank(), team.size(), n);
    return gather(team, f(own.begin, own.end));
}

// The sums that such a process is left with: at most 2 log2(parts).
inline std::vector<GradientSum> sums_of(const PartSum& own, int64_t parts) {
    std::vector<GradientSum> sums;
    for (int64_t part = own.begin; part < own.end; ++part)
        append(sums, {{part, part + 1}}, parts);
    return sums;
}

// ---- a step

// The gradients of one step, which begin as zeros: backward of each loss, then their sum.
class Gradients {
public:
    // Of a batch that a team shares in so many parts. parameters: each once, as an optimizer has them. The
    // team outlives this. Throws Error for more processes than parts.
    Gradients(const std::vector<NamedParameter>& parameters, Team& team = alone(), int64_t parts = 1);

    // at: the own parts in order, each with all of its batches. Parts without rows may be left out. Throws
    // Error if a batch that is accumulated or cut has no tokens.
    void backward(const StepLoss& loss, const StepPart& at);
    // Of all parts and processes; then it is the parameters' gradient.
    StepGradient sum();

private:
    void end_parts(int64_t before);

    std::vector<NamedParameter> learning_;
    Team& team_;
    int64_t parts_, begin_, part_;  // begin_: the first of the own parts; part_: the present one
    bool is_whole_;
    std::vector<double> told_;  // for each own part: sum of losses, terms, tokens
    std::vector<GradientSum> sums_;
};

}  // namespace plaingrad::nn
