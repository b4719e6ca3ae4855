// What the simulation says, as text and as numbers to draw.
#pragma once

#include "tests/bench/scaling_model.h"

namespace plaingrad::bench {

struct SimulationSettings {
    // Of a cluster as many have: 25 Gbit/s a node, 20 us from node to node; on each node of 32 cores one
    // process with 32 threads, which are taken to compute 32 times as fast as one. (If they don't, more of a
    // step is computing, and it scales better.)
    Network network = {20e-6, 25e9 / 8};
    int64_t cores = 32, processes = 1;  // of each node
    // Weak scaling: of each node; the paper's whole batch. Strong: of 32 nodes together. Paper: of all nodes.
    int64_t tokens = 25'000;
    double spread_times = 1;  // to see what other deviations would do
};

enum class Scaling { weak, strong, paper };

struct ScalingPoint {
    int64_t nodes = 1;
    SimulatedStep step;
    double efficiency = 0;  // of one: the speed for each node, as a share of the speed of a single node
};
// On 1, 2, 4, ..., 1,024 nodes.
std::vector<ScalingPoint> scaling_of(const Measured& measured, const std::string& model, Scaling scaling,
                                     const SimulationSettings& settings);

// Measured steps of one and two processes beside simulated ones. Independent of the measured step are the
// profile (steps that send nothing) and the constants of messages and copies. By how much equal parts differ
// (`spread`) is not: for two processes on this machine it is taken from the very steps that are compared. (It
// is the difference of their computing times only, and of no time that messages take; the table shows how
// much of a step it is.) Steps with a slowed network are simulated with the spread of those without.
std::string comparison(const Measured& measured);
// The largest relative difference between them.
double largest_error(const Measured& measured);
// Steps of the paper's training (section 5.2): "base" takes 100,000, "big" 300,000.
inline constexpr int64_t kStepsOfBase = 100'000, kStepsOfBig = 300'000;

// All models on all numbers of nodes.
std::string prediction(const Measured& measured, const SimulationSettings& settings);

}  // namespace plaingrad::bench
