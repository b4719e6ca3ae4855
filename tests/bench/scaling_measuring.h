// What bench_scaling measures, on one machine.
#pragma once

#include "tests/bench/scaling_model.h"
#include "tests/bench/wire.h"
#include "tests/bench/workloads.h"

namespace plaingrad::bench {

// The workloads, and the paper's two models ("Attention Is All You Need", table 3) with its 37,000 byte
// pairs: paper_base_37k, paper_big_37k.
Workload scaling_workload(const std::string& name);

// ---- steps of a team

// How the processes take a step together. With `by_one`, process 0 does all parts while the others sleep.
struct Way {
    std::string name = {};
    nn::DataParallelOptions options = {};
    Link link = {};
    bool by_one = false;
    int64_t parts = 0;  // 0: one for each process
};

// Medians over the steps; seconds. The times of a step are the means over the processes, except for the
// whole, which is that of the slowest.
struct WayTimes {
    double step = 0;
    double not_computing = 0;  // share of a step spent on copying, starting, polling, waiting and gathering
    double slower = 0;         // the part of it spent waiting for the process that computed longest
    double copying = 0;        // gradients and weights, and adding them up
    double starting = 0, polling = 0, waiting = 0, gathering = 0;  // see Calls
    double first_sent = 0, backward_ended = 0;
    double spread = 0;  // of the computing times of two processes: their standard deviation over their mean
    double bytes = 0, optimizer_bytes = 0;  // of process 0
    uint64_t hash = 0;                      // of the weights in the end
};

// Every way in turn, `rounds` times, each time with a new model that takes `steps` steps after a first one.
std::vector<WayTimes> measure_ways(nn::Team& team, const Workload& workload, const std::vector<Way>& ways,
                                   int64_t rounds, int64_t steps);

// ---- what the simulation needs to know

// All processes take the same steps at the same time and send nothing, as memory and clock rates depend on
// how many cores work.
StepProfile measure_profile(nn::Team& team, const Workload& workload, int64_t bucket, int64_t steps);
// Copies; and, with two processes, messages.
void measure_copies(nn::Team& team, Core& core);
// Seconds from one process to the other, of two.
double measure_latency(nn::Team& team);

// ---- a single process

struct Overhead {
    double plain = 0, shared = 0;  // seconds of a step: a plain loop, and nn::DataParallel with one part
    double share = 0;              // by how much longer: median over pairs of steps
    bool same_bits = false;
};
Overhead measure_overhead(const Workload& workload, int64_t pairs);

}  // namespace plaingrad::bench
