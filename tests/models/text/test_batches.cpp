// Batches limited by their number of tokens.
#include "models/text/training_data.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include "autograd/base/check.h"
#include "autograd/base/random.h"
#include "tests/catch.h"

using namespace plaingrad;  // NOLINT
using namespace models::text;
using autograd::Rng;
using Indices = std::vector<int64_t>;
using Batches = std::vector<Indices>;

namespace {

std::vector<PairLength> random_lengths(int64_t n, int64_t longest, uint64_t seed) {
    const Rng source = Rng(seed).fork("source"), target = Rng(seed).fork("target");
    std::vector<PairLength> lengths;
    for (uint64_t i = 0; i < static_cast<uint64_t>(n); ++i)
        lengths.push_back({1 + source.below(i, longest), 1 + target.below(i, longest)});
    return lengths;
}

int64_t cost(const std::vector<PairLength>& lengths, const Indices& batch) {
    int64_t widest = 0;
    for (const int64_t i : batch) {
        const PairLength& pair = lengths[static_cast<std::size_t>(i)];
        widest = std::max({widest, pair.source, pair.target});
    }
    return widest * std::ssize(batch);
}

bool each_once(const Batches& batches, std::size_t n) {
    Indices all;
    for (const Indices& batch : batches)
        all.insert(all.end(), batch.begin(), batch.end());
    std::sort(all.begin(), all.end());
    Indices wanted(n);
    std::iota(wanted.begin(), wanted.end(), 0);
    return all == wanted;
}

std::multiset<std::size_t> sizes(const Batches& batches) {
    std::multiset<std::size_t> all;
    for (const Indices& batch : batches)
        all.insert(batch.size());
    return all;
}

uint64_t hash(const Batches& batches) {
    autograd::Hash all;
    for (const Indices& batch : batches) {
        all.add(batch.size());
        for (const int64_t i : batch)
            all.add(static_cast<uint64_t>(i));
    }
    return all.value;
}

}  // namespace

TEST_CASE("batches have every pair once and at most so many tokens", "[text]") {
    for (const int64_t n : {0, 1, 2, 17, 500})
        for (const int64_t batch_tokens : {30, 31, 100, 1000, 1'000'000})
            for (const int64_t bucket : {1, 7, 100, 100'000})
                for (const bool shuffle : {true, false}) {
                    CAPTURE(n, batch_tokens, bucket, shuffle);
                    const auto lengths = random_lengths(n, 30, 5);
                    const Batches batches = make_batches(
                        lengths, {.batch_tokens = batch_tokens, .bucket = bucket, .shuffle = shuffle});
                    CHECK(each_once(batches, lengths.size()));
                    for (const Indices& batch : batches)
                        CHECK((!batch.empty() && cost(lengths, batch) <= batch_tokens));
                }
    constexpr int64_t most = std::numeric_limits<int64_t>::max();
    const Batches huge = make_batches({{most, most}, {1, most}, {2, 2}}, {.batch_tokens = most});
    CHECK((each_once(huge, 3) && huge.size() == 3));
    CHECK(make_batches({{0, 0}, {0, 0}}, {.batch_tokens = 1, .shuffle = false}) == Batches{{0}, {1}});
}

TEST_CASE("batches are as full as they can be", "[text]") {
    const auto lengths = random_lengths(1000, 40, 6);
    // In order of length: the next batch's first pair would not have fit.
    const Batches batches = make_batches(lengths, {.batch_tokens = 200, .shuffle = false});
    for (std::size_t i = 0; i + 1 < batches.size(); ++i) {
        Indices more = batches[i];
        more.push_back(batches[i + 1][0]);
        CHECK(cost(lengths, more) > 200);
    }
    // After shuffling, batches have other pairs but the same lengths: each batch has one of equal size.
    CHECK(sizes(make_batches(lengths, {.batch_tokens = 200})) == sizes(batches));
    // Of 1000 pairs in buckets of 100, a batch has pairs of one bucket: ten buckets of ten or more batches.
    const auto number = [&](int64_t bucket) {
        return make_batches(lengths, {.batch_tokens = 400, .bucket = bucket}).size();
    };
    CHECK((number(1) == 1000 && number(2) >= 500 && number(1000) == number(100'000)));
    CHECK((number(100) > number(1000) && number(100) < 2 * number(1000)));
}

TEST_CASE("batches for validation are in order of length, equal ones in their order", "[text]") {
    const std::vector<PairLength> lengths = {{5, 5}, {2, 1}, {1, 2}, {5, 5}, {2, 2}, {5, 4}, {2, 1}, {9, 1}};
    // The longer side first, then the target, then the source.
    const Batches wanted = {{1, 6, 2, 4}, {5, 0}, {3}, {7}};
    CHECK(make_batches(lengths, {.batch_tokens = 10, .shuffle = false}) == wanted);
    CHECK(make_batches(lengths, {.batch_tokens = 10, .seed = 9, .epoch = 3, .bucket = 2, .shuffle = false}) ==
          wanted);
}

TEST_CASE("batches are a function of seed and epoch", "[text]") {
    const auto lengths = random_lengths(300, 20, 7);
    const auto with = [&](uint64_t seed, int64_t epoch) {
        return make_batches(lengths, {.batch_tokens = 100, .seed = seed, .epoch = epoch});
    };
    CHECK(with(1, 0) == with(1, 0));
    CHECK(with(1, 0) != with(1, 1));
    CHECK(with(1, 0) != with(2, 0));
    CHECK(with(1, 1) != with(2, 0));
    // The same on every machine, and the same as an implementation in another language gives.
    CHECK(hash(with(1, 0)) == 0xd732a42b0293b6a3u);
    CHECK(hash(make_batches(lengths, {.batch_tokens = 100, .seed = 1, .epoch = 5, .bucket = 50})) ==
          0xd79d47049e03699u);
}

TEST_CASE("batches: an error names the pair that does not fit", "[text]") {
    const std::vector<PairLength> lengths = {{3, 4}, {5, 101}, {7, 7}};
    CHECK_THROWS_WITH(
        make_batches(lengths, {.batch_tokens = 100}),
        "[batches] pair 1 has 101 tokens on one side, and a batch at most 100; raise batch_tokens, or "
        "drop or cut long pairs");
    CHECK(make_batches(lengths, {.batch_tokens = 101}).size() == 2);
    CHECK_THROWS_AS(make_batches(lengths, {.batch_tokens = 0}), autograd::Error);
    CHECK_THROWS_AS(make_batches(lengths, {.bucket = 0}), autograd::Error);
}
