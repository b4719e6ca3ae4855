// Beam search where every probability is known.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tests/catch.h"
#include "tests/models/steppers.h"

using namespace plaingrad;  // NOLINT
using namespace models;     // NOLINT
using namespace tests;      // NOLINT

namespace {

using P = std::vector<double>;

// Greedy takes 4 (0.6) and goes on to 0.6 * 0.3; the better sentence begins with 5: 0.3 * 0.9.
//   "" 0.1    4 <eos> 0.18, 4 4 <eos> 0.6 * 0.4 * 0.5, ...    5 <eos> 0.27
P garden_path(int32_t, const Ids& read) {
    if (read.empty())
        return {0, 0, 0.1, 0, 0.6, 0.3};
    if (read[0] == 5)
        return {0, 0, 0.9, 0, 0.1, 0};
    if (read.size() == 1)
        return {0, 0, 0.3, 0, 0.4, 0.3};
    return {0, 0, 0.5, 0, 0.25, 0.25};
}

// The probabilities of a step, whatever was read before it; all later steps have the last.
Probabilities by_step(const std::vector<P>& steps) {
    return [=](int32_t, const Ids& read) { return steps[std::min(read.size(), steps.size() - 1)]; };
}

std::vector<Hypothesis> search(const Probabilities& p, const BeamOptions& options) {
    HandMade stepper(1, p);
    return beam_search(stepper, options).at(0);
}

}  // namespace

TEST_CASE("beam: finds what greedy misses, with the score of the formula", "[models][decoding]") {
    HandMade one(1, garden_path);
    CHECK(greedy(one, 8).at(0).ids == Ids{4, 4});  // 0.6 * 0.4 * 0.5

    struct Row {
        const char* what;
        Probabilities p;
        BeamOptions options;
        std::vector<std::pair<Ids, double>> best;  // with their probabilities
    };
    const P certain = {0, 0, 0, 0, 1, 0}, end = {0, 0, 1, 0, 0, 0};
    // "" ends with 0.5, or 4 begins with 0.4 and is followed by eighteen more, and certain ones. With alpha 1
    // its logarithm is divided by 25/6 in the end; after the next token, by 7/6, it would still lose.
    std::vector<P> long_one(19, certain);
    long_one[0] = {0, 0, 0.5, 0, 0.4, 0.1};
    long_one.push_back(end);
    // "" has 0.5; then 4 with 0.3, of which every end is less probable than 5 <eos> with 0.2.
    const Probabilities replaced = [&](int32_t, const Ids& read) -> P {
        return read.empty() ? P{0, 0, 0.5, 0, 0.3, 0.2} : read[0] == 5 ? end : P{0, 0, 0.4, 0, 0.3, 0.3};
    };
    // "" has 0.22, more than 5 4 with 0.21; but 4 and 5 begin better, and fill a beam of 2.
    const Probabilities crowded = by_step({{0, 0, 0.22, 0, 0.48, 0.3}, {0, 0, 0.3, 0, 0.7, 0}, end});
    // 4 <eos> has 0.33, 5 4 has 0.225, and then comes 5 <eos> with 0.207.
    const Probabilities two_ends = [&](int32_t, const Ids& read) -> P {
        return read.empty()      ? P{0, 0, 0, 0, 0.55, 0.45}
               : read.size() > 1 ? end
               : read[0] == 4    ? P{0, 0, 0.6, 0, 0.2, 0.2}
                                 : P{0, 0, 0.46, 0, 0.5, 0.04};
    };
    // "" has 0.4; 4 4 4 has 0.6 * 0.7 * 0.8 = 0.336
    const Probabilities short_or_long =
        by_step({{0, 0, 0.4, 0, 0.6}, {0, 0, 0.3, 0, 0.7}, {0, 0, 0.2, 0, 0.8}, {0, 0, 1, 0, 0}});
    // 4 4 4 4 <eos> is all but certain. Everything else ends at once.
    const Probabilities nearly_certain = [&](int32_t, const Ids& read) -> P {
        if (std::any_of(read.begin(), read.end(), [](int32_t id) { return id != 4; }))
            return {0, 0, 1, 0, 0, 0, 0};
        return read.size() < 4 ? P{0, 0, 0.001, 0, 0.99, 0.005, 0.004} : P{0, 0, 0.99, 0, 0.01, 0, 0};
    };
    const auto width = [](int64_t beam, int64_t n_best, double alpha, double k = 5) {
        return BeamOptions{.beam = beam, .n_best = n_best, .alpha = alpha, .k = k, .max_tokens = 30};
    };
    const Ids four(4, 4);
    const double sure = std::pow(0.99, 5);
    const std::vector<Row> rows = {
        {"alpha 0", garden_path, width(3, 3, 0), {{{5}, 0.27}}},
        {"alpha 0.6", garden_path, width(3, 3, 0.6), {{{5}, 0.27}}},
        {"alpha 1", garden_path, width(3, 3, 1), {{{5}, 0.27}}},
        {"the mean log probability per token", garden_path, width(3, 3, 1, 0), {{{5}, 0.27}}},
        {"wider than all numbers", garden_path, width(INT64_MAX, 1, 0.6), {{{5}, 0.27}}},
        {"one that ends is replaced", replaced, width(2, 2, 0), {{{}, 0.5}, {{5}, 0.2}}},
        // An end that is not among the best continuations, as many as the beam, does not count.
        {"crowded, 2", crowded, width(2, 2, 0), {{{4, 4}, 0.336}, {{5, 4}, 0.21}}},
        {"crowded, 3", crowded, width(3, 2, 0), {{{4, 4}, 0.336}, {{}, 0.22}}},
        {"the second end behind the beam", two_ends, width(2, 2, 0), {{{4}, 0.33}, {{5, 4}, 0.225}}},
        {"the best only at its full length", by_step(long_one), width(2, 1, 1), {{Ids(19, 4), 0.4}}},
        {"short", short_or_long, width(4, 1, 0), {{{}, 0.4}}},
        {"long", short_or_long, width(4, 1, 1), {{{4, 4, 4}, 0.336}}},
        {"nearly certain, 1", nearly_certain, width(1, 1, 1, 0), {{four, sure}}},
        {"nearly certain, 2", nearly_certain, width(2, 1, 1, 0), {{four, sure}}},
        {"nearly certain, 3", nearly_certain, width(3, 1, 1, 0), {{four, sure}}},
        {"nearly certain, 5", nearly_certain, width(5, 1, 1, 0), {{four, sure}}},
    };
    for (const Row& r : rows) {
        INFO(r.what);
        HandMade stepper(1, r.p);
        const std::vector<Hypothesis> found = beam_search(stepper, r.options).at(0);
        REQUIRE(std::ssize(found) == r.options.n_best);
        for (std::size_t i = 0; i < found.size(); ++i) {
            const Hypothesis& h = found[i];
            const double k = r.options.k, tokens = static_cast<double>(h.ids.size() + 1);  // <eos> is counted
            CHECK(h.finished);
            CHECK(h.score == Approx(h.log_probability / std::pow((k + tokens) / (k + 1), r.options.alpha)));
            CHECK(h.score <= found[0].score);
            if (i < r.best.size()) {
                CHECK(h.ids == r.best[i].first);
                CHECK(h.log_probability == Approx(std::log(r.best[i].second)).epsilon(1e-6).margin(1e-6));
            }
        }
        CHECK_FALSE(stepper.extended_an_ended_one);
        CHECK(stepper.began_at_start);
    }
    CHECK(search(garden_path, {.alpha = 1, .k = 0, .max_tokens = 0}).at(0).score == 0);
}

TEST_CASE("beam: each sentence of a batch can have its own limit", "[models][decoding]") {
    const Probabilities p = by_step({{0, 0, 0, 0, 0.6, 0.4}});
    for (const int64_t beam : {1, 3}) {
        HandMade stepper(3, p);
        const auto found = beam_search(stepper, {.beam = beam, .max_tokens = 9, .max_tokens_of = {1, 4, 20}});
        for (const auto& [b, count] : {std::pair{0, 1}, {1, 4}, {2, 9}})
            CHECK(found.at(static_cast<std::size_t>(b)).at(0).ids == Ids(static_cast<std::size_t>(count), 4));
        CHECK(stepper.batches.back() == beam);  // only the last one goes on
    }
    CHECK(contains(error_of([&] { search(p, {.max_tokens_of = {1, 2}}); }), "2 numbers"));
}

TEST_CASE("beam: tokens without probability are no candidates, and NaN is an error", "[models][decoding]") {
    const auto found =
        search(by_step({{0, 0, 0.5, 0, 0.5}}), {.beam = 10, .n_best = 10, .alpha = 0, .max_tokens = 2});
    CHECK(found.size() == 3);  // "", 4, and 4 4 cut
    for (const Hypothesis& h : found)
        CHECK(std::isfinite(h.score));
    CHECK_THROWS_WITH(search(by_step({{0, 0, NAN, 0.5, 0.5}}), {}),
                      containing("the score of id 2 is not a number"));
    CHECK_THROWS_WITH(search(by_step({{0, 0, INFINITY, 1, 0}}), {}),
                      containing("probability of id 2 is not a number"));
}

TEST_CASE("beam: errors", "[models][decoding]") {
    const std::vector<std::pair<BeamOptions, const char*>> rows = {
        {{.beam = 3, .n_best = 4}, "n_best"},
        {{.beam = 3, .n_best = 0}, "n_best"},
        {{.beam = 0}, "beam must be at least 1: got 0"},
        {{.alpha = -1}, "negative"},
        {{.alpha = kNan}, "nan"},
        {{.max_tokens = -1}, "negative"},
        {{.k = -1}, "negative"}};
    HandMade stepper(1, garden_path);
    for (const auto& [options, part] : rows)
        CHECK(contains(error_of([&, &o = options] { beam_search(stepper, o); }), part));
    CHECK(stepper.batches.empty());
}

TEST_CASE("decoding: the best ids are those of all ids sorted, ties included", "[models][decoding]") {
    const std::vector<int32_t> never = {0, 7, 133};
    for (const int64_t vocabulary : {1, 40, 127, 128, 129, 255, 256, 257, 511, 600, 1000, 2000, 5000}) {
        Tensor scores = random({vocabulary}, 5, -4, 4);
        for (int64_t i = 0; i < vocabulary; i += 3)
            scores.mutable_data()[i] = std::round(scores.data()[i]);  // both zeros are among them
        for (int64_t i = 5; i < vocabulary; i += 11)
            scores.mutable_data()[i] = -std::numeric_limits<Real>::infinity();
        for (int64_t i = 7; i < vocabulary; i += 13)  // next to zero
            scores.mutable_data()[i] = i % 2 == 0 ? Real(1e-42) : Real(-1e-42);
        for (const int32_t id : never)  // these would be the best
            if (id < vocabulary)
                scores.mutable_data()[id] = 9;
        std::vector<int32_t> expected;
        for (int32_t v = 0; v < vocabulary; ++v)
            if (!contains(never, v) && std::isfinite(scores.data()[v]))
                expected.push_back(v);
        std::stable_sort(expected.begin(), expected.end(),
                         [&](int32_t a, int32_t b) { return scores.data()[a] > scores.data()[b]; });
        for (const int64_t count : {1, 2, 10, 30, 128, 252, 253, 254, 4999, 5000}) {
            INFO(vocabulary << " ids, the best " << count);
            const auto best = expected.begin() + std::min<int64_t>(count, std::ssize(expected));
            CHECK(best_ids(scores.data(), vocabulary, count, never) == Ids(expected.begin(), best));
            const auto end =
                std::find_if(expected.begin(), best, [&](int32_t v) { return scores.data()[v] < 2; });
            CHECK(best_ids(scores.data(), vocabulary, count, never, 2) == Ids(expected.begin(), end));
        }
    }
    for (const int64_t wrong : {0, 63, 64, 300, 4999}) {
        Tensor scores = random({5000}, 5, -4, 4);
        scores.mutable_data()[wrong] = kNan;
        for (const int64_t count : {1, 40, 5000})
            CHECK_THROWS_WITH(best_ids(scores.data(), 5000, count, never),
                              containing(autograd::join("the score of id ", wrong, " is not a number")));
    }
}

TEST_CASE("beam: of a large vocabulary, the best continuations of all hypotheses", "[models][decoding]") {
    constexpr int64_t kVocabulary = 700, kBeam = 4, kSteps = 4;
    const Probabilities p = [](int32_t, const Ids& read) {
        uint64_t seed = 3;
        for (const int32_t id : read)
            seed = 1000 * seed + static_cast<uint64_t>(id);
        std::vector<double> next(kVocabulary);
        for (uint64_t v = 3; v < kVocabulary; ++v)  // no end
            next[v] = std::pow(0.001 + autograd::Rng(seed).uniform(v), 8);
        const double sum = std::accumulate(next.begin(), next.end(), 0.0);
        for (double& x : next)
            x /= sum;
        return next;
    };
    std::vector<std::pair<double, Ids>> live = {{0, {}}};
    for (int64_t step = 0; step < kSteps; ++step) {
        std::vector<std::pair<double, Ids>> all;
        for (const auto& [log_probability, ids] : live) {
            const std::vector<double> next = p(0, ids);
            for (int32_t v = 3; v < kVocabulary; ++v) {
                all.emplace_back(log_probability + std::log(next[static_cast<std::size_t>(v)]), ids);
                all.back().second.push_back(v);
            }
        }
        std::sort(all.rbegin(), all.rend());
        all.resize(kBeam);
        live = all;
    }
    const auto found = search(p, {.beam = kBeam, .n_best = kBeam, .alpha = 0, .max_tokens = kSteps});
    for (std::size_t i = 0; i < kBeam; ++i) {
        CHECK(found.at(i).ids == live[i].second);
        CHECK(found.at(i).log_probability == Approx(live[i].first));
    }
}
