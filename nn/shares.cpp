#include "nn/shares.h"

#include <algorithm>
#include <numeric>

namespace plaingrad::nn {

namespace {

// Cuts where the processes before the cut would have their fair part of all elements so far. So what one
// bucket could not divide evenly, the next one makes up for.
void cut(Bucket& bucket, std::vector<int64_t>& owned) {
    std::vector<int64_t> possible = {0};
    for (const Stretch& s : bucket.stretches)
        possible.push_back(possible.back() + s.size());
    bucket.cuts = {0};
    const int64_t all = std::accumulate(owned.begin(), owned.end(), bucket.size);
    int64_t missing = 0;  // what the processes so far should own of this bucket
    const int64_t processes = std::ssize(owned);
    for (std::size_t r = 0; r < owned.size(); ++r) {
        const auto rank = static_cast<int64_t>(r);
        missing += all * (rank + 1) / processes - all * rank / processes - owned[r];
        const int64_t from = bucket.cuts.back();
        int64_t to = r + 1 == owned.size() ? bucket.size : from;
        for (const int64_t end : possible)
            if (end > to && std::abs(end - missing) < std::abs(to - missing))
                to = end;
        owned[r] += to - from;
        bucket.cuts.push_back(to);
    }
}

}  // namespace

std::vector<Bucket> make_buckets(const std::vector<NamedParameter>& parameters, int64_t processes,
                                 int64_t bucket) {
    std::vector<Stretch> all = stretches_of(parameters);
    std::erase_if(all, [&](const Stretch& s) { return !parameters[s.parameter].tensor.needs_grad(); });
    std::stable_sort(all.begin(), all.end(),
                     [](const Stretch& a, const Stretch& b) { return a.parameter > b.parameter; });
    std::vector<Bucket> buckets;
    for (const Stretch& s : all) {
        if (buckets.empty() || buckets.back().size >= bucket)
            buckets.emplace_back();
        buckets.back().stretches.push_back(s);
        buckets.back().size += s.size();
    }
    std::vector<int64_t> owned(static_cast<std::size_t>(processes));
    for (Bucket& b : buckets)
        cut(b, owned);
    return buckets;
}

std::vector<Owned> owned_by(int64_t process, const Bucket& bucket) {
    const auto r = static_cast<std::size_t>(process);
    std::vector<Owned> own;
    for (int64_t at = 0; const Stretch& s : bucket.stretches) {
        if (at >= bucket.cuts[r] && at < bucket.cuts[r + 1])
            own.push_back({s, at});
        at += s.size();
    }
    return own;
}

}  // namespace plaingrad::nn
