// How long a training step would take on many machines, computed from what was measured on one: how long the
// parts of a step take, when their gradients are ready, and how fast messages are.
//
// A step of R processes, each of which has one part (nn/data_parallel.h):
//
//     compute       forward, and backward, in which buckets of gradients become ready one by one
//     sums          each bucket leaves by the process's link, after those that were ready before it, while
//                   backward goes on; what arrives at a process comes in by its link, one after the other
//     numbers       losses, and for the norm, are told to all (see collectives)
//     step          Adam on the own share
//     weights       the share goes to all others
//     barrier       nobody goes on before all have everything; then all hear whether any was told to stop
//
// Copies, additions and what a message costs the processor add to the computing time; links work beside it.
// Left out: links that several nodes share (the network is taken to carry what all nodes send), machines of
// different speed, and looking after each gradient whether messages have arrived (less than 1 % of a step, as
// measured). That equal parts do not take the same time is in (`spread`).
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace plaingrad::bench {

// Of one model on one thread: forward and backward take fixed + tokens * per_token seconds.
struct StepProfile {
    std::string name;
    double fixed = 0, per_token = 0;
    int64_t tokens = 0;                     // of a part, as it was measured
    double activation_bytes = 0;            // what comes and goes in such a part
    double square = 0, adam = 0;            // seconds an element: for the norm, and for the step
    std::vector<int64_t> elements = {};     // of each bucket
    std::vector<double> ready = {};         // when it is ready, as a share of forward and backward
    int64_t parameters = 0, stretches = 0;  // how many it has; of how many stretches there are squares
    int64_t size() const;                   // of the model, in elements
    double compute(double tokens_of_part) const { return fixed + per_token * tokens_of_part; }
};

// What one core of the measured machine needs; seconds.
struct Core {
    double copy = 0;          // to add an element to another one, or to copy it
    double message = 0;       // for each message: to start it, and to find that it has arrived
    double message_byte = 0;  // for each byte: copies by the processor, as in shared memory or with TCP
    double latency = 0;       // from process to process
};

struct Network {
    double latency = 0;       // seconds
    double bandwidth = 1e15;  // bytes a second, of each node, in each direction
};
// Messages between processes of one node take another way than those between nodes.
struct Networks {
    Network between = {}, inside = {};
};
// Inside, as it was measured. Its bytes are copied by processors, which Core::message_byte counts already.
inline Networks networks(const Core& core, const Network& between) {
    return {between, {.latency = core.latency}};
}

// What a simulated step is asked for.
struct Job {
    int64_t ranks = 1;
    double tokens = 0;    // of each rank's part
    int64_t threads = 1;  // of each rank
    // Copies, sums and Adam wait for memory, not for cores: at most so many cores of a node make them faster.
    int64_t memory_threads = 4;
    // Which share its link, and its memory. Of what a process of R exchanges, (ranks_on_node - 1) / (R - 1)
    // stays inside.
    int64_t ranks_on_node = 1;
    bool overlaps = true;
    double spread = 0;  // of the times of equal parts: standard deviation, as a share of their mean
};

struct SimulatedStep {
    double seconds = 0;
    double compute = 0;     // forward, backward, norm and Adam
    double copies = 0;      // and messages, as far as they take the processor's time
    double network = 0;     // what of it is not hidden behind the rest
    double slowest = 0;     // the wait for the slowest part
    double bytes_sent = 0;  // by a rank
    double memory = 0;      // bytes of a rank
    double optimizer_memory = 0;
};

SimulatedStep simulate(const StepProfile& profile, const Core& core, const Networks& networks,
                       const Job& job);

// What a step tells all processes, as nn/data_parallel.cpp does it. A process tells 1 + 3 numbers of its
// part, one for each parameter, and one for each stretch of its share; before the texts themselves MPI
// gathers their lengths. After the weights there is a barrier; then one more text says whether to stop.
//
// MPI gathers little by a tree: in ceil(log2 R) rounds each process sends all that it knows. More than 80 KiB
// in all go around a ring: R - 1 rounds, which Open MPI and MPICH prefer then. Either way each receives what
// all others tell. A barrier is a tree of empty messages.
double collectives(const StepProfile& profile, const Core& core, const Networks& networks, const Job& job);

// The expected largest of n numbers from the normal distribution of mean 0 and deviation 1.
double expected_largest(int64_t n);

// ---- what `make bench-scaling` has measured, as a text file

// Steps as they were measured, to compare the simulated ones with.
struct MeasuredStep {
    std::string workload;
    int64_t ranks = 1;
    double tokens = 0, seconds = 0;  // of a rank's part; of a step
    double spread = 0;               // see Job
    Network network = {0, 0};        // 0, 0: within this machine
    bool overlaps = true;            // see Job
    bool is_slowed() const { return network.bandwidth > 0; }
};

struct Measured {
    std::string machine;
    Core core;
    std::vector<StepProfile> profiles;
    std::vector<MeasuredStep> steps;
    const StepProfile& profile(const std::string& name) const;  // throws Error if there is none
    // That of this model with two ranks on this machine; of one that was not measured, that of the longest
    // step.
    double spread(const std::string& name) const;
};

// The lines for a profile's buckets: neighbours that are ready at the same time, to 0.05 % of forward and
// backward, are one line. Read again, they are of equal size.
std::string buckets_as_lines(const StepProfile& profile);
// Throws Error for a line that is none of these.
Measured read_measured(std::istream& in, const std::string& file);

}  // namespace plaingrad::bench
