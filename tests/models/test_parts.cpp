// Batches cut into parts: every row is in one of them, and none takes much longer than the others.
#include "models/runs/run.h"

#include <algorithm>
#include <numeric>

#include "nn/schedule.h"
#include "tests/catch.h"
#include "tests/models/small.h"

using namespace plaingrad;  // NOLINT
using namespace models;     // NOLINT
using namespace tests;      // NOLINT

namespace {

using Lengths = std::vector<int32_t>;

// What computing a part takes: its rows, each as long as the longest.
int64_t size_of(const Lengths& lengths, const std::vector<int64_t>& rows) {
    int64_t longest = 0;
    for (const int64_t row : rows)
        longest = std::max<int64_t>(longest, lengths[static_cast<std::size_t>(row)]);
    return longest * std::ssize(rows);
}
int64_t largest(const Lengths& lengths, int64_t parts) {
    int64_t most = 0;
    for (int64_t part = 0; part < parts; ++part)
        most = std::max(most, size_of(lengths, rows_of_part(lengths, part, parts)));
    return most;
}

// The smallest that the largest part can be, if parts are neighbours in order of length: by trying all cuts.
int64_t smallest_possible(Lengths lengths, std::size_t begin, int64_t parts) {
    std::sort(lengths.begin(), lengths.end());
    if (begin == lengths.size())
        return 0;
    int64_t best = INT64_MAX;
    for (std::size_t end = begin + 1; end <= lengths.size() && parts > 0; ++end) {
        const int64_t first = static_cast<int64_t>(end - begin) * lengths[end - 1];
        if (end < lengths.size() && parts == 1)
            continue;
        best = std::min(best, std::max(first, smallest_possible(lengths, end, parts - 1)));
    }
    return best;
}

Lengths random_lengths(int64_t n, int64_t most, uint64_t seed) {
    Lengths lengths;
    for (int64_t i = 0; i < n; ++i)
        lengths.push_back(static_cast<int32_t>(1 + Rng(seed).fork(static_cast<uint64_t>(i)).below(0, most)));
    return lengths;
}

}  // namespace

TEST_CASE("parts: every row is in one of them, in order", "[models][parts]") {
    for (const int64_t rows : {0, 1, 2, 5, 32, 100})
        for (const int64_t parts : {1, 2, 3, 8, 64}) {
            CAPTURE(rows, parts);
            const Lengths lengths = random_lengths(rows, 40, 3);
            std::vector<int64_t> all;
            int64_t empty = 0;
            for (int64_t part = 0; part < parts; ++part) {
                const std::vector<int64_t> own = rows_of_part(lengths, part, parts);
                CHECK(std::is_sorted(own.begin(), own.end()));
                all.insert(all.end(), own.begin(), own.end());
                empty += own.empty() ? 1 : 0;
            }
            std::sort(all.begin(), all.end());
            std::vector<int64_t> wanted(static_cast<std::size_t>(rows));
            std::iota(wanted.begin(), wanted.end(), int64_t{0});
            CHECK(all == wanted);
            CHECK(empty == std::max<int64_t>(0, parts - rows));
        }
}

TEST_CASE("parts: the largest is as small as it can be", "[models][parts]") {
    for (const uint64_t seed : {1u, 2u, 3u, 4u})
        for (const int64_t parts : {1, 2, 3, 4, 9}) {
            const Lengths lengths = random_lengths(9, 20, seed);
            CAPTURE(seed, parts);
            CHECK(largest(lengths, parts) == smallest_possible(lengths, 0, parts));
        }
    CHECK(largest(Lengths(10, 7), 7) == 14);
    CHECK(largest({5, 0, 0, 0}, 2) == 5);
    CHECK(largest({0, 0}, 3) == 0);
    // Of many rows, no part is much larger than the mean.
    const Lengths many = random_lengths(2000, 60, 5);
    const auto all = static_cast<double>(std::accumulate(many.begin(), many.end(), int64_t{0}));
    CHECK(static_cast<double>(largest(many, 16)) < 1.1 * all / 16);
}

TEST_CASE("parts: a part has no columns that are only padding there", "[models][parts]") {
    const Tokens texts = Tokens::padded({{4, 5, 6, 7}, {8}, {9, 4}, {5, 6, 7, 8}}, kPad);
    const nn::StepPart first = {.part = 0, .parts = 3}, second = {.part = 1, .parts = 3};
    CHECK(part_of(texts, first).ids() == std::vector<int32_t>{8, kPad, 9, 4});
    CHECK(part_of(texts, second).ids() == std::vector<int32_t>{4, 5, 6, 7});
    CHECK(part_of(texts, {.part = 2, .parts = 3}).ids() == std::vector<int32_t>{5, 6, 7, 8});
    // Labels of these texts.
    CHECK(part_of(Tokens(4, 1, {0, 1, 2, 3}), {4, 1, 2, 4}, first).ids() == std::vector<int32_t>{1, 2});
    const Batch pairs = make_batch({{{4, 5, 6}, {7}}, {{8}, {9, 10, 11}}, {{4}, {5}}});
    const Batch part = part_of(pairs, {.part = 0, .parts = 3});
    CHECK(part.src.ids() == std::vector<int32_t>{4});
    CHECK(part.tgt.ids() == std::vector<int32_t>{1, 5, 2});
}

TEST_CASE("parts: of each part all batches of a step, without those that have no rows", "[models][parts]") {
    const std::vector<Tokens> two = {Tokens::padded({{4, 5}, {6}}, kPad),
                                     Tokens::padded({{7}, {8, 9}}, kPad)};
    const LanguageModel model(small_stack("gpt2"), Rng(1));
    const RunFolder of_three("parts", {.parts = 3}), of_one("parts", {});
    const Run cut(of_three, run_model(model), {.learning_rate = nn::ConstantSchedule{0.01}, .accumulate = 4});
    std::vector<std::vector<int64_t>> all;
    for (const Part<Tokens>& part : cut.parts(two)) {
        CHECK((part.step == 0 && part.parts == 3 && part.batches == 4));
        all.push_back({part.part, part.StepPart::batch, part.ids()[0]});
    }
    CHECK(all == std::vector<std::vector<int64_t>>{{0, 0, 6}, {0, 1, 7}, {1, 0, 4}, {1, 1, 8}});
    const Run alone(of_one, run_model(model), {.learning_rate = nn::ConstantSchedule{0.01}});
    const Part<Tokens> whole = alone.parts(two[0]).at(0);
    CHECK((whole.is_whole() && whole.ids() == two[0].ids()));
}
