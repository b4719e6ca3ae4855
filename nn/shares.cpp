#include "nn/shares.h"

#include <algorithm>

namespace plaingrad::nn {

namespace {

// Cuts where the processes before the cut would have their fair part of all elements so far. So what one
// bucket could not divide evenly, the next one makes up for.
void cut(Bucket& bucket, std::vector<int64_t>& owned) {
    std::vector<int64_t> possible = {bucket.begin};
    for (const Stretch& s : bucket.stretches)
        possible.push_back(possible.back() + s.size());
    bucket.cuts = {bucket.begin};
    int64_t missing = 0;  // what the processes so far should own of this bucket
    for (std::size_t r = 0; r < owned.size(); ++r) {
        missing += bucket.end / std::ssize(owned) - owned[r];
        const int64_t from = bucket.cuts.back();
        int64_t to = r + 1 == owned.size() ? bucket.end : from;
        for (const int64_t end : possible)
            if (end > to && std::abs(end - bucket.begin - missing) < std::abs(to - bucket.begin - missing))
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
    for (int64_t at = 0; const Stretch& s : all) {
        if (buckets.empty() || at - buckets.back().begin >= bucket)
            buckets.push_back({.begin = at});
        buckets.back().stretches.push_back(s);
        buckets.back().end = at += s.size();
    }
    std::vector<int64_t> owned(static_cast<std::size_t>(processes));
    for (Bucket& b : buckets)
        cut(b, owned);
    return buckets;
}

std::vector<Owned> owned_by(int64_t process, const Bucket& bucket) {
    const auto r = static_cast<std::size_t>(process);
    std::vector<Owned> own;
    for (int64_t at = bucket.begin; const Stretch& s : bucket.stretches) {
        if (at >= bucket.cuts[r] && at < bucket.cuts[r + 1])
            own.push_back({s, at});
        at += s.size();
    }
    return own;
}

}  // namespace plaingrad::nn
