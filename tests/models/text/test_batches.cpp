// Batches limited by their number of tokens.
#include "models/text/training_data.h"

#include <algorithm>
#include <limits>
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

const PairLength& at(const std::vector<PairLength>& lengths, int64_t i) {
    return lengths[static_cast<std::size_t>(i)];
}
int64_t longer(const PairLength& pair) { return std::max(pair.source, pair.target); }

int64_t cost(const std::vector<PairLength>& lengths, const Indices& batch) {
    int64_t widest = 0;
    for (const int64_t i : batch)
        widest = std::max(widest, longer(at(lengths, i)));
    return widest * std::ssize(batch);
}

// All indices in the order of the batches.
Indices flat(const Batches& batches) {
    Indices all;
    for (const Indices& batch : batches)
        all.insert(all.end(), batch.begin(), batch.end());
    return all;
}

bool each_once(const Batches& batches, std::size_t n) {
    const Indices all = flat(batches);
    return all.size() == n && std::set<int64_t>(all.begin(), all.end()).size() == n &&
           (n == 0 || (*std::min_element(all.begin(), all.end()) == 0 &&
                       *std::max_element(all.begin(), all.end()) == static_cast<int64_t>(n) - 1));
}

// FNV-1a over sizes and indices.
uint64_t hash(const Batches& batches) {
    uint64_t h = 0xcbf29ce484222325u;
    const auto add = [&](int64_t number) { h = (h ^ static_cast<uint64_t>(number)) * 0x100000001b3u; };
    for (const Indices& batch : batches) {
        add(std::ssize(batch));
        for (const int64_t i : batch)
            add(i);
    }
    return h;
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
                    for (const Indices& batch : batches) {
                        CHECK_FALSE(batch.empty());
                        CHECK(cost(lengths, batch) <= batch_tokens);
                    }
                }
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
    std::multiset<std::size_t> sizes, shuffled_sizes;
    for (const Indices& batch : batches)
        sizes.insert(batch.size());
    for (const Indices& batch : make_batches(lengths, {.batch_tokens = 200}))
        shuffled_sizes.insert(batch.size());
    CHECK(sizes == shuffled_sizes);
}

TEST_CASE("batches for validation are in order of length, equal ones in their order", "[text]") {
    const std::vector<PairLength> lengths = {{5, 5}, {2, 1}, {1, 2}, {5, 5}, {2, 2}, {5, 4}, {2, 1}, {9, 1}};
    const Batches batches = make_batches(lengths, {.batch_tokens = 10, .shuffle = false});
    // The longer side first, then the target, then the source.
    CHECK(batches == Batches{{1, 6, 2, 4}, {5, 0}, {3}, {7}});
    CHECK(make_batches(lengths, {.batch_tokens = 10, .seed = 9, .epoch = 3, .bucket = 2, .shuffle = false}) ==
          batches);
    CHECK(make_batches({}, {.shuffle = false}).empty());
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

TEST_CASE("batches: both their order and their composition change", "[text]") {
    // 64 pairs of one length, 4 to a batch.
    const std::vector<PairLength> lengths(64, {5, 5});
    const auto groups = [&](int64_t epoch) {
        std::set<std::set<int64_t>> all;
        for (const Indices& batch : make_batches(lengths, {.batch_tokens = 20, .epoch = epoch}))
            all.emplace(batch.begin(), batch.end());
        return all;
    };
    CHECK(groups(0).size() == 16);
    std::set<std::set<int64_t>> both = groups(0);
    both.merge(groups(1));
    CHECK(both.size() >= 30);
    // 64 lengths, a batch each: then only the order of the batches is random, and it is far from sorted.
    std::vector<PairLength> different;
    for (int64_t i = 0; i < 64; ++i)
        different.push_back({33 + i, 1});
    const Indices order = flat(make_batches(different, {.batch_tokens = 96}));
    int64_t descents = 0;
    for (std::size_t i = 0; i + 1 < order.size(); ++i)
        descents += order[i] > order[i + 1] ? 1 : 0;
    CHECK(descents > 16);
    CHECK(descents < 48);
}

TEST_CASE("batches: buckets are sorted separately", "[text]") {
    // Of 1000 pairs in buckets of 100, a batch has pairs of one bucket: ten buckets of ten or more batches.
    const auto lengths = random_lengths(1000, 50, 8);
    const auto number = [&](int64_t bucket) {
        return make_batches(lengths, {.batch_tokens = 500, .bucket = bucket}).size();
    };
    CHECK(number(1) == 1000);
    CHECK(number(2) >= 500);
    CHECK(number(1000) == number(100'000));
    CHECK(number(100) > number(1000));
    CHECK(number(100) < 2 * number(1000));
}

TEST_CASE("batches: an error names the pair that does not fit", "[text]") {
    const std::vector<PairLength> lengths = {{3, 4}, {5, 101}, {7, 7}};
    CHECK_THROWS_WITH(
        make_batches(lengths, {.batch_tokens = 100}),
        "[batches] pair 1 has 101 tokens on one side, and a batch at most 100; raise batch_tokens, or "
        "drop or cut long pairs");
    CHECK(make_batches(lengths, {.batch_tokens = 101}).size() == 2);
    CHECK_THROWS_WITH(make_batches(lengths, {.batch_tokens = 0}),
                      "[batches] batch_tokens and bucket must be at least 1: got 0 and 100000");
    CHECK_THROWS_AS(make_batches(lengths, {.bucket = 0}), autograd::Error);
}

TEST_CASE("batches: the largest possible lengths", "[text]") {
    constexpr int64_t most = std::numeric_limits<int64_t>::max();
    const Batches batches = make_batches({{most, most}, {1, most}, {2, 2}}, {.batch_tokens = most});
    CHECK(each_once(batches, 3));
    CHECK(batches.size() == 3);
    CHECK(make_batches({{0, 0}, {0, 0}}, {.batch_tokens = 1, .shuffle = false}) == Batches{{0}, {1}});
}
