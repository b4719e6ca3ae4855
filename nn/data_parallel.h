// Data-parallel training: the batch of a step is cut into parts, and the parts are shared out among
// processes. What comes out has the same bits for any number of processes: parts decide the numbers, not
// processes (parts.h has the tree in which their gradients are added).
//
// Of R processes each owns a share of the weights, 1/R of them, and keeps the optimizer's state for that
// share only (Rajbhandari et al. 2020, "ZeRO", stage 1). A step:
//
//     backward          completes the gradients, those of the last layer first
//     reduce-scatter    whenever a bucket of gradients is complete, every process sends the others their
//                       shares of it, while backward goes on, and adds up what it receives for its own
//     norm              from the sums of squares of all shares
//     step              Adam on the own share
//     all-gather        every process sends its share of the new weights to the others
//
// A process whose parts are one subtree sends (R-1)/R of the weights' size twice in a step, as in a ring.
#pragma once

#include <unordered_map>

#include "nn/exchange.h"

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
    bool ends_epoch = false;
};

struct DataParallelOptions {
    int64_t bucket = 1 << 18;  // elements that are sent together, at least: 1 MiB
    bool overlaps = true;      // false: nothing is sent before backward has ended, to see what that costs
};

class DataParallel {
public:
    // All outlive it. With several processes, `adam` keeps state for this one's share only from here on.
    // Throws Error for more processes than parts. A parameter that is frozen now is not in any bucket: with
    // several parts, `backward` throws Error if it is unfrozen by then.
    DataParallel(Adam& adam, Team& team = alone(), int64_t parts = 1,
                 const DataParallelOptions& options = {});
    DataParallel(DataParallel&&) = delete;

    int64_t parts() const { return parts_; }
    Team& team() const { return team_; }

    // Forward and backward of the own parts, from zero gradients, and the sum over all parts. batches: of a
    // step, which an epoch's end cuts short. rng: of the step, for dropout. Throws Error without a loss or a
    // batch, and if a batch that is accumulated or cut has no tokens.
    StepGradient backward(int64_t step, const Rng& rng, const LossOf& loss_of, int64_t batches = 1);
    // Then: the optimizer's step, with the gradients times `clip`; all processes get the new weights. Throws
    // Error if no backward has ended since the last step.
    void step(double learning_rate, double clip = 1);

    // The first parameter whose gradient is not finite; "" if there is none.
    const std::string& not_finite() const { return not_finite_; }
    const Traffic& traffic() const { return exchange_.traffic(); }
    Load load() const { return exchange_.load(); }
    // How many numbers a step keeps besides gradients and state: sums over own parts, the first of which
    // takes the place of the gradients, and those that arrive.
    int64_t buffered() const;

    // To save the optimizer's state, one tensor at a time: process 0 calls gather_state for each, in any
    // order, and gets the whole of it, while every other process calls send_state once.
    Tensor gather_state(std::size_t i) const;
    void send_state() const;
    // To load tensor i of it. read: copies elements first .. first + n - 1 of the whole.
    using Read = std::function<void(int64_t first, int64_t n, Real* to)>;
    void set_state(std::size_t i, const Read& read) const;

private:
    struct Sum;
    struct News;
    struct OwnedBy : Stretch {
        int64_t process = 0;
    };

    bool is_whole() const { return parts_ == 1; }
    std::vector<Stretch> share_of(int64_t process) const;
    void run_part(Sum& sum, StepPart at, const Rng& rng, const LossOf& loss_of, int64_t batches);
    void begin_part(int64_t part, bool is_last);
    void complete(const autograd::Node& leaf);
    void end_part();
    void add_up(std::size_t bucket);
    void send(std::size_t bucket);
    void collect();
    StepGradient agree(const Sum& sum, bool of_several);
    double norm_of(const std::vector<double>& squares);

    Adam& adam_;
    Team& team_;
    const int64_t parts_;
    const DataParallelOptions options_;
    const std::vector<Bucket> buckets_;
    Exchange exchange_;
    std::vector<std::vector<std::size_t>> buckets_of_;                     // [parameter]
    std::unordered_map<const autograd::Node*, std::size_t> parameter_of_;  // [leaf]
    std::vector<Stretch> all_shares_;           // of process 0, then of process 1, ...
    std::vector<std::size_t> order_;            // of these, in the order of the parameters
    std::vector<std::vector<OwnedBy>> owners_;  // [parameter]: its stretches in the order of all_shares_

    // The sums over the own parts so far, and their values until they are sent.
    std::vector<PartSum> sums_;
    std::vector<std::vector<Tensor>> values_;  // [bucket][sum]: (the bucket's size)
    // Of the part that runs: which of the sums takes its gradients, and how many additions follow. See
    // begin_part.
    std::size_t into_ = 0, additions_ = 0;
    bool is_last_ = false;
    std::vector<std::size_t> incomplete_;  // [bucket]: how many of its parameters have no gradient yet
    std::vector<std::size_t> unread_;      // [parameter]: how many buckets still have to read its gradient

    std::vector<bool> has_gradient_;      // of each parameter
    bool can_step_ = false;               // backward has ended, and no step has followed
    std::vector<StretchGrad> gradients_;  // of the own share
    double grad_scale_ = 1;               // makes of their sum the gradient of the mean
    std::string not_finite_;
};

}  // namespace plaingrad::nn
