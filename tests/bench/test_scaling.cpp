// The simulation of many machines gives what one can compute by hand, and what was measured; the slow network
// is as slow as it says.
#include <cmath>
#include <fstream>
#include <sstream>

#include "nn/optim.h"
#include "tests/bench/scaling_model.h"
#include "tests/bench/scaling_tables.h"
#include "tests/bench/wire.h"
#include "tests/catch.h"
#include "tests/folder.h"
#include "tests/nn/thread_team.h"

using namespace plaingrad;         // NOLINT
using namespace plaingrad::bench;  // NOLINT
using namespace tests;             // NOLINT

namespace {

constexpr int64_t kBucket = 64 * nn::kStretch;  // elements: whole stretches for up to 64 processes
constexpr double kBytes = sizeof(float), kElements = static_cast<double>(kBucket);

// Two equal buckets, ready after 50 % and 100 % of a second.
StepProfile small_profile() {
    StepProfile p;
    p.name = "small";
    p.fixed = 0.2;
    p.per_token = 0.8 / 1000;
    p.tokens = 1000;
    p.elements = {kBucket, kBucket};
    p.ready = {0.5, 1};
    return p;
}

// The seconds in which one process sends its sums of a bucket, with so many processes.
double bucket_time(double ranks, const Network& network) {
    return kBytes * kElements * (ranks - 1) / ranks / network.bandwidth;
}

Measured measured() {
    std::ifstream in("tests/bench/scaling.txt");
    return read_measured(in, "tests/bench/scaling.txt");
}

}  // namespace

TEST_CASE("scaling: with a perfect network and free copies a step is its computing", "[bench][scaling]") {
    const StepProfile p = small_profile();
    for (const int64_t ranks : {1, 2, 64}) {
        const SimulatedStep s = simulate(p, {}, {}, {.ranks = ranks, .tokens = 500});
        CHECK(s.seconds == Approx(0.6));
        CHECK(s.compute == Approx(0.6));
        CHECK(s.bytes_sent == Approx(2 * kBytes * 2 * kElements * (1 - 1 / static_cast<double>(ranks))));
        CHECK(s.optimizer_memory == Approx(2 * kBytes * 2 * kElements / static_cast<double>(ranks)));
    }
    CHECK(simulate(p, {}, {}, {.ranks = 4, .tokens = 500, .threads = 3}).seconds == Approx(0.2));
}

TEST_CASE("scaling: what a network adds to a step", "[bench][scaling]") {
    const StepProfile p = small_profile();
    for (const double ranks : {2., 64.}) {
        CAPTURE(ranks);
        Job job = {.ranks = static_cast<int64_t>(ranks), .tokens = 1000};
        // A bucket takes a tenth of a second: the first one leaves during backward, the second one after it,
        // and then the weights of both.
        Network network = {.latency = 0, .bandwidth = kBytes * kElements * (ranks - 1) / ranks / 0.1};
        REQUIRE(bucket_time(ranks, network) == Approx(0.1));
        CHECK(simulate(p, {}, network, job).seconds == Approx(1 + 0.1 + 0.2));
        job.overlaps = false;
        CHECK(simulate(p, {}, network, job).seconds == Approx(1 + 0.2 + 0.2));
        // Several processes share their node's link.
        job.ranks_on_node = 2;
        CHECK(simulate(p, {}, network, job).seconds == Approx(1 + 0.4 + 0.4));
        // Slower than backward: the second bucket waits for the first.
        job = {.ranks = job.ranks, .tokens = 1000};
        network.bandwidth /= 8;
        CHECK(simulate(p, {}, network, job).seconds == Approx(0.5 + 1.6 + 1.6));
        // Latency: of the sums, of the norm up and down a tree, of the weights.
        CHECK(simulate(p, {}, {.latency = 0.01}, job).seconds ==
              Approx(1 + 0.01 + 0.02 * std::log2(ranks) + 0.01));
    }
}

TEST_CASE("scaling: what copies, the step and uneven parts add", "[bench][scaling]") {
    StepProfile p = small_profile();
    constexpr double n = 2 * kElements;
    const Job job = {.ranks = 4, .tokens = 1000};
    // All gradients to the sums, three others' sums of a quarter added, a quarter of the weights to where it
    // is sent from, and the others to their places.
    CHECK(simulate(p, {.copy = 1e-7}, {}, job).seconds == Approx(1 + 1e-7 * n * (1 + 0.75 + 0.25 + 0.75)));
    // Each bucket: one message to each other owner and one from each, twice; the processes' own pieces are
    // sent to nobody, which this counts as well.
    const double messages = simulate(p, {.message = 1e-3}, {}, job).seconds - 1;
    CHECK(messages > 1e-3 * 2 * 2 * 6);
    CHECK(messages < 1e-3 * (2 * 2 * 8 + 4));
    CHECK(simulate(p, {}, {}, {.ranks = 4, .tokens = 1000, .spread = 0.1}).seconds ==
          Approx(1 + 0.1 * expected_largest(4)));
    p.adam = 1e-7;
    CHECK(simulate(p, {}, {}, {.ranks = 1, .tokens = 1000}).seconds == Approx(1 + 1e-7 * n));
    CHECK(simulate(p, {}, {}, job).seconds == Approx(1 + 1e-7 * n / 4));
    // A model of one stretch has one owner.
    p.elements = {nn::kStretch};
    p.ready = {1};
    CHECK(simulate(p, {}, {}, job).optimizer_memory ==
          Approx(2 * kBytes * static_cast<double>(nn::kStretch)));
    CHECK_THROWS_WITH(simulate(p, {}, {}, {.ranks = 0}), Catch::Contains("must be positive"));
}

TEST_CASE("scaling: the expected largest of normal numbers", "[bench][scaling]") {
    CHECK(expected_largest(1) == 0);
    CHECK(expected_largest(2) == Approx(1 / std::sqrt(std::acos(-1.0))).margin(1e-3));
    CHECK(expected_largest(3) == Approx(0.846).margin(0.06));
    CHECK(expected_largest(1024) == Approx(3.247));
    for (int64_t n = 1; n < 1100; ++n)
        CHECK(expected_largest(n + 1) >= expected_largest(n));
}

TEST_CASE("scaling: the file of constants", "[bench][scaling]") {
    std::istringstream in(
        "machine a machine, avx2\n\ncore 1e-10 2e-7 3e-10 4e-6\n"
        "profile m 0.5 0.25 100 4096 1e-9 2e-9\nbucket 300 0.5\nbucket 400 1\n"
        "step m 2 100 25.5 0.01\nstep m 2 100 25.5 0.02\n");
    const Measured m = read_measured(in, "f");
    CHECK(m.machine == "a machine, avx2");
    CHECK(m.core.message_byte == 3e-10);
    CHECK(m.profile("m").size() == 700);
    CHECK(m.profile("m").compute(100) == 25.5);
    CHECK(m.profile("m").adam == 2e-9);
    CHECK(m.steps.at(0).spread == 0.01);
    CHECK(m.spread("m") == 0.01);
    CHECK(m.spread("not measured") == 0.02);
    CHECK_THROWS_WITH(m.profile("other"), Catch::Contains("no profile of 'other'"));
    for (const std::string line : {"bucket 1 1", "core 1 2", "cores 1 2 3 4", "step m two"}) {
        std::istringstream bad("machine x\n" + line + "\n");
        CHECK_THROWS_WITH(read_measured(bad, "f"), Catch::StartsWith("f:2: "));
    }
}

// The figures of README.md come from this file.
TEST_CASE("scaling: the simulation gives what was measured", "[bench][scaling]") {
    const Measured m = measured();
    int64_t compared = 0;
    for (const MeasuredStep& s : m.steps)
        compared += s.ranks <= 2 ? 1 : 0;
    CHECK(compared >= 6);
    INFO(comparison(m));
    CHECK(largest_error(m) < 0.15);
}

TEST_CASE("scaling: the paper's base model on 64 nodes of 32 cores", "[bench][scaling]") {
    const Measured m = measured();
    const std::vector<ScalingPoint> weak = scaling_of(m, "paper_base_37k", Scaling::weak, {});
    const std::vector<ScalingPoint> strong = scaling_of(m, "paper_base_37k", Scaling::strong, {});
    REQUIRE(weak.size() == 11);
    REQUIRE(weak[6].nodes == 64);
    CHECK(weak[0].efficiency == 1);
    CHECK(weak[6].efficiency >= 0.85);
    for (std::size_t i = 1; i < weak.size(); ++i) {
        CHECK(weak[i].efficiency <= weak[i - 1].efficiency);
        CHECK(strong[i].efficiency < strong[i - 1].efficiency);
        CHECK(weak[i].step.optimizer_memory < weak[i - 1].step.optimizer_memory);
    }
}

TEST_CASE("scaling: a network that software makes slow", "[bench][scaling]") {
    constexpr int64_t kSize = 100'000;
    run_team(2, [&](nn::Team& team) {
        Wire wire(team, {.latency = 0.01, .bandwidth = 1e7});
        std::string out(kSize, static_cast<char>('a' + team.rank())), in(kSize, ' ');
        const int64_t other = 1 - team.rank();
        const double begin = seconds();
        wire.barrier();
        const auto first =
            wire.transfer(0, {{other, out.data(), kSize / 2}}, {{other, in.data(), kSize / 2}});
        const auto second = wire.transfer(1, {{other, out.data() + kSize / 2, kSize / 2}},
                                          {{other, in.data() + kSize / 2, kSize / 2}});
        first->wait();
        const double after_first = seconds() - begin;
        second->wait();
        const double after_second = seconds() - begin;
        const std::vector<std::string> told = wire.gather("x");
        if (!team.leads())  // checks are not for several threads
            return;
        CHECK(after_first >= 0.015);
        CHECK(after_second >= 0.02);
        CHECK(in == std::string(kSize, 'b'));
        CHECK(told == std::vector<std::string>{"x", "x"});
        CHECK(seconds() - begin >= 0.03);
        CHECK(wire.calls.bytes == kSize);
        CHECK(wire.calls.messages == 2);
        CHECK(wire.calls.starts.size() == 2);
        CHECK(wire.calls.waiting >= 0.015);
        CHECK(wire.calls.gathering >= 0.009);
    });
}
