// What the processes of a team send each other in a step: sums of gradients on the way to the owner of a
// share, and new weights on the way back.
#pragma once

#include <memory>

#include "nn/parts.h"
#include "nn/shares.h"
#include "nn/team.h"

namespace plaingrad::nn {

// What a step has sent, and when, in seconds since it began.
struct Traffic {
    int64_t bytes = 0;
    double first_sent = 0, backward_ended = 0;
    double waited = 0;  // how long there was nothing to do but to wait for others
    double copied = 0;  // how long gradients and weights were copied and added up
};

void copy(int64_t n, const Real* from, Real* to);  // to = from
void add(int64_t n, const Real* from, Real* to);   // to += from
constexpr int64_t bytes_of(int64_t elements) { return elements * static_cast<int64_t>(sizeof(Real)); }

// What a process sends in each step.
struct Load {
    int64_t messages = 0, bytes = 0;
};

class Exchange {
public:
    // All outlive it.
    Exchange(const std::vector<NamedParameter>& parameters, const std::vector<Bucket>& buckets, Team& team,
             int64_t parts);

    void begin_step();
    // Sends a bucket of the sums over own parts, sums_of(own parts), to the owners of its pieces, and
    // begins to receive the sums of the others for the own piece.
    void send(std::size_t bucket, std::vector<Tensor> sums);
    // Lets messages move on.
    void poll();
    // The own piece of a bucket, once all have arrived: the sum over all parts, there until share_weights.
    void add(std::size_t bucket, std::vector<StretchGrad>& gradients);
    // Sends the own weights, of all buckets, and receives those of the others, in the memory of the sums (the
    // first one has room for a whole bucket). That memory is free then: forward needs it for its activations.
    void share_weights();

    // The most that any process sends.
    Load load() const;
    const Traffic& traffic() const { return traffic_; }
    void note_end_of_backward() { traffic_.backward_ended = now(); }
    double now() const;  // since the step began
    void note_copies(double since) { traffic_.copied += now() - since; }

private:
    // Of a bucket, in the order of the parts:
    struct Piece {
        std::vector<Tensor> own = {};  // the sums over own parts, each of the bucket's size
        Tensor memory = {};            // what others send for the own piece: (sums of others * its size)
        std::vector<Real*> sums = {};  // of the own piece, where each sum begins, in `own` or in `memory`
        std::unique_ptr<Transfer> transfer = {};
    };

    int64_t cut(std::size_t bucket, int64_t process) const;
    void transfer(std::size_t bucket, Piece& piece, std::vector<Message> out, std::vector<Message> in);
    void send_weights(std::size_t bucket);
    Real* weights(const Stretch& stretch) const;
    void wait(Piece& piece);

    const std::vector<NamedParameter>& parameters_;
    const std::vector<Bucket>& buckets_;
    Team& team_;
    std::vector<std::vector<PartSum>> sums_of_each_;              // [process]: what it sends
    std::vector<std::pair<std::size_t, std::size_t>> additions_;  // (to, from), numbers of these sums
    std::vector<Piece> pieces_;
    double start_ = 0;
    Traffic traffic_;
};

}  // namespace plaingrad::nn
