// Greedy search: when it stops, and what it never returns.
#include "tests/catch.h"
#include "tests/models/hand_made.h"
#include "tests/models/small.h"

using namespace plaingrad;  // NOLINT
using namespace models;     // NOLINT
using namespace tests;      // NOLINT

// Sentence b repeats token 4 + b; it ends after b + 1 tokens. <pad> and <sos> are always likelier.
static std::vector<double> counting(int32_t b, const Ids& read) {
    std::vector<double> p = {0.3, 0.4, 0.01, 0.01, 0.01, 0.01, 0.01};
    p[read.size() > static_cast<std::size_t>(b) ? 2 : static_cast<std::size_t>(4 + b)] = 0.2;  // 2 is <eos>
    return p;
}

TEST_CASE("greedy: each sentence ends at its own <eos>, and nothing more is computed for it",
          "[models][decoding]") {
    HandMade stepper(3, counting);
    const std::vector<Hypothesis> found = greedy(stepper, 50);
    REQUIRE(found.size() == 3);
    CHECK(found[0].ids == Ids{4});
    CHECK(found[1].ids == Ids{5, 5});
    CHECK(found[2].ids == Ids{6, 6, 6});
    for (const Hypothesis& h : found)
        CHECK(h.finished);
    CHECK(stepper.batches == std::vector<int>{3, 3, 2, 1});
    CHECK(stepper.began_at_start);
    CHECK_FALSE(stepper.extended_an_ended_one);
}

TEST_CASE("greedy: the log probability is the product's, and the score has no length penalty",
          "[models][decoding]") {
    HandMade stepper(2, counting);
    const std::vector<Hypothesis> found = greedy(stepper, 50);
    const double total = 0.3 + 0.4 + 4 * 0.01 + 0.2;  // the softmax makes the sum 1
    REQUIRE(found.size() == 2);
    CHECK(found[0].log_probability == Approx(2 * std::log(0.2 / total)).epsilon(1e-6));
    CHECK(found[1].log_probability == Approx(3 * std::log(0.2 / total)).epsilon(1e-6));
    CHECK(found[1].score == found[1].log_probability);
}

TEST_CASE("greedy: a sentence that is cut says so, <eos> counted in the length", "[models][decoding]") {
    HandMade stepper(3, counting);
    const std::vector<Hypothesis> found = greedy(stepper, 3);
    REQUIRE(found.size() == 3);
    CHECK((found[0].finished && found[1].finished));
    CHECK(found[1].ids == Ids{5, 5});
    CHECK_FALSE(found[2].finished);
    CHECK(found[2].ids == Ids{6, 6, 6});
    CHECK(stepper.batches.size() == 3);

    HandMade short_model(3, counting, 2);  // the model's own maximum is smaller
    const std::vector<Hypothesis> shorter = greedy(short_model, 50);
    REQUIRE(shorter.size() == 3);
    CHECK(shorter[0].finished);
    CHECK((!shorter[1].finished && !shorter[2].finished));
    CHECK(shorter[2].ids == Ids{6, 6});

    HandMade unused(2, counting);
    const std::vector<Hypothesis> none = greedy(unused, 0);
    REQUIRE(none.size() == 2);
    CHECK((none[0].ids.empty() && !none[0].finished));
    CHECK(unused.batches.empty());
    CHECK(contains(error_of([&] { greedy(unused, -1); }), "max_tokens must not be negative: got -1"));
}

TEST_CASE("greedy: a sentence may be empty, and an empty batch gives no result", "[models][decoding]") {
    HandMade stepper(1, [](int32_t, const Ids&) { return std::vector<double>{0.1, 0.1, 0.6, 0.1, 0.1}; });
    const std::vector<Hypothesis> found = greedy(stepper, 5);
    REQUIRE(found.size() == 1);
    CHECK((found[0].ids.empty() && found[0].finished));
    HandMade none(0, counting);
    CHECK(greedy(none, 5).empty());
}

// The definition, with a whole pass for each token.
static Hypothesis slow_greedy(const Transformer& model, const Ids& source, int max_tokens) {
    Hypothesis h;
    for (int i = 0; i < max_tokens && !h.finished; ++i) {
        Ids read = h.ids;
        read.insert(read.begin(), kSos);
        const Tensor logits = model(padded({source}), padded({read}), Mode::eval());
        const std::vector<Real> last = row(autograd::log_softmax(logits), 0, logits.size(1) - 1);
        std::size_t best = kEos;
        for (std::size_t v = kEos; v < last.size(); ++v)
            if (last[v] > last[best])
                best = v;
        h.log_probability += static_cast<double>(last[best]);
        h.finished = best == kEos;
        if (!h.finished)
            h.ids.push_back(static_cast<int32_t>(best));
    }
    return h;
}

TEST_CASE("greedy: the definition's tokens on models, also in a batch", "[models][decoding]") {
    int ended = 0, cut = 0;
    for (uint64_t seed = 0; seed < 10; ++seed) {
        const Transformer model(small(kKinds[seed % kKinds.size()]), Rng(seed));
        const Tensor& table = model.output.table;
        for (int64_t i = 0; i < table.numel(); ++i)
            table.mutable_data()[i] *= 2;  // less even probabilities
        const Sentences sources = sentences({4, 1, 6}, 100 + seed);
        const std::unique_ptr<Stepper> stepper = model.start(padded(sources));
        const std::vector<Hypothesis> found = greedy(*stepper, 20);
        REQUIRE(found.size() == 3);
        for (std::size_t b = 0; b < 3; ++b) {
            const Hypothesis expected = slow_greedy(model, sources[b], 20);
            CHECK(found[b].ids == expected.ids);
            CHECK(found[b].finished == expected.finished);
            CHECK(found[b].log_probability == Approx(expected.log_probability).margin(1e-12));
            for (const int32_t id : found[b].ids)
                CHECK((id == kUnk || id >= kFirstFreeId));
            ++(found[b].finished ? ended : cut);
        }
    }
    CHECK(ended > 0);
    CHECK(cut > 0);
}

TEST_CASE("greedy: of equally probable tokens the smaller id", "[models][decoding]") {
    HandMade stepper(1, [](int32_t, const Ids& read) {
        return read.size() < 3 ? std::vector<double>{0.1, 0.1, 0.1, 0.1, 0.2, 0.2, 0.2}
                               : std::vector<double>{0.1, 0.1, 0.4, 0.1, 0.1, 0.1, 0.1};
    });
    const Ids ids = greedy(stepper, 9).at(0).ids;
    CHECK((!ids.empty() && ids == Ids(ids.size(), 4)));
}
