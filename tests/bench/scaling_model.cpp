#include "tests/bench/scaling_model.h"

#include <algorithm>
#include <cmath>
#include <istream>
#include <numeric>
#include <sstream>

#include "autograd/base/check.h"
#include "nn/optim.h"

namespace plaingrad::bench {

using autograd::check;

int64_t StepProfile::size() const { return std::accumulate(elements.begin(), elements.end(), int64_t{0}); }

double expected_largest(int64_t n) {
    // The expected maxima of 1, 2, 4, ..., 1,024 standard normal numbers: the mean of x under the density
    // n phi(x) Phi(x)^(n-1), integrated numerically.
    static constexpr double kOfPowersOfTwo[] = {0,     0.564, 1.029, 1.424, 1.766, 2.070,
                                                2.343, 2.594, 2.826, 3.043, 3.247};
    double x = 0, power = 1;  // n = power * 2^x' with x' below 1, which is taken to be a line
    while (2 * power <= static_cast<double>(n) && x < 10) {
        power *= 2;
        ++x;
    }
    const auto i = static_cast<std::size_t>(x);
    if (i == 10)
        return kOfPowersOfTwo[10];
    return kOfPowersOfTwo[i] +
           (static_cast<double>(n) / power - 1) * (kOfPowersOfTwo[i + 1] - kOfPowersOfTwo[i]);
}

namespace {

constexpr double kBytes = sizeof(float);

// ceil(log2 n)
double levels_of_tree(int64_t n) {
    double levels = 0;
    for (int64_t reached = 1; reached < n; reached *= 2)
        ++levels;
    return levels;
}

// What each process owns of each bucket. A bucket's stretches go to processes in turn: nn/shares.h keeps
// neighbours together, which is the same for their number.
class Shares {
public:
    Shares(const StepProfile& profile, int64_t ranks) {
        for (int64_t next = 0; const int64_t n : profile.elements) {
            std::vector<double> owned(static_cast<std::size_t>(ranks));
            // Whole stretches if there are few, as for many ranks; else equal shares.
            const int64_t stretches = (n + nn::kStretch - 1) / nn::kStretch;
            for (int64_t i = 0; i < stretches; ++i)
                owned[static_cast<std::size_t>(next++ % ranks)] +=
                    static_cast<double>(n) / static_cast<double>(stretches);
            of_bucket_.push_back(std::move(owned));
        }
    }
    double of(std::size_t bucket, std::size_t rank) const { return of_bucket_[bucket][rank]; }
    int64_t owners(std::size_t bucket) const {
        return std::count_if(of_bucket_[bucket].begin(), of_bucket_[bucket].end(),
                             [](double n) { return n > 0; });
    }
    double largest() const {
        std::vector<double> all(of_bucket_.empty() ? 1 : of_bucket_[0].size());
        for (const std::vector<double>& bucket : of_bucket_)
            for (std::size_t r = 0; r < all.size(); ++r)
                all[r] += bucket[r];
        return *std::max_element(all.begin(), all.end());
    }

private:
    std::vector<std::vector<double>> of_bucket_;
};

int64_t ranks_on_node(const Job& job) { return std::clamp<int64_t>(job.ranks_on_node, 1, job.ranks); }

// The part of what a process exchanges that stays on its node, if all others get the same.
double share_inside(const Job& job) {
    return job.ranks == 1 ? 1
                          : static_cast<double>(ranks_on_node(job) - 1) / static_cast<double>(job.ranks - 1);
}

// The links of all processes by one network, which takes a share of what they exchange: when each has sent,
// and received, everything so far.
class Links {
public:
    Links(const Network& network, const Job& job, double share)
        : share_(share),
          seconds_of_byte_(static_cast<double>(ranks_on_node(job)) / network.bandwidth),
          latency_(network.latency),
          out_(static_cast<std::size_t>(job.ranks)),
          in_(out_.size()) {}
    // Each process sends and receives so many bytes from `ready` on, of which this network takes its share.
    template <class Out, class In>
    void exchange(double ready, const Out& bytes_out, const In& bytes_in) {
        double sent = 0;  // by the last one
        for (std::size_t r = 0; r < out_.size(); ++r)
            if (const double bytes = share_ * bytes_out(r); bytes > 0) {
                out_[r] = std::max(out_[r], ready) + bytes * seconds_of_byte_;
                sent = std::max(sent, out_[r]);
            }
        for (std::size_t r = 0; r < in_.size(); ++r)
            if (const double bytes = share_ * bytes_in(r); bytes > 0)
                in_[r] =
                    std::max(std::max(in_[r], ready + latency_) + bytes * seconds_of_byte_, sent + latency_);
    }
    double last() const { return *std::max_element(in_.begin(), in_.end()); }

private:
    double share_, seconds_of_byte_, latency_;
    std::vector<double> out_, in_;
};

// Both networks, which work side by side.
class AllLinks {
public:
    AllLinks(const Networks& networks, const Job& job)
        : between_(networks.between, job, 1 - share_inside(job)),
          inside_(networks.inside, job, share_inside(job)) {}
    template <class Out, class In>
    void exchange(double ready, const Out& bytes_out, const In& bytes_in) {
        between_.exchange(ready, bytes_out, bytes_in);
        inside_.exchange(ready, bytes_out, bytes_in);
    }
    double last() const { return std::max(between_.last(), inside_.last()); }

private:
    Links between_, inside_;
};

// The buckets in the order in which they are sent.
std::vector<std::size_t> order_of_sending(const StepProfile& profile, bool overlaps) {
    std::vector<std::size_t> order(profile.elements.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (overlaps)
        std::stable_sort(order.begin(), order.end(),
                         [&](std::size_t a, std::size_t b) { return profile.ready[a] < profile.ready[b]; });
    return order;
}

}  // namespace

double collectives(const StepProfile& profile, const Core& core, const Networks& networks, const Job& job) {
    constexpr double kMostOfTree = 80 << 10, kNumber = sizeof(double);
    const double levels = levels_of_tree(job.ranks), ranks = static_cast<double>(job.ranks);
    const double node = static_cast<double>(ranks_on_node(job)), inside = share_inside(job);
    const double latency = inside < 1 ? networks.between.latency : networks.inside.latency;
    const double byte = std::max((1 - inside) * node / networks.between.bandwidth,
                                 inside * node / networks.inside.bandwidth) +
                        core.message_byte;
    const auto rounds = [&](double n) { return n * (latency + 2 * core.message); };  // one sent, one received
    const auto gather = [&](double bytes) {
        return rounds(ranks * bytes <= kMostOfTree ? levels : ranks - 1) + (ranks - 1) * bytes * byte;
    };
    const double told = kNumber * (1 + 3 + static_cast<double>(profile.parameters) +
                                   std::ceil(static_cast<double>(profile.stretches) / ranks));
    const double of_numbers = gather(kNumber) + gather(told), of_stop = gather(kNumber) + gather(1);
    return of_numbers + rounds(levels) + of_stop;
}

SimulatedStep simulate(const StepProfile& profile, const Core& core, const Networks& networks,
                       const Job& job) {
    check(
        job.ranks >= 1 && job.threads >= 1 && networks.between.bandwidth > 0 && networks.inside.bandwidth > 0,
        "[simulate] ranks, threads and bandwidths must be positive");
    const auto size = static_cast<double>(profile.size()), ranks = static_cast<double>(job.ranks);
    const double others = ranks - 1;
    const double in_memory =
        std::min(static_cast<double>(job.threads),
                 static_cast<double>(job.memory_threads) / static_cast<double>(ranks_on_node(job)));
    const double part = profile.compute(job.tokens) / static_cast<double>(job.threads);
    const Shares shares(profile, job.ranks);
    const double share = shares.largest();
    SimulatedStep step;
    step.optimizer_memory = 2 * kBytes * share;
    // Weights and gradients; with others, the sums to send and those that arrive, and gradients only until
    // they have been copied there.
    step.memory =
        (job.ranks == 1 ? 2 * size : 2 * size + others * share) * kBytes + step.optimizer_memory +
        profile.activation_bytes * job.tokens / static_cast<double>(std::max<int64_t>(1, profile.tokens));
    const double update = (profile.square + profile.adam) * share / in_memory;
    step.compute = part + update;
    step.seconds = step.compute;
    if (job.ranks == 1)
        return step;

    // Forward and backward, which the copies of gradients and the work for messages make longer.
    AllLinks sums(networks, job);
    double work = 0;  // of the processor, for others
    const auto work_of = [&](std::size_t b) {
        const double owners = static_cast<double>(shares.owners(b));
        // Out to the owners; in, if this is an owner, from all others.
        const double messages = (owners + owners / ranks * others) * core.message;
        const double bytes = kBytes * static_cast<double>(profile.elements[b]) * others / ranks;
        return messages + bytes * core.message_byte;
    };
    for (const std::size_t b : order_of_sending(profile, job.overlaps)) {
        const auto n = static_cast<double>(profile.elements[b]);
        work += core.copy * n / in_memory;
        const double ready = (job.overlaps ? profile.ready[b] : 1) * part + work;
        sums.exchange(
            ready, [&](std::size_t r) { return kBytes * (n - shares.of(b, r)); },
            [&](std::size_t r) { return kBytes * others * shares.of(b, r); });
        work += work_of(b);
    }
    step.slowest = part * job.spread * expected_largest(job.ranks);
    const double ended = part + work + step.slowest;
    const double arrived = std::max(ended, sums.last() + step.slowest);
    const double adding = core.copy * share * others / in_memory;
    const double stepped = arrived + adding + collectives(profile, core, networks, job) + update;

    // The new weights.
    AllLinks weights(networks, job);
    double copying = core.copy * share / in_memory;
    for (std::size_t b = 0; b < profile.elements.size(); ++b) {
        const auto n = static_cast<double>(profile.elements[b]);
        weights.exchange(
            copying, [&](std::size_t r) { return kBytes * others * shares.of(b, r); },
            [&](std::size_t r) { return kBytes * (n - shares.of(b, r)); });
        copying += work_of(b) + core.copy * n * others / ranks / in_memory;
    }
    step.seconds = stepped + std::max(copying, weights.last());
    step.copies = work + adding + copying;
    step.network = step.seconds - step.compute - step.copies - step.slowest;
    step.bytes_sent = 2 * kBytes * size * others / ranks;
    return step;
}

// ---- the file

const StepProfile& Measured::profile(const std::string& name) const {
    for (const StepProfile& p : profiles)
        if (p.name == name)
            return p;
    throw autograd::Error("[scaling] there is no profile of '" + name + "'");
}

double Measured::spread(const std::string& name) const {
    MeasuredStep longest;
    for (const MeasuredStep& s : steps) {
        if (s.ranks != 2 || s.is_slowed())
            continue;
        if (s.workload == name)
            return s.spread;
        if (s.seconds >= longest.seconds)
            longest = s;
    }
    return longest.spread;
}

static bool read_buckets(std::istream& words, StepProfile& profile) {
    constexpr int64_t kMost = 1'000'000;  // a slip of the pen should not fill the memory
    int64_t count = 0, elements = 0;
    double ready = 0;
    if (!(words >> count >> elements >> ready) || count < 1 || count > std::min(kMost, elements))
        return false;
    for (int64_t i = 0; i < count; ++i) {
        profile.elements.push_back(elements / count + (i < elements % count ? 1 : 0));
        profile.ready.push_back(ready);
    }
    return true;
}
std::string buckets_as_lines(const StepProfile& profile) {
    constexpr double kSame = 0.0005;
    std::ostringstream out;
    for (std::size_t begin = 0, end = 0; begin < profile.elements.size(); begin = end) {
        int64_t elements = 0;
        while (end < profile.elements.size() && std::abs(profile.ready[end] - profile.ready[begin]) < kSame)
            elements += profile.elements[end++];
        out << "bucket " << end - begin << ' ' << elements << ' ' << profile.ready[begin] << '\n';
    }
    return out.str();
}

// Words and numbers, a line each:
//     machine AMD EPYC, avx512, 2 processors
//     core COPY MESSAGE MESSAGE_BYTE LATENCY
//     profile NAME FIXED PER_TOKEN TOKENS ACTIVATION_BYTES SQUARE ADAM PARAMETERS STRETCHES
//     bucket COUNT ELEMENTS READY              of the profile above: so many, of so many in all
//     step WORKLOAD RANKS TOKENS SECONDS SPREAD LATENCY BANDWIDTH OVERLAPS
// LATENCY and BANDWIDTH are those of the network between the processes; 0 0: they were on one machine.
Measured read_measured(std::istream& in, const std::string& file) {
    Measured m;
    int64_t number = 0;
    for (std::string line; std::getline(in, line);) {
        ++number;
        std::istringstream words(line);
        std::string what;
        if (!(words >> what) || what[0] == '#')
            continue;
        bool is_right = true;
        if (what == "machine") {
            std::getline(words >> std::ws, m.machine);
        } else if (what == "core") {
            is_right = static_cast<bool>(words >> m.core.copy >> m.core.message >> m.core.message_byte >>
                                         m.core.latency);
        } else if (what == "profile") {
            StepProfile p;
            is_right =
                static_cast<bool>(words >> p.name >> p.fixed >> p.per_token >> p.tokens >>
                                  p.activation_bytes >> p.square >> p.adam >> p.parameters >> p.stretches);
            m.profiles.push_back(p);
        } else if (what == "bucket" && !m.profiles.empty()) {
            is_right = read_buckets(words, m.profiles.back());
        } else if (what == "step") {
            MeasuredStep& s = m.steps.emplace_back();
            is_right = static_cast<bool>(words >> s.workload >> s.ranks >> s.tokens >> s.seconds >>
                                         s.spread >> s.network.latency >> s.network.bandwidth >> s.overlaps);
        } else {
            is_right = false;
        }
        check(is_right, file, ":", number, ": bench_scaling writes no such line: '", line, "'");
    }
    return m;
}

}  // namespace plaingrad::bench
