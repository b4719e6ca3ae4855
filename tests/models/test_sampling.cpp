// One token from logits: which ones can be drawn, how often, and errors.
#include "models/decoding/decoding.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "tests/catch.h"
#include "tests/models/small.h"

using namespace plaingrad;  // NOLINT
using namespace models;     // NOLINT
using namespace tests;      // NOLINT

namespace {

constexpr Real kInfinity = std::numeric_limits<Real>::infinity();

// Everything may be drawn unless `never` is said.
SamplingOptions options(double temperature = 1, int64_t top_k = 0, double top_p = 1, Ids never = {}) {
    return {.temperature = temperature, .top_k = top_k, .top_p = top_p, .never = std::move(never)};
}

int32_t draw(const std::vector<Real>& logits, double uniform, const SamplingOptions& o) {
    return sample(logits.data(), length(logits), uniform, o);
}

// Logits of a distribution.
std::vector<Real> logs(const std::vector<double>& probabilities) {
    std::vector<Real> logits;
    for (const double p : probabilities)
        logits.push_back(static_cast<Real>(std::log(p)));
    return logits;
}

// How often each id is drawn for evenly spaced numbers in [0, 1), the first and the last one included.
std::map<int32_t, int> sweep(const std::vector<Real>& logits, const SamplingOptions& o) {
    std::map<int32_t, int> counts;
    for (int i = 0; i < 1000; ++i)
        ++counts[draw(logits, (i + 0.5) / 1000, o)];
    ++counts[draw(logits, 0, o)];
    ++counts[draw(logits, 1 - 0x1p-53, o)];
    return counts;
}

// The ids that can be drawn.
Ids drawn(const std::vector<Real>& logits, const SamplingOptions& o) {
    Ids ids;
    for (const auto& [id, count] : sweep(logits, o))
        ids.push_back(id);
    return ids;
}

// Ids by probability: 3 1 4 0 2, then 5.
const std::vector<Real> kLogits = logs({0.125, 0.25, 0.0625, 0.375, 0.15625, 0.03125});

}  // namespace

TEST_CASE("sampling: temperature 0 and top_k 1 are greedy, ties take the smallest id", "[models][sampling]") {
    const std::vector<Real> ties = {1, 3, -2, 3, 3, 0};
    for (const auto& o : {options(0), options(0, 3), options(0, 0, 0.5), options(1, 1), options(5, 1, 0.1)}) {
        CHECK(drawn(kLogits, o) == Ids{3});
        CHECK(drawn(ties, o) == Ids{1});
    }
    CHECK(drawn(ties, options(0, 0, 1, {1})) == Ids{3});
    CHECK(drawn(ties, options(0, 0, 1, {1, 3, 4})) == Ids{0});
    CHECK(drawn({7, 7, 7, 7}, options(1, 2)) == Ids{0, 1});  // those of equal rank too
    CHECK(drawn({7, 7, 7, 7}, options(1, 0, 0.6)) == Ids{0, 1, 2});
}

// The text of a seed is the same everywhere: a token begins exactly where the one before it ends.
TEST_CASE("sampling: each token has its share of the numbers, to the last bit", "[models][sampling]") {
    constexpr double kTemperature = 0.7;
    for (uint64_t seed = 1; seed <= 20; ++seed) {
        std::vector<Real> logits = numbers(5, seed, -4, 4), scaled;
        std::sort(logits.begin(), logits.end(), std::greater<>());
        for (const Real logit : logits)  // away from the largest, and rounded once
            scaled.push_back(static_cast<Real>((static_cast<double>(logit) - static_cast<double>(logits[0])) /
                                               kTemperature));
        const Tensor p = autograd::softmax(Tensor::from({5}, scaled));
        double all = 0, end = 0;
        for (int i = 0; i < 5; ++i)
            all += static_cast<double>(p.data()[i]);
        for (int32_t i = 0; i < 4; ++i) {
            CAPTURE(seed, i);
            end += static_cast<double>(p.data()[i]);
            CHECK(draw(logits, end / all - 1e-12, options(kTemperature)) == i);
            CHECK(draw(logits, end / all + 1e-12, options(kTemperature)) == i + 1);
        }
    }
}

TEST_CASE("sampling: top_k keeps the k most probable", "[models][sampling]") {
    CHECK(drawn(kLogits, options(1, 2)) == Ids{1, 3});
    CHECK(drawn(kLogits, options(1, 3)) == Ids{1, 3, 4});
    CHECK(drawn(kLogits, options(1, 5)) == Ids{0, 1, 2, 3, 4});
    for (const int64_t k : {int64_t{0}, int64_t{6}, int64_t{7}, std::numeric_limits<int64_t>::max()})
        CHECK(drawn(kLogits, options(1, k)) == Ids{0, 1, 2, 3, 4, 5});
    CHECK(drawn(kLogits, options(1, 2, 1, {3})) == Ids{1, 4});  // of those that may be drawn
    // The rest keeps its proportions: 3 to 2.
    const std::map<int32_t, int> counts = sweep(kLogits, options(1, 2));
    CHECK(std::abs(counts.at(3) - 600) <= 3);
    CHECK(std::abs(counts.at(1) - 400) <= 3);
}

TEST_CASE("sampling: top_p keeps the fewest tokens that reach p, including the one that reaches it",
          "[models][sampling]") {
    const std::vector<std::pair<double, Ids>> table = {{1e-300, {3}},
                                                       {0.37, {3}},
                                                       {0.38, {1, 3}},
                                                       {0.62, {1, 3}},
                                                       {0.63, {1, 3, 4}},
                                                       {0.78, {1, 3, 4}},
                                                       {0.79, {0, 1, 3, 4}},
                                                       {0.90, {0, 1, 3, 4}},
                                                       {0.91, {0, 1, 2, 3, 4}},
                                                       {0.968, {0, 1, 2, 3, 4}},
                                                       {0.97, {0, 1, 2, 3, 4, 5}},
                                                       {1, {0, 1, 2, 3, 4, 5}}};
    for (const auto& [p, ids] : table) {
        INFO(p);
        CHECK(drawn(kLogits, options(1, 0, p)) == ids);
    }
    // Reaching p exactly is enough: halves and quarters are exact.
    CHECK(drawn({0, 0, -kInfinity}, options(1, 0, 0.5)) == Ids{0});
    CHECK(drawn({0, 0, 0, 0}, options(1, 0, 0.75)) == Ids{0, 1, 2});
    CHECK(drawn({0, 0, 0, 0}, options(1, 0, 0.7501)) == Ids{0, 1, 2, 3});
    // Of the distribution that temperature, top_k and `never` have left.
    CHECK(drawn(kLogits, options(1, 2, 0.61)) == Ids{1, 3});  // 0.6 and 0.4
    CHECK(drawn(kLogits, options(1, 2, 0.59)) == Ids{3});
    CHECK(drawn(kLogits, options(1, 0, 0.39, {3})) == Ids{1});  // 0.4 of what is left
    CHECK(drawn(kLogits, options(0.5, 0, 0.51)) == Ids{3});     // squares: 0.55
    CHECK(drawn(kLogits, options(1e9, 0, 0.49)) == Ids{1, 3, 4});
    const std::map<int32_t, int> counts = sweep(kLogits, options(1, 0, 0.62));
    CHECK(std::abs(counts.at(3) - 600) <= 3);
    CHECK(std::abs(counts.at(1) - 400) <= 3);
}

TEST_CASE("sampling: at least one token survives, and none that is impossible", "[models][sampling]") {
    const std::vector<std::vector<Real>> all = {
        kLogits,
        {-kInfinity, -kInfinity, 3, -kInfinity},
        {-kInfinity, 1, kInfinity, 5, kInfinity},
        {Real(-3e38), 0, Real(3e38)},
        {Real(3e38), Real(3e38)},
        {0, Real(-200), Real(-1e30)},
        {Real(1e-40), 0, Real(-1e-40)},
        {4},
    };
    for (std::size_t i = 0; i < all.size(); ++i)
        for (const double temperature : {0.0, 5e-324, 1e-30, 1.0, 1e30, 1e308, HUGE_VAL})
            for (const int64_t k : {0, 1, 2, 100})
                for (const double p : {5e-324, 1e-30, 0.5, 1 - 0x1p-53, 1.0}) {
                    INFO("logits " << i << ", temperature " << temperature << ", " << k << ", " << p);
                    const SamplingOptions o = options(temperature, k, p);
                    for (const double uniform : {0.0, 0.3, 1 - 0x1p-53}) {
                        const int32_t id = draw(all[i], uniform, o);
                        REQUIRE((id >= 0 && id < length(all[i])));
                        CHECK(all[i][static_cast<std::size_t>(id)] > -kInfinity);
                        if (i == 2)
                            CHECK(id == 2);
                        if (temperature <= (i == 6 ? 5e-324 : 1e-30) && i != 4)
                            CHECK(id == draw(all[i], 0, options(0)));
                    }
                }
    CHECK(drawn({Real(-3e38), 0, Real(3e38)}, options(HUGE_VAL)) == Ids{0, 1, 2});
    CHECK(drawn({0, 5, -kInfinity}, options(1e30)) == Ids{0, 1});
}

TEST_CASE("sampling: tokens without probability are not drawn, however the sum is rounded",
          "[models][sampling]") {
    for (uint64_t seed = 0; seed < 200; ++seed) {
        std::vector<Real> logits = numbers(9, seed, -3, 3);
        logits.push_back(-5000);  // e^-5000 is 0, in double too
        for (const double uniform : {1 - 0x1p-53, 1 - 0x1p-52, 1 - 0x1p-51})
            CHECK(draw(logits, uniform, options()) != 9);
    }
}

TEST_CASE("sampling: forbidden ids are never drawn", "[models][sampling]") {
    const std::vector<Real> high = {9, 9, 0, 9, 1, 1};
    CHECK(drawn(high, {}) == Ids{0, 1, 2, 3});  // by default every id is text
    CHECK(drawn(high, options(1, 0, 1, {0, 1, 3})) == Ids{2, 4, 5});
    CHECK(drawn(high, options(0, 0, 1, {0, 1, 3})) == Ids{4});
    CHECK(drawn(high, options(1, 0, 1, {2, 4, 5, 77, -1})) == Ids{0, 1, 3});
    CHECK(drawn({kInfinity, 1, 2}, options(1, 1, 1, {0})) == Ids{2});
}

TEST_CASE("sampling: errors", "[models][sampling]") {
    const auto refused = [](const SamplingOptions& o) {
        return contains(error_of([&] { draw(kLogits, 0.5, o); }), "[sample] temperature");
    };
    const double nan = std::nan("");
    for (const auto& o : {options(-0.1), options(nan), options(1, -1), options(1, 0, 0), options(1, 0, -1),
                          options(1, 0, 1.01), options(1, 0, nan), options(0, 1, 2)})
        CHECK(refused(o));
    CHECK_FALSE(refused(options(0, 0, 1)));
    for (const auto& o : {options(), options(0), options(1, 1), options(1, 0, 1, {1})})
        CHECK(contains(error_of([&] { draw({3, kNan, 1}, 0.5, o); }), "the score of id 1 is not a number"));
    CHECK(contains(error_of([&] { draw({3, 2}, 0.5, options(1, 0, 1, {1, 0})); }), "no token may be drawn"));
    CHECK(contains(error_of([&] {
                       draw({-kInfinity, -kInfinity}, 0.5, options());
                   }),
                   "no token may be drawn"));
}

TEST_CASE("sampling: the penalty divides positive logits of the text's tokens, and multiplies negative ones",
          "[models][sampling]") {
    const std::vector<Real> logits = {2, -1, 3, 0, 1};
    const Ids text = {2, 0, 1, 2, 3};
    SamplingOptions o = options();
    o.repetition_penalty = 2;
    // By hand: 2/2, -1*2, 3/2 once although it came twice, 0, and 1, which has not come. In transformers 5.23
    // RepetitionPenaltyLogitsProcessor(2.0) says the same.
    const std::vector<Real> expected = {1, -2, 1.5, 0, 1};
    for (int i = 0; i < 1000; ++i) {
        const double uniform = (i + 0.5) / 1000;
        CHECK(sample(logits.data(), 5, uniform, o, text) == draw(expected, uniform, options()));
    }
    const auto greedy = [&](double penalty, const Ids& before) {
        SamplingOptions one = options(0);
        one.repetition_penalty = penalty;
        return sample(logits.data(), 5, 0, one, before);
    };
    CHECK(greedy(1, text) == 2);
    CHECK(greedy(1.4, {2}) == 2);  // 3/1.4 is still above 2
    CHECK(greedy(1.6, {2}) == 0);
    CHECK(greedy(4, {2, 0}) == 4);
    CHECK(greedy(0.25, {4, 2, 1}) == 2);  // below 1: more probable
    CHECK(greedy(0.25, {4}) == 4);
    CHECK(greedy(4, {}) == 2);
    for (const double penalty : {0.0, -1.0, std::nan(""), HUGE_VAL})
        CHECK(
            contains(error_of([&] { greedy(penalty, {}); }), "[sample] repetition_penalty must be positive"));
    CHECK(contains(error_of([&] { greedy(2, {5}); }), "the text has id 5, outside of a vocabulary of 5"));
}

TEST_CASE("sampling: beside a penalty, the other options count, and for the logits that it leaves",
          "[models][sampling]") {
    const std::vector<Real> logits = {2, -1, 3, 0, 1};
    const auto drawn_after = [&](SamplingOptions o) {
        o.repetition_penalty = 4;
        std::set<int32_t> ids;
        for (int i = 0; i < 1000; ++i)
            ids.insert(sample(logits.data(), 5, (i + 0.5) / 1000, o, {2}));
        return Ids(ids.begin(), ids.end());
    };
    // 3 becomes 0.75; before, it is the largest.
    CHECK(drawn_after(options()) == Ids{0, 1, 2, 3, 4});
    CHECK(drawn_after(options(1, 2)) == Ids{0, 4});
    CHECK(drawn_after(options(1, 0, 0.7)) == Ids{0, 4});  // e^2 and e, of 13.6 in all, are 0.74
    CHECK(drawn_after(options(1, 0, 1, {0, 3})) == Ids{1, 2, 4});
    CHECK(drawn_after(options(0, 0, 1, {0})) == Ids{4});
}
