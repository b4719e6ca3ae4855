// What the simulation says, as text and as numbers to draw.
#pragma once

#include "tests/bench/scaling_model.h"

namespace plaingrad::bench {

struct SimulationSettings {
    // Of a cluster as many have: 25 Gbit/s a node, 20 us from node to node; on each node of 32 cores one
    // process with 32 threads, which are taken to compute 32 times as fast as one. (If they don't, more of a
    // step is computing, and it scales better.)
    Network network = {20e-6, 25e9 / 8};
    int64_t threads = 32;
    // Weak scaling: of each process; the paper's whole batch. Strong: of 32 processes together.
    int64_t tokens = 25'000;
};

enum class Scaling { weak, strong };

struct ScalingPoint {
    int64_t nodes = 1;
    SimulatedStep step;
    double efficiency = 0;  // of one: the speed for each node, as a share of the speed of a single node
};
// On 1, 2, 4, ..., 1,024 nodes.
std::vector<ScalingPoint> scaling_of(const Measured& measured, const std::string& model, Scaling scaling,
                                     const SimulationSettings& settings);

// Measured steps of one and two processes beside simulated ones.
std::string comparison(const Measured& measured);
// The largest relative difference between them.
double largest_error(const Measured& measured);
// All models on all numbers of nodes.
std::string prediction(const Measured& measured, const SimulationSettings& settings);

}  // namespace plaingrad::bench
