// Training data of a masked language model: which tokens are selected, what they become, what the loss
// counts.
#include "models/text/training_data.h"

#include <cmath>
#include <numeric>

#include "tests/catch.h"
#include "tests/models/small.h"

using namespace plaingrad;  // NOLINT
using namespace models;     // NOLINT
using namespace text;       // NOLINT
using namespace tests;      // NOLINT

namespace {

// Whether k of n agrees with a probability, within five deviations of the binomial distribution.
bool plausible(int64_t k, int64_t n, double p) {
    const auto all = static_cast<double>(n);
    return std::abs(static_cast<double>(k) - all * p) <= 5 * std::sqrt(all * p * (1 - p)) + 1e-9;
}

struct Counts {
    int64_t possible = 0, selected = 0, replaced = 0, kept = 0;
    std::vector<int64_t> random = std::vector<int64_t>(64);  // by id
};

// Masks, checks the invariants at each position, and counts.
Counts count(const Tokens& ids, const MaskingOptions& o, uint64_t seed) {
    const MaskedTokens masked = mask_tokens(ids, o, Rng(seed));
    Counts n;
    for (const Tokens* each : {&masked.ids, &masked.targets}) {
        REQUIRE(each->ids().size() == ids.ids().size());
        CHECK((each->batch() == ids.batch() && each->length() == ids.length() && each->pad() == ids.pad()));
    }
    int64_t wrong = 0;
    for (std::size_t i = 0; i < ids.ids().size(); ++i) {
        const int32_t was = ids.ids()[i], is = masked.ids.ids()[i], target = masked.targets.ids()[i];
        const bool may = was >= o.first_id && was < o.end_id && was != ids.pad();
        n.possible += may;
        if (target == ids.pad()) {
            wrong += is != was;
            continue;
        }
        wrong += !may || target != was;
        ++n.selected;
        if (is == o.mask)
            ++n.replaced;
        else if (is == was)
            ++n.kept;
        else if (is >= o.first_id && is < o.end_id)
            ++n.random[static_cast<std::size_t>(is)];
        else
            ++wrong;
    }
    CHECK(wrong == 0);
    return n;
}

int64_t sum(const std::vector<int64_t>& x) { return std::accumulate(x.begin(), x.end(), int64_t{0}); }

// Reserved ids among the data, and padding.
Tokens reading(int64_t vocabulary) {
    Sentences s = sentences(std::vector<int>(100, 200), 1, vocabulary);
    for (std::size_t b = 0; b < s.size(); ++b) {
        s[b].resize(200 - b);
        s[b].front() = kSos;
        s[b][40] = kUnk;
        s[b].back() = kEos;
    }
    return padded(s);
}

}  // namespace

TEST_CASE("mask_tokens: 15 %, and of these 80, 10 and 10", "[models][mlm]") {
    const Tokens ids = reading(44);
    const Counts n = count(ids, {.end_id = 44}, 2);
    CHECK(n.possible > 14000);
    CHECK(plausible(n.selected, n.possible, 0.15));
    CHECK(plausible(n.replaced, n.selected, 0.8));
    CHECK(plausible(n.kept, n.selected, 0.1 + 0.1 / 40));  // a random id may be the same
    CHECK(plausible(sum(n.random), n.selected, 0.1 * 39 / 40));
    for (std::size_t id = 4; id < 44; ++id)
        CHECK(plausible(n.random[id], sum(n.random), 1.0 / 40));
    CHECK(n.random[4] + n.random[43] > 0);  // both ends
    // The same for the same stream, another for another.
    const MaskedTokens one = mask_tokens(ids, {.end_id = 44}, Rng(5)),
                       same = mask_tokens(ids, {.end_id = 44}, Rng(5));
    CHECK((one.ids.ids() == same.ids.ids() && one.targets.ids() == same.targets.ids()));
    CHECK(one.targets.ids() != mask_tokens(ids, {.end_id = 44}, Rng(6)).targets.ids());
}

TEST_CASE("mask_tokens: other rates, and 1; only ids of the range are drawn", "[models][mlm]") {
    const Tokens ids = reading(24);
    const Counts n = count(ids, {.mask = 5, .first_id = 8, .end_id = 20, .rate = 0.5}, 3);
    CHECK(plausible(n.selected, n.possible, 0.5));
    CHECK(plausible(n.replaced, n.selected, 0.8));
    CHECK((sum({n.random.begin(), n.random.begin() + 8}) == 0 && n.random[8] > 0 && n.random[19] > 0));
    const Counts every = count(ids, {.end_id = 24, .rate = 1}, 4);
    CHECK(every.selected == every.possible);
    // Padding is the texts' own. Marian's: the last id pads, and 0 is a word.
    const Tokens marian = Tokens::padded({{0, 1, 2, 3, 0}, {0, 2}}, 9);
    const MaskingOptions o = {.mask = 8, .first_id = 0, .end_id = 8, .rate = 1};
    CHECK(count(marian, o, 1).selected == 7);
    CHECK(mask_tokens(marian, o, Rng(1)).targets.lengths() == marian.lengths());
}

TEST_CASE("mask_tokens: at least one is selected, and it can be any", "[models][mlm]") {
    const Tokens ids = padded({{kSos, 4, 5, kEos}, {6, kUnk}});
    std::vector<int64_t> chosen(8);
    for (uint64_t seed = 0; seed < 300; ++seed) {
        const MaskingOptions o = {.end_id = 11, .rate = 0};
        CHECK(count(ids, o, seed).selected == 1);
        for (std::size_t i = 0; i < 8; ++i)
            chosen[i] += mask_tokens(ids, o, Rng(seed)).targets.ids()[i] != kPad;
    }
    CHECK(chosen[1] + chosen[2] + chosen[4] == 300);
    for (const std::size_t i : {1u, 2u, 4u})
        CHECK(plausible(chosen[i], 300, 1.0 / 3));
    CHECK(count(padded({{7}}), {.end_id = 11}, 1).selected == 1);
}

TEST_CASE("mask_tokens: errors", "[models][mlm]") {
    const Tokens ids = padded({{4, 5}, {6}}), marian = Tokens::padded({{0, 1, 2, 3, 0}, {0, 2}}, 9);
    struct Row {
        Tokens ids;
        MaskingOptions options;
        const char* reason;  // nullptr: it is accepted
    };
    const Row table[] = {{ids, {.end_id = 7}, nullptr},
                         {ids, {}, "end_id"},  // it was not set
                         {ids, {.first_id = 7, .end_id = 7}, "no ids from 7 to 7"},
                         {ids, {.first_id = 7, .end_id = 9}, "no token that may be masked"},
                         {padded({{kSos, kEos}}), {.end_id = 9}, "no token that may be masked"},
                         // A selected id, or a random one, must not be the one that the loss ignores.
                         {ids, {.first_id = 0, .end_id = 9}, "first_id"},
                         {marian, {.mask = 8, .first_id = 0, .end_id = 10}, "9"},
                         {ids, {.mask = 0, .end_id = 7}, "the mask must not be the padding 0"},
                         {Tokens::padded({{4, 5}}, 9), {.mask = 0, .end_id = 7}, nullptr},
                         // There must be a padding id, to mark what is not predicted.
                         {Tokens(1, 2, {4, 5}), {.end_id = 9}, "padding"}};
    for (const auto& [texts, options, reason] : table) {
        const std::string error = error_of([&, &x = texts, &o = options] { mask_tokens(x, o, Rng(1)); });
        CHECK(error.empty() == (reason == nullptr));
        CHECK(contains(error, reason == nullptr ? "" : reason));
    }
}
