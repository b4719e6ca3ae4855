#include "tests/bench/scaling_measuring.h"

#include <array>
#include <cmath>
#include <thread>

#include "autograd/base/check.h"

namespace plaingrad::bench {

using nn::DataParallel;
using nn::NamedParameter;

Workload scaling_workload(const std::string& name) {
    const bool is_big = name == "paper_big_37k";
    if (!is_big && name != "paper_base_37k")
        return workload(name);
    return {.name = is_big ? "paper_big_37k" : "paper_base_37k",
            .family = Family::encoder_decoder,
            .batch = 128,  // 4,096 tokens
            .length = 32,
            .vocabulary = 37'000,
            .d_model = is_big ? 1024 : 512,
            .n_heads = is_big ? 16 : 8,
            .d_ff = is_big ? 4096 : 2048,
            .n_layers = 6,
            .dropout = is_big ? 0.3 : 0.1,
            .label_smoothing = 0.1,
            .tied = true};
}

namespace {

// The times of one step of one process, by name.
enum Name : std::size_t {
    kWhole,
    kComputing,
    kCopying,
    kStarting,
    kPolling,
    kWaiting,
    kGathering,
    kFirstSent,
    kBackwardEnded,
    kBytes,
    kNames
};
using OwnStep = std::array<double, kNames>;

OwnStep measure_step(Training& training, DataParallel& parallel, Wire& wire) {
    wire.calls = {};
    const double begin = seconds();
    training.step(parallel);
    nn::any(wire, false);  // as in training: whether any process was told to stop
    const double whole = seconds() - begin;
    const nn::Traffic& t = parallel.traffic();
    const Calls& c = wire.calls;
    return {whole,
            whole - t.copied - c.exchanging(),
            t.copied,
            c.starting,
            c.polling,
            c.waiting,
            c.gathering,
            t.first_sent,
            t.backward_ended,
            static_cast<double>(t.bytes)};
}

// The steps of all processes: result[step][process].
using Steps = std::vector<std::vector<OwnStep>>;
Steps gathered(nn::Team& team, const std::vector<OwnStep>& mine) {
    std::vector<double> numbers;
    for (const OwnStep& step : mine)
        numbers.insert(numbers.end(), step.begin(), step.end());
    Steps all(mine.size());
    for (const std::vector<double>& of_one : nn::gather(team, numbers))
        for (std::size_t i = 0; i < mine.size(); ++i)
            std::copy_n(of_one.begin() + static_cast<std::ptrdiff_t>(i * kNames), kNames,
                        all[i].emplace_back().begin());
    return all;
}

// The medians over steps of what f makes of all processes' times of one.
template <class F>
double over_steps(const Steps& steps, const F& f) {
    std::vector<double> all;
    for (const std::vector<OwnStep>& step : steps)
        all.push_back(f(step));
    return median(all);
}
double mean(const std::vector<OwnStep>& step, Name name) {
    double sum = 0;
    for (const OwnStep& s : step)
        sum += s[name];
    return sum / static_cast<double>(step.size());
}
double largest(const std::vector<OwnStep>& step, Name name) {
    double most = 0;
    for (const OwnStep& s : step)
        most = std::max(most, s[name]);
    return most;
}

// Half of all differences of two numbers from a normal distribution are below 0.954 of its deviation. (The
// median: on a machine that does other things, too, some differences are far too large.)
double deviation(const std::vector<OwnStep>& step) {
    constexpr double kMedian = 0.954;
    if (step.size() < 2)
        return 0;
    return std::abs(step[0][kComputing] - step[1][kComputing]) / kMedian / mean(step, kComputing);
}

// The other processes leave the processors to process 0 until it has finished f.
template <class F>
void by_process_0(nn::Team& team, const F& f) {
    constexpr int64_t kTag = 0;
    char call = 0;
    if (team.leads()) {
        f();
        for (int64_t r = 1; r < team.size(); ++r)
            team.transfer(kTag, {{r, &call, 1}}, {})->wait();
        return;
    }
    const auto called = team.transfer(kTag, {}, {{0, &call, 1}});
    while (!called->is_done())
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

// A model of its own for each round: an optimizer keeps its share from the first step on.
struct Round {
    std::vector<OwnStep> steps = {};
    double optimizer_bytes = 0;
    uint64_t hash = 0;
};
Round run_round(nn::Team& team, const Workload& workload, const Way& way, int64_t steps) {
    Round round;
    Training training(workload);
    Wire wire(team, way.link);
    DataParallel parallel(training.adam(), wire, way.parts, way.options);
    training.step(parallel);
    for (int64_t i = 0; i < steps; ++i)
        round.steps.push_back(measure_step(training, parallel, wire));
    for (const NamedParameter& p : training.adam().state())
        round.optimizer_bytes += static_cast<double>(nn::bytes_of(p.tensor.numel()));
    round.hash = training.hash_of_weights();
    nn::check_same(team, "weights", std::to_string(round.hash));
    return round;
}

WayTimes summed_up(const Steps& steps) {
    const auto means = [&](Name name) {
        return over_steps(steps, [&](const auto& step) { return mean(step, name); });
    };
    WayTimes t;
    t.step = over_steps(steps, [](const auto& step) { return largest(step, kWhole); });
    t.copying = means(kCopying);
    t.starting = means(kStarting);
    t.polling = means(kPolling);
    t.waiting = means(kWaiting);
    t.gathering = means(kGathering);
    t.first_sent = means(kFirstSent);
    t.backward_ended = means(kBackwardEnded);
    t.not_computing =
        over_steps(steps, [](const auto& step) { return 1 - mean(step, kComputing) / mean(step, kWhole); });
    t.slower = over_steps(steps, [](const auto& step) {
        return (largest(step, kComputing) - mean(step, kComputing)) / mean(step, kWhole);
    });
    t.spread = over_steps(steps, deviation);
    t.bytes = over_steps(steps, [](const auto& step) { return step[0][kBytes]; });
    return t;
}

}  // namespace

std::vector<WayTimes> measure_ways(nn::Team& team, const Workload& workload, const std::vector<Way>& ways,
                                   int64_t rounds, int64_t steps) {
    std::vector<Steps> all(ways.size());
    std::vector<Round> last(ways.size());
    for (int64_t round = 0; round < rounds; ++round)
        for (std::size_t i = 0; i < ways.size(); ++i) {
            Way way = ways[i];
            way.parts = way.parts > 0 ? way.parts : team.size();
            team.barrier();
            Steps now;
            if (way.by_one)
                by_process_0(team, [&] {
                    last[i] = run_round(nn::alone(), workload, way, steps);
                    now = gathered(nn::alone(), last[i].steps);
                });
            else
                now = gathered(team, (last[i] = run_round(team, workload, way, steps)).steps);
            all[i].insert(all[i].end(), now.begin(), now.end());
        }
    std::vector<WayTimes> times;
    for (std::size_t i = 0; i < ways.size(); ++i) {
        times.push_back(all[i].empty() ? WayTimes{} : summed_up(all[i]));
        times.back().optimizer_bytes = last[i].optimizer_bytes;
        times.back().hash = last[i].hash;
    }
    return times;
}

// ---- what the simulation needs to know

namespace {

// Steps of a plain loop, with the moments in which the gradients of the buckets are complete.
class Profiler {
public:
    Profiler(const Workload& workload, int64_t bucket)
        : training_(workload),
          parameters_(training_.adam().parameters()),
          buckets_(nn::make_buckets(parameters_, 1, bucket)) {}

    void step(nn::Team& team) {
        std::unordered_map<const autograd::Node*, double> complete;
        nn::Adam& adam = training_.adam();
        adam.zero_grad();
        team.barrier();
        const double begin = seconds();
        training_.loss({}, nn::Mode::train(autograd::Rng(1))).loss.backward([&](const autograd::Node& leaf) {
            complete[&leaf] = seconds() - begin;
        });
        const double ended = seconds();
        const double scale = nn::clip_scale(nn::grad_norm(parameters_), 1);
        const double normed = seconds();
        adam.step(1e-4, scale);
        compute_.push_back(ended - begin);
        square_.push_back(normed - ended);
        adam_.push_back(seconds() - normed);
        ready_.emplace_back();
        for (const nn::Bucket& b : buckets_) {
            double last = 0;
            for (const nn::Stretch& s : b.stretches)
                last = std::max(last, complete[parameters_[s.parameter].tensor.node()]);
            ready_.back().push_back(last / compute_.back());
        }
    }
    // Seconds of forward and backward: the median of so many steps, after a first one.
    double run(nn::Team& team, int64_t steps) {
        for (int64_t i = 0; i <= steps; ++i)
            step(team);
        for (std::vector<double>* all : {&compute_, &square_, &adam_})
            all->erase(all->begin());
        ready_.erase(ready_.begin());
        return median(compute_);
    }
    void fill(StepProfile& profile) const {
        for (std::size_t b = 0; b < buckets_.size(); ++b) {
            std::vector<double> of_bucket;
            for (const std::vector<double>& of_step : ready_)
                of_bucket.push_back(of_step[b]);
            profile.elements.push_back(buckets_[b].size);
            profile.stretches += std::ssize(buckets_[b].stretches);
            profile.ready.push_back(median(of_bucket));
        }
        profile.parameters = std::ssize(parameters_);
        profile.square = median(square_) / static_cast<double>(profile.size());
        profile.adam = median(adam_) / static_cast<double>(profile.size());
    }

private:
    Training training_;
    const std::vector<NamedParameter> parameters_;
    const std::vector<nn::Bucket> buckets_;
    std::vector<double> compute_, square_, adam_;
    std::vector<std::vector<double>> ready_;  // step, bucket
};

}  // namespace

// The part as a whole, and then a quarter of it: a line through both. (Not in turn: two models of the paper's
// size in each process may be more than the memory.)
StepProfile measure_profile(nn::Team& team, const Workload& workload, int64_t bucket, int64_t steps) {
    Workload small = workload;
    small.batch = std::max<int64_t>(1, workload.batch / 4);
    StepProfile profile;
    profile.name = workload.name;
    profile.tokens = workload.tokens();
    const double memory_before = peak_memory();
    double of_whole = 0;
    {
        Profiler whole(workload, bucket);
        of_whole = whole.run(team, steps);
        whole.fill(profile);
    }
    // Without weights, gradients and moments.
    profile.activation_bytes = std::max(0.0, (peak_memory() - memory_before) * (1 << 20) -
                                                 4 * static_cast<double>(nn::bytes_of(profile.size())));
    const double of_quarter = Profiler(small, bucket).run(team, steps);
    const double less = static_cast<double>(small.tokens()), more = static_cast<double>(workload.tokens());
    profile.per_token = std::min((of_whole - of_quarter) / (more - less), of_whole / more);
    profile.fixed = of_whole - profile.per_token * more;
    return profile;
}

namespace {

// Seconds of f, the median of some.
template <class F>
double seconds_of(const F& f) {
    std::vector<double> all;
    for (int i = 0; i < 15; ++i) {
        const double begin = seconds();
        f();
        all.push_back(seconds() - begin);
    }
    return median(all);
}

// Both processes send n messages of so many bytes each, and receive as many.
double exchange(nn::Team& team, int64_t n, int64_t bytes) {
    const int64_t other = 1 - team.rank();
    std::vector<char> out(static_cast<std::size_t>(n * bytes)), in(out.size());
    return seconds_of([&] {
        team.barrier();
        std::vector<std::unique_ptr<nn::Transfer>> transfers;
        for (int64_t i = 0; i < n; ++i)
            transfers.push_back(team.transfer(i, {{other, out.data() + i * bytes, bytes}},
                                              {{other, in.data() + i * bytes, bytes}}));
        for (const auto& transfer : transfers)
            transfer->wait();
    });
}

}  // namespace

void measure_copies(nn::Team& team, Core& core) {
    constexpr int64_t kElements = 1 << 23;
    const Numbers from(kElements);
    Numbers to(kElements);
    team.barrier();
    core.copy = seconds_of([&] {
                    for (int64_t at = 0; at < kElements; at += nn::kStretch)
                        nn::add(nn::kStretch, from.data() + at, to.data() + at);
                }) /
                static_cast<double>(kElements);
    if (team.size() != 2)
        return;
    constexpr int64_t kMessages = 1000, kBytes = 1 << 20;
    core.message = exchange(team, kMessages, 64) / (2 * kMessages);
    core.message_byte = exchange(team, 16, kBytes) / (16 * kBytes);
    core.latency = measure_latency(team);
}

// To and fro, a hundred times.
double measure_latency(nn::Team& team) {
    char byte = 0;
    const std::vector<nn::Message> message = {{1 - team.rank(), &byte, 1}};
    return seconds_of([&] {
               for (int i = 0; i < 100; ++i) {
                   if (team.leads())
                       team.transfer(0, message, {})->wait();
                   team.transfer(0, {}, message)->wait();
                   if (!team.leads())
                       team.transfer(0, message, {})->wait();
               }
           }) /
           200;
}

// ---- a single process

// In pairs, each the other way round than the one before.
Overhead measure_overhead(const Workload& workload, int64_t pairs) {
    Training plain(workload), shared(workload);
    DataParallel parallel(shared.adam());
    std::vector<double> plain_times, shared_times, overheads;
    for (int64_t i = 0; i <= pairs; ++i) {
        double of_plain = 0, of_shared = 0;
        for (int64_t half = 0; half < 2; ++half) {
            const double begin = seconds();
            if ((i + half) % 2 == 0) {
                plain.step();
                of_plain = seconds() - begin;
            } else {
                shared.step(parallel);
                of_shared = seconds() - begin;
            }
        }
        if (i == 0)
            continue;
        plain_times.push_back(of_plain);
        shared_times.push_back(of_shared);
        overheads.push_back(of_shared / of_plain - 1);
    }
    return {median(plain_times), median(shared_times), median(overheads),
            plain.hash_of_weights() == shared.hash_of_weights()};
}

}  // namespace plaingrad::bench
