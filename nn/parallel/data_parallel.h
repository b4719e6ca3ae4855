// Data-parallel training: the batch of a step is cut into parts, and each process computes the gradients of
// some of them. What comes out has the same bits for any number of processes: parts decide the numbers, not
// processes (parts.h has the tree in which their gradients are added). A step:
//
//     backward      each process: the gradients of its own parts, added up as far as the tree allows
//     all-reduce    the sums of all processes are added up, and every process gets the total
//
// From there on each process does what a single one does: all take the same optimizer's step.
#pragma once

#include "nn/module.h"
#include "nn/parallel/team.h"

namespace plaingrad::nn {

// Which piece of the data a loss is asked for: part `part` of `parts` of a batch. A step has several batches
// if they are accumulated.
struct StepPart {
    int64_t step = 1;  // from 1
    int64_t batch = 0, part = 0, parts = 1;
};

// The loss of a part of a batch.
struct StepLoss {
    Tensor loss;              // empty for a part without rows
    int64_t tokens = 0;       // for the log
    bool ends_epoch = false;  // the last batch of an epoch: the step ends with it, and validation follows
    // How many terms the loss is the mean of; 0: as many as tokens. They are its weight where batches are
    // accumulated or cut into parts.
    int64_t terms = 0;
};
using LossOf = std::function<StepLoss(const StepPart& at, const Mode& mode)>;

// What forward and backward of a step have found.
struct StepGradient {
    double loss = 0;  // the mean over all terms
    int64_t tokens = 0;
    double norm = 0;  // of the gradient of that mean
    // The parameters hold a sum of gradients. Times `scale` it is the gradient of the mean: give `scale` to
    // Optimizer::step. One over the number of terms if the batch was cut into parts; otherwise 1.
    double scale = 1;
    bool ends_epoch = false;
};

class DataParallel {
public:
    // The team outlives it. Throws Error for more processes than parts.
    DataParallel(const std::vector<NamedParameter>& parameters, Team& team = alone(), int64_t parts = 1);

    int64_t parts() const { return parts_; }
    Team& team() const { return *team_; }

    // Forward and backward of the own parts, from zero gradients, and the sum over all parts, which then is
    // the parameters' gradient. batches: of a step, which an epoch's end cuts short. rng: of the step, for
    // dropout. Throws Error without a loss or a batch, and if a batch that is accumulated or cut has no
    // tokens.
    StepGradient backward(int64_t step, const Rng& rng, const LossOf& loss_of, int64_t batches = 1) const;

private:
    std::vector<double> run_part(StepPart at, const Rng& rng, const LossOf& loss_of, int64_t batches) const;

    std::vector<NamedParameter> parameters_;
    Team* team_;
    int64_t parts_;
};

}  // namespace plaingrad::nn
