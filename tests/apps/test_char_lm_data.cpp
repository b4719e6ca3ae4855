// The texts that char_lm learns from, and those that it holds out.
#include "apps/programs/char_lm/data.h"

#include <cmath>

#include "apps/programs/char_lm/loss.h"
#include "tests/apps/run.h"
#include "tests/catch.h"

using namespace plaingrad;         // NOLINT
using namespace plaingrad::tests;  // NOLINT

TEST_CASE("char_lm --lines: the model takes the longest line, also if it is held out", "[apps][char_lm]") {
    const Folder folder;
    std::string text, longest;
    for (char first = 'a'; first < 'f'; ++first)
        for (char second = 'a'; second < 'g'; ++second)
            text.append({first, second, '\n'});
    // Which lines are held out depends only on how many there are.
    const char_lm::Corpus corpus = char_lm::make_corpus({{"text", text}}, false, true);
    for (const int32_t id : corpus.held_out.at(0))
        longest += id < models::text::kFirstFreeId ? "" : corpus.tokenizer.decode({id});
    text.insert(text.find(longest + "\n"), std::string(25, 'a'));
    const std::string file = folder.write("lines.txt", text), model = folder / "run";
    const Result trained =
        run("char_lm", {"train", file, "--lines", "--layers", "1", "--heads", "1", "--d-model", "8",
                        "--context", "16", "--steps", "1", "--save", model});
    INFO(trained.err);
    REQUIRE(trained.status == 0);
    const Result r = run("char_lm", {"eval", model, file});
    INFO(r.err);
    CHECK(r.status == 0);
    CHECK(contains(r.out, " over 115\n"));  // 29 lines of two characters and their ends, and one of 27
}

TEST_CASE("char_lm --lines holds out a tenth, and at most 1,000 lines", "[apps][char_lm]") {
    for (const auto& [lines, held_out] : {std::pair(9000, 900), std::pair(10'050, 1000)}) {
        std::string text;
        for (int i = 0; i < lines; ++i)
            text += std::to_string(i) + "\n";
        const char_lm::Corpus corpus = char_lm::make_corpus({{"text", text}}, false, true);
        CHECK(std::ssize(corpus.held_out) == held_out);
        CHECK(std::ssize(corpus.training) == lines - held_out);
    }
}

TEST_CASE("char_lm: the baseline of lines counts their end as a character", "[apps][char_lm]") {
    const int32_t sos = models::text::kSos, eos = models::text::kEos, a = models::text::kFirstFreeId,
                  b = a + 1;
    const char_lm::Corpus corpus = {
        models::text::learn_characters({"ab"}, true), true, {{sos, a, b, eos}}, {{sos, a, eos}}};
    // a, b or the end may follow. a begins the line that is known; the end has never followed a, but b has.
    const double expected = -(std::log((1 + 1) / (1.0 + 3)) + std::log((0 + 1) / (1.0 + 3))) / 2;
    const kit::Measured loss = char_lm::pair_table_loss(corpus);
    CHECK(loss.nats == Approx(expected));
    CHECK(loss.predictions == 2);
}
