// How long a training step would take on many machines, computed from what was measured on one: how long the
// parts of a step take, when their gradients are ready, and how fast messages are.
//
// A step of R processes, each of which has one part (nn/data_parallel.h):
//
//     compute       forward, and backward, in which buckets of gradients become ready one by one
//     sums          each bucket leaves by the process's link, after those before it, while backward goes on;
//                   what arrives at a process comes in by its link, one after the other
//     norm          a few numbers, up and down a tree of processes
//     step          Adam on the own share
//     weights       the share goes to all others
//
// Copies, additions and what a message costs the processor add to the computing time; links work beside it.
// Left out: links that several nodes share (the network is taken to carry what all nodes send), and machines
// of different speed. That equal parts do not take the same time is in (`spread`).
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
    int64_t tokens = 0;                  // of a part, as it was measured
    double activation_bytes = 0;         // what comes and goes in such a part
    double square = 0, adam = 0;         // seconds an element: for the norm, and for the step
    std::vector<int64_t> elements = {};  // of each bucket
    std::vector<double> ready = {};      // when it is ready, as a share of forward and backward
    int64_t size() const;                // of the model, in elements
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

// What a simulated step is asked for.
struct Job {
    int64_t ranks = 1;
    double tokens = 0;    // of each rank's part
    int64_t threads = 1;  // of each rank
    // Copies, sums and Adam wait for memory, not for cores: at most so many of them make them faster.
    int64_t memory_threads = 4;
    int64_t ranks_on_node = 1;  // which share its link
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

SimulatedStep simulate(const StepProfile& profile, const Core& core, const Network& network, const Job& job);

// The expected largest of n numbers from the normal distribution of mean 0 and deviation 1.
double expected_largest(int64_t n);

// ---- what `make bench-scaling` has measured, as a text file

// Steps as they were measured, to compare the simulated ones with.
struct MeasuredStep {
    std::string workload;
    int64_t ranks = 1;
    double tokens = 0, seconds = 0;  // of a rank's part; of a step
    double spread = 0;               // see Job
};

struct Measured {
    std::string machine;
    Core core;
    std::vector<StepProfile> profiles;
    std::vector<MeasuredStep> steps;
    const StepProfile& profile(const std::string& name) const;  // throws Error if there is none
    // That of this model with two ranks; of one that was not measured, that of the longest step.
    double spread(const std::string& name) const;
};

// Throw Error for a line that is none of theirs.
Measured read_measured(std::istream& in, const std::string& file);

}  // namespace plaingrad::bench
