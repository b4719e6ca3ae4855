// Greedy search: when it stops, and what it never returns.
#include "tests/catch.h"
#include "tests/models/steppers.h"

using namespace plaingrad;  // NOLINT
using namespace models;     // NOLINT
using namespace tests;      // NOLINT

// Sentence b repeats token 4 + b; it ends after b + 1 tokens. <pad> and <sos> are always likelier.
static std::vector<double> counting(int32_t b, const Ids& read) {
    std::vector<double> p = {0.3, 0.4, 0.01, 0.01, 0.01, 0.01, 0.01};
    p[read.size() > static_cast<std::size_t>(b) ? 2 : static_cast<std::size_t>(4 + b)] = 0.2;  // 2 is <eos>
    return p;
}

// What greedy search finds: the ids, "." if the sentence ends, and a blank.
static std::string found_by(HandMade&& stepper, int64_t max_tokens) {
    std::string text;
    for (const Hypothesis& h : greedy(stepper, max_tokens)) {
        for (const int32_t id : h.ids)
            text += std::to_string(id);
        text += h.finished ? ". " : " ";
    }
    return text;
}

TEST_CASE("greedy: each sentence ends at its own <eos>, and nothing more is computed for it",
          "[models][decoding]") {
    HandMade stepper(3, counting);
    const std::vector<Hypothesis> found = greedy(stepper, 50);
    REQUIRE(found.size() == 3);
    const double total = 0.3 + 0.4 + 4 * 0.01 + 0.2;  // the softmax makes the sum 1
    for (int32_t b = 0; b < 3; ++b) {
        const Hypothesis& h = found[static_cast<std::size_t>(b)];
        CHECK(h.ids == Ids(static_cast<std::size_t>(b + 1), 4 + b));
        CHECK(h.finished);
        CHECK(h.log_probability == Approx((2 + b) * std::log(0.2 / total)).epsilon(1e-6));
        CHECK(h.score == h.log_probability);  // no length penalty
    }
    CHECK(stepper.batches == std::vector<int>{3, 3, 2, 1});
    CHECK(stepper.began_at_start);
    CHECK_FALSE(stepper.extended_an_ended_one);
}

TEST_CASE("greedy: a sentence that is cut says so, <eos> counted in the length", "[models][decoding]") {
    CHECK(found_by(HandMade(3, counting), 3) == "4. 55. 666 ");
    CHECK(found_by(HandMade(3, counting, 2), 50) == "4. 55 66 ");  // the model's own maximum is smaller
    CHECK(found_by(HandMade(0, counting), 5).empty());
    HandMade unused(2, counting);
    const std::vector<Hypothesis> none = greedy(unused, 0);
    REQUIRE(none.size() == 2);
    CHECK((none[0].ids.empty() && !none[0].finished));
    CHECK(unused.batches.empty());
    CHECK(contains(error_of([&] { greedy(unused, -1); }), "max_tokens must not be negative: got -1"));
}

TEST_CASE("greedy: an empty sentence, equally probable tokens, and none that may be", "[models][decoding]") {
    using P = std::vector<double>;
    CHECK(found_by(HandMade(1, [](int32_t, const Ids&) { return P{0.1, 0.1, 0.6, 0.1, 0.1}; }), 5) == ". ");
    CHECK(found_by(HandMade(1, [](int32_t, const Ids&) { return P{1, 0, 0, 0, 0}; }), 5) == " ");
    const Probabilities even = [](int32_t, const Ids& read) {
        return read.size() < 3 ? P{0.1, 0.1, 0.1, 0.1, 0.2, 0.2, 0.2} : P{0.1, 0.1, 0.4, 0.1, 0.1, 0.1, 0.1};
    };
    CHECK(found_by(HandMade(1, even), 9) == "444. ");  // the smaller id
}
