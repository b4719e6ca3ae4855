// The simulation of many machines gives what one can compute by hand, and what was measured; the slow network
// is as slow as it says.
#include <cmath>
#include <fstream>
#include <sstream>

#include "nn/optim.h"
#include "tests/bench/scaling_model.h"
#include "tests/bench/scaling_parts.h"
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
        const auto told = [&] { return collectives(p, {}, {network}, job); };
        CHECK(told() < 1e-3);
        CHECK(simulate(p, {}, {network}, job).seconds == Approx(1 + 0.1 + 0.2 + told()));
        job.overlaps = false;
        CHECK(simulate(p, {}, {network}, job).seconds == Approx(1 + 0.2 + 0.2 + told()));
        // Slower than backward: the second bucket waits for the first.
        job = {.ranks = job.ranks, .tokens = 1000};
        network.bandwidth /= 8;
        CHECK(simulate(p, {}, {network}, job).seconds == Approx(0.5 + 1.6 + 1.6 + told()));
        // Latency: of the sums; of two texts with their lengths and of a barrier, up a tree; of the weights.
        CHECK(simulate(p, {}, {{.latency = 0.01}}, job).seconds ==
              Approx(1 + 0.01 + 5 * 0.01 * std::log2(ranks) + 0.01));
    }
}

TEST_CASE("scaling: processes of one node share its link, and what they tell each other stays inside",
          "[bench][scaling]") {
    StepProfile p = small_profile();
    // With 8 processes on each node, 7 of 63 messages stay inside; the others share the link.
    Job job = {.ranks = 64, .tokens = 1000, .ranks_on_node = 8, .overlaps = false};
    const Network between = {.latency = 0, .bandwidth = kBytes * kElements * 63 / 64 / 0.1};
    REQUIRE(bucket_time(64, between) == Approx(0.1));
    const double outside = 8 * (1 - 7. / 63);
    const auto told = [&](const Networks& networks) { return collectives(p, {}, networks, job); };
    CHECK(simulate(p, {}, {between}, job).seconds == Approx(1 + 4 * 0.1 * outside + told({between})));
    // The inner network works beside it: the slower of both counts.
    const Network inside = {.latency = 0, .bandwidth = between.bandwidth / 4};
    CHECK(simulate(p, {}, {between, inside}, job).seconds ==
          Approx(1 + 4 * 0.1 * outside + told({between, inside})));
    const Network slow = {.latency = 0, .bandwidth = between.bandwidth / 16};
    CHECK(simulate(p, {}, {between, slow}, job).seconds ==
          Approx(1 + 4 * 0.1 * 8 * 16 * 7. / 63 + told({between, slow})));
    // On a single node nothing crosses: not bytes, not latency.
    job.ranks_on_node = 64;
    CHECK(simulate(p, {}, {{.latency = 1, .bandwidth = 1}}, job).seconds == Approx(1));
    CHECK(simulate(p, {}, {{}, {.latency = 0.01}}, job).seconds == Approx(1 + 0.01 + 5 * 6 * 0.01 + 0.01));
    // More than there are: all of them.
    job.ranks_on_node = 1000;
    CHECK(simulate(p, {}, {{.latency = 1, .bandwidth = 1}}, job).seconds == Approx(1));
    // Processes of a node also share its memory: 4 threads' worth.
    p.adam = 1e-7;
    job = {.ranks = 16, .tokens = 1000, .threads = 2};
    CHECK(simulate(p, {}, {}, job).seconds == Approx(0.5 + 1e-7 * 2 * kElements / 16 / 2));
    job.ranks_on_node = 16;
    CHECK(simulate(p, {}, {}, job).seconds == Approx(0.5 + 1e-7 * 2 * kElements / 16 / 0.25));
    CHECK(networks({.latency = 4e-6}, between).inside.latency == 4e-6);
}

TEST_CASE("scaling: what all processes tell each other", "[bench][scaling]") {
    StepProfile p = small_profile();
    p.parameters = 100;
    p.stretches = 64;
    const Job job = {.ranks = 4, .tokens = 1000};
    CHECK(collectives(p, {}, {}, {.ranks = 1, .tokens = 1000}) == 0);
    // Of bytes, each receives what three others tell: a length, and 1 + 3 + 100 + 64 / 4 numbers; a length,
    // and a byte.
    const double bytes = 3 * (8 + 8 * (1 + 3 + 100 + 16) + 8 + 1);
    CHECK(collectives(p, {}, {{.latency = 0, .bandwidth = 1}}, job) == Approx(bytes));
    CHECK(collectives(p, {.message_byte = 1}, {}, job) == Approx(bytes));
    // Rounds: two for each of four gathers and of the barrier.
    CHECK(collectives(p, {}, {{.latency = 1}}, job) == Approx(10));
    CHECK(collectives(p, {.message = 1}, {}, job) == Approx(20));
    CHECK(collectives(p, {}, {{.latency = 1}}, {.ranks = 5, .tokens = 1000}) == Approx(15));
    // Much goes around a ring: 80 KiB are 4 * 2,560 numbers.
    p.parameters = 2540;
    CHECK(collectives(p, {}, {{.latency = 1}}, job) == Approx(10));
    p.parameters = 2541;
    CHECK(collectives(p, {}, {{.latency = 1}}, job) == Approx(11));
}

TEST_CASE("scaling: buckets are sent in the order in which they are ready", "[bench][scaling]") {
    StepProfile p = small_profile();
    std::swap(p.ready[0], p.ready[1]);
    const Network network = {.latency = 0, .bandwidth = kBytes * kElements / 2 / 0.1};
    const Job job = {.ranks = 2, .tokens = 1000};
    CHECK(simulate(p, {}, {network}, job).seconds == Approx(1 + 0.1 + 0.2));
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
    CHECK(messages < 1e-3 * (2 * 2 * 8 + 20));
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
    CHECK_THROWS_WITH(simulate(p, {}, {}, {.ranks = 0}), tests::containing("must be positive"));
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
        "profile m 0.5 0.25 100 4096 1e-9 2e-9 12 34\n"
        "bucket 1 300 0.5\nbucket 2 401 1\n"
        "step m 2 100 25.5 0.03 1e-3 1e9 0\nstep m 2 100 25.5 0.01 0 0 1\nstep m 2 100 25.5 0.02 0 0 1\n");
    const Measured m = read_measured(in, "f");
    CHECK(m.machine == "a machine, avx2");
    CHECK(m.core.message_byte == 3e-10);
    CHECK(m.profile("m").elements == std::vector<int64_t>{300, 201, 200});
    CHECK(m.profile("m").ready == std::vector<double>{0.5, 1, 1});
    CHECK(m.profile("m").parameters == 12);
    CHECK(m.profile("m").stretches == 34);
    CHECK(buckets_as_lines(m.profile("m")) == "bucket 1 300 0.5\nbucket 2 401 1\n");
    CHECK(m.profile("m").compute(100) == 25.5);
    CHECK(m.profile("m").adam == 2e-9);
    CHECK(m.steps.at(0).is_slowed());
    CHECK(m.steps.at(0).network.latency == 1e-3);
    CHECK_FALSE(m.steps.at(0).overlaps);
    CHECK(m.steps.at(1).overlaps);
    CHECK_FALSE(m.steps.at(1).is_slowed());
    CHECK(m.spread("m") == 0.01);
    CHECK(m.spread("not measured") == 0.02);
    CHECK_THROWS_WITH(m.profile("other"), tests::containing("no profile of 'other'"));
    for (const std::string line : {"bucket 1 1 1", "bucket 1 1", "core 1 2", "cores 1 2 3 4", "step m two"}) {
        std::istringstream bad("machine x\n" + line + "\n");
        CHECK_THROWS_WITH(read_measured(bad, "f"), tests::beginning("f:2: "));
    }
    for (const std::string line :
         {"bucket 1 300", "bucket 2000000 300 1", "bucket 0 300 1", "bucket -1 300 1", "bucket 301 300 1"}) {
        std::istringstream bad("profile m 0 0 1 1 1 1 1 1\n" + line + "\n");
        CHECK_THROWS_WITH(read_measured(bad, "f"), tests::beginning("f:2: "));
    }
}

TEST_CASE("scaling: buckets that are ready together are one line", "[bench][scaling]") {
    StepProfile p;
    p.name = "p";
    p.elements = {5, 5, 6, 5, 5};
    p.ready = {0.1, 0.1004, 0.1004, 0.1006, 0.5};
    CHECK(buckets_as_lines(p) == "bucket 3 16 0.1\nbucket 1 5 0.1006\nbucket 1 5 0.5\n");
}

// The figures of nn/machines.md come from this file.
TEST_CASE("scaling: the simulation gives what was measured", "[bench][scaling]") {
    const Measured m = measured();
    // In one process and in two; and in two with a slow network, which may overlap.
    int64_t compared = 0, slowed = 0, without_overlap = 0;
    for (const MeasuredStep& s : m.steps) {
        compared += s.ranks <= 2 ? 1 : 0;
        slowed += s.is_slowed() ? 1 : 0;
        without_overlap += s.overlaps ? 0 : 1;
    }
    CHECK(compared >= 16);
    CHECK(slowed >= 8);
    CHECK(without_overlap >= 4);
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
    const std::vector<ScalingPoint> paper = scaling_of(m, "paper_base_37k", Scaling::paper, {});
    CHECK(paper[0].step.seconds == Approx(weak[0].step.seconds));
    CHECK(paper[6].step.seconds < strong[6].step.seconds);
    // However little there is to compute, sending takes its time.
    CHECK(paper[6].step.seconds > paper[6].step.bytes_sent / SimulationSettings().network.bandwidth);
    // With a process for each core there is more to send, and nothing is gained.
    const std::vector<ScalingPoint> many = scaling_of(m, "paper_base_37k", Scaling::weak, {.processes = 32});
    CHECK(many[6].step.seconds > weak[6].step.seconds);
    CHECK(many[6].step.optimizer_memory < weak[6].step.optimizer_memory / 16);
    const std::vector<ScalingPoint> uneven =
        scaling_of(m, "paper_base_37k", Scaling::weak, {.spread_times = 2});
    CHECK(uneven[6].step.slowest == Approx(2 * weak[6].step.slowest));
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
        wire.barrier();
        // No process leaves the barrier sooner than one latency after this moment, however busy the machine
        // is; so nothing below can arrive earlier than it should.
        const double start = seconds();
        wire.barrier();
        const double after_barrier = seconds() - start;
        const auto first =
            wire.transfer(0, {{other, out.data(), kSize / 2}}, {{other, in.data(), kSize / 2}});
        const auto second = wire.transfer(1, {{other, out.data() + kSize / 2, kSize / 2}},
                                          {{other, in.data() + kSize / 2, kSize / 2}});
        first->wait();
        const double after_first = seconds() - start;
        second->wait();
        const double after_second = seconds() - start;
        const std::vector<std::string> told = wire.gather("x");
        const double after_gather = seconds() - start;
        if (!team.leads())  // checks are not for several threads
            return;
        constexpr double kRounding = 1e-6;
        CHECK(after_barrier >= 0.01 - kRounding);
        CHECK(after_first >= 0.01 + 0.015 - kRounding);
        // The second message leaves when the first has left.
        CHECK(after_second >= 0.01 + 0.02 - kRounding);
        CHECK(in == std::string(kSize, 'b'));
        CHECK(told == std::vector<std::string>{"x", "x"});
        // A message to all is told after its length.
        CHECK(after_gather >= after_second + 0.02 - kRounding);
        CHECK(wire.calls.bytes == kSize);
        CHECK(wire.calls.messages == 2);
        CHECK(wire.calls.starts.size() == 2);
        CHECK(wire.calls.waiting >= 2 * 0.01 - kRounding);
        CHECK(wire.calls.gathering >= 0.02 - kRounding);
    });
}

TEST_CASE("scaling: how unequal parts are", "[bench][scaling]") {
    // Two rows of three words and one of six: the parts are (3, 3) and (6).
    const std::vector<models::text::PairLength> even = {{3, 3}, {3, 3}, {6, 6}};
    CHECK(measure_imbalance(even, 1000, 2).tokens == 0);
    CHECK(measure_imbalance(even, 1000, 2).padded == 0);
    // (4, 4) and (4): the larger one is 4/3 of the mean.
    const std::vector<models::text::PairLength> odd = {{4, 4}, {4, 4}, {4, 4}};
    CHECK(measure_imbalance(odd, 1000, 2).tokens == Approx(1. / 3));
    // Rows of 1 and of 3 source words beside each other are padded to 3.
    const std::vector<models::text::PairLength> padded = {{1, 3}, {3, 1}, {4, 4}};
    CHECK(measure_imbalance(padded, 1000, 2).tokens == 0);
    CHECK(measure_imbalance(padded, 1000, 2).padded == Approx(12 / 10. - 1));
    const std::vector<models::text::PairLength> random = random_lengths(1000);
    CHECK(random.size() == 1000);
    double sum = 0;
    for (const auto& pair : random)
        sum += static_cast<double>(pair.source);
    CHECK(sum / 1000 == Approx(14).margin(1));
}
