// The special ids of other vocabularies: which one starts a sentence, which ones end it, and which are never
// generated.
#include "tests/catch.h"
#include "tests/models/steppers.h"

using namespace plaingrad;  // NOLINT
using namespace models;     // NOLINT
using namespace tests;      // NOLINT

using autograd::Tokens;

namespace {

// A small version of GPT-2's: every id is text except the last, which ends it.
Specials gpt2_like(int32_t vocabulary) {
    return {.start = vocabulary - 1, .ends = {vocabulary - 1}, .pad = Tokens::kNoPadding, .never = {}};
}

// Marian's: <eos> 0, <unk> 1, and the last id pads and starts.
Specials marian_like(int32_t vocabulary) {
    return {.start = vocabulary - 1, .ends = {0}, .pad = vocabulary - 1, .never = {vocabulary - 1}};
}

// The text 0, 1, 2, ... up to the id before the last; the ids that our vocabularies reserve are text here.
std::vector<double> counting(int32_t, const Ids& read) {
    std::vector<double> p(7, 0.01);
    p[read.size()] = 0.9;
    return p;
}

// All searches, each with a new stepper.
void check_all(const Probabilities& p, const Specials& specials, const Ids& expected,
               int64_t longest = 1000) {
    const auto start = [&] { return std::make_unique<HandMade>(1, p, longest, specials); };
    const bool finished = std::ssize(expected) < longest;
    const Hypothesis h = greedy(*start(), 20).at(0);
    CHECK(h.ids == expected);
    CHECK(h.finished == finished);
    for (const int64_t beam : {1, 4}) {
        const auto found = beam_search(*start(), {.beam = beam, .alpha = 0, .max_tokens = 20});
        CHECK(found.at(0).at(0).ids == expected);
        CHECK(found.at(0).at(0).finished == finished);
    }
    CHECK(generate(*start(), Rng(1), {.sampling = {.temperature = 0}, .max_tokens = 20, .slide = false})
              .at(0) == expected);
}

}  // namespace

TEST_CASE("specials: GPT-2's, where 0, 1, 2 and 3 are text", "[models][decoding][specials]") {
    check_all(counting, gpt2_like(7), {0, 1, 2, 3, 4, 5});
    CHECK(gpt2().specials.start == 50256);
    CHECK(gpt2().specials.ends == Ids{50256});
    CHECK(gpt2().specials.never.empty());
}

TEST_CASE("specials: Marian's, whose end is 0 and whose pad starts", "[models][decoding][specials]") {
    const Probabilities p = [](int32_t, const Ids& read) {
        std::vector<double> next = {0.001, 0.01, 0.01, 0.01, 0.01, 0.01, 0.4};  // the pad would be likely
        next[read.size() < 3 ? read.size() + 1 : 0] = 0.3;
        return next;
    };
    check_all(p, marian_like(7), {1, 2, 3});
    HandMade stepper(2, p, 1000, marian_like(7));
    greedy(stepper, 20);
    CHECK(stepper.began_at_start);
    CHECK_FALSE(stepper.extended_an_ended_one);
}

TEST_CASE("specials: several ends, none, and an end that the vocabulary lacks",
          "[models][decoding][specials]") {
    for (const Ids& ends : {Ids{3, 5}, Ids{5, 3, 6}})
        check_all(counting, {.ends = ends, .never = {}}, {0, 1, 2});
    check_all(counting, {.ends = {}, .never = {}}, {0, 1, 2, 3}, 4);
    // A beam is filled again, though every hypothesis ends in three ways.
    const Probabilities p = [](int32_t, const Ids& read) -> std::vector<double> {
        if (read.empty())
            return {0.13, 0.13, 0.13, 0.21, 0.19, 0.19};
        if (read.size() == 1)  // of the best 8 continuations 5 end, of the best 16 enough go on
            return {0.24, 0.24, 0.24, 0.25, 0.015, 0.015};
        return {1, 0, 0, 0, 0, 0};
    };
    HandMade stepper(1, p, 1000, Specials{.ends = {0, 1, 2}, .never = {}});
    beam_search(stepper, {.beam = 4, .n_best = 4, .alpha = 0, .max_tokens = 3});
    CHECK(stepper.batches == std::vector<int>{1, 3, 4});
}

TEST_CASE("specials: a Transformer begins at the start of its configuration",
          "[models][decoding][specials]") {
    Config c = small("paper");
    c.specials = marian_like(11);
    const Transformer model(c, Rng(3));
    const Tokens src = Tokens::padded({{1, 2, 3, 0}, {4, 0}}, c.specials.pad);
    const auto stepper = model.start(src);
    CHECK((stepper->prompts.at(0, 0) == 10 && stepper->prompts.at(1, 0) == 10));
    const std::vector<Hypothesis> found = greedy(*stepper, 5);
    // Padding is hidden whatever its id: a sentence alone gets the same translation.
    CHECK(greedy(*model.start(Tokens(1, 2, {4, 0})), 5).at(0).ids == found.at(1).ids);
    for (const Hypothesis& h : found)
        CHECK_FALSE((contains(h.ids, 0) || contains(h.ids, 10)));
}

TEST_CASE("decoding: a translation can begin with a prompt", "[models][decoding]") {
    Transformer model(small("prenorm"), Rng(8));
    stir(model);
    const Tokens src = padded(sentences({4, 2}, 9));
    model.config.specials.ends = {};
    // What greedy search wrote, given as a prompt, is continued as before.
    const std::vector<Hypothesis> whole = greedy(*model.start(src), 9);
    REQUIRE(whole[0].ids.size() > 3);
    REQUIRE(whole[1].ids.size() > 3);
    Ids prompts;
    for (const Hypothesis& h : whole) {
        prompts.push_back(kSos);
        prompts.insert(prompts.end(), h.ids.begin(), h.ids.begin() + 3);
    }
    const std::vector<Hypothesis> rest = greedy(*model.start(src, Tokens(2, 4, prompts)), 6);
    for (std::size_t b = 0; b < 2; ++b)
        CHECK(rest[b].ids == Ids(whole[b].ids.begin() + 3, whole[b].ids.end()));
    // It may go beyond the model's length: the newer half of the text is read again, with the same source.
    Config c = small("prenorm");
    c.max_length = 6;
    const Transformer narrow(c, Rng(8));
    const auto stepper = narrow.start(padded(sentences({4, 2}, 9)));
    stepper->specials.ends = {};
    CHECK(generate(*stepper, Rng(1), {.max_tokens = 25}).at(1).size() == 25);
    CHECK(contains(error_of([&] { model.start(src, Tokens(1, 1, {kSos})); }), "1 prompts for 2 sources"));
}
