#include "models/text/batches.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "autograd/base/check.h"
#include "autograd/random.h"

namespace plaingrad::models::text {
namespace {

using autograd::check;
using autograd::Rng;
using Indices = std::vector<int64_t>;

// The end of the batch that begins at `begin`: it has as many pairs as fit.
Indices::const_iterator end_of_batch(Indices::const_iterator begin, Indices::const_iterator end,
                                     const std::vector<PairLength>& lengths, int64_t batch_tokens) {
    int64_t widest = 0;
    auto at = begin;
    for (; at != end; ++at) {
        const PairLength& pair = lengths[static_cast<std::size_t>(*at)];
        check(pair.source >= 0 && pair.target >= 0, "[batches] a length must not be negative: pair ", *at,
              " has ", pair.source, " and ", pair.target);
        widest = std::max({widest, pair.source, pair.target});
        check(widest <= batch_tokens || at != begin, "[batches] pair ", *at, " has ", widest,
              " tokens on one side, and a batch at most ", batch_tokens,
              "; raise batch_tokens, or drop or cut long pairs");
        if (at - begin >= batch_tokens / std::max<int64_t>(widest, 1))  // a product could overflow
            break;
    }
    return at;
}

}  // namespace

std::vector<Indices> make_batches(const std::vector<PairLength>& lengths, const BatchOptions& options) {
    check(options.batch_tokens >= 1 && options.bucket >= 1,
          "[batches] batch_tokens and bucket must be at least 1: got ", options.batch_tokens, " and ",
          options.bucket);
    const auto n = static_cast<int64_t>(lengths.size());
    const Rng rng = Rng(options.seed).fork("batches").fork(static_cast<uint64_t>(options.epoch));
    Indices order = rng.fork("pairs").permutation(n);
    if (!options.shuffle)
        std::iota(order.begin(), order.end(), int64_t{0});
    const auto key = [&](int64_t i) {
        const PairLength& pair = lengths[static_cast<std::size_t>(i)];
        return std::tuple(std::max(pair.source, pair.target), pair.target, pair.source);
    };
    std::vector<Indices> batches;
    for (auto begin = order.begin(); begin != order.end();) {
        const auto end = begin + (options.shuffle ? std::min(options.bucket, order.end() - begin) : n);
        std::stable_sort(begin, end, [&](int64_t a, int64_t b) { return key(a) < key(b); });
        for (Indices::const_iterator first = begin; first != end; first += std::ssize(batches.back()))
            batches.emplace_back(first, end_of_batch(first, end, lengths, options.batch_tokens));
        begin = end;
    }
    std::vector<Indices> shuffled;
    for (const int64_t i : rng.fork("batches").permutation(std::ssize(batches)))
        shuffled.push_back(batches[static_cast<std::size_t>(i)]);
    return options.shuffle ? shuffled : batches;
}

bool fit(std::vector<int32_t>& source, std::vector<int32_t>& target, int64_t longest, TooLong too_long,
         const std::string& file, int64_t line) {
    check(longest >= 0, "[fit] longest must not be negative: got ", longest);
    if (std::max(std::ssize(source), std::ssize(target)) <= longest)
        return true;
    check(too_long != TooLong::refuse, file, ":", line, ": a pair of ", source.size(), " and ", target.size(),
          " tokens; at most ", longest, " are possible on a side; drop or cut long pairs");
    if (too_long == TooLong::drop)
        return false;
    for (std::vector<int32_t>* side : {&source, &target})
        side->resize(std::min(side->size(), static_cast<std::size_t>(longest)));
    return true;
}

}  // namespace plaingrad::models::text
