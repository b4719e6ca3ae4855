// reverse_task, run as a user runs it.
#include <algorithm>
#include <cmath>

#include "models/presets.h"
#include "tests/apps/run.h"

using namespace plaingrad;  // NOLINT
using namespace tests;

namespace {

Result reverse_task(const std::string& words, const With& with = {}) {
    return run("reverse_task", words_of(words), with);
}

// Small enough for every build.
const std::string kSmall = "--steps 3 --batch 8 ";

int number_before(const std::string& text, const std::string& mark) {
    const std::size_t at = text.find(mark), start = text.find_last_of(' ', at) + 1;
    return at == std::string::npos ? -1 : std::stoi(text.substr(start, at - start));
}

double mass(const Result& result) {
    const std::size_t at = result.out.rfind(" of its weight on the anti-diagonal");
    return at == std::string::npos ? NAN : std::stod(result.out.substr(result.out.rfind(' ', at - 1)));
}

// The words on both sides of "  1 2 3  ->  3 2 1".
std::pair<Words, Words> sides(const std::string& line) {
    const std::size_t arrow = line.find("->");
    return {words_of(line.substr(0, arrow)), words_of(line.substr(arrow + 2))};
}

}  // namespace

TEST_CASE("reverse_task reverses 2000 unseen sequences, and the given one", "[apps][reverse_task]") {
    if (!fast_build())
        SKIP("a slow build takes too long");
    const Result r = must_run("reverse_task", {"5", "3", "9"});
    INFO(r.out << r.err);
    const Words out = lines_of(r.out);
    const auto lines = [&](const auto& are) { return std::count_if(out.begin(), out.end(), are); };
    const auto beginning_with = [&](const std::string& start) {
        return lines([&](const std::string& line) { return line.starts_with(start); });
    };
    CHECK(beginning_with("held-out sequences of 4 to 12 symbols, reversed without an error: 2000/2000") == 1);
    CHECK(number_before(r.out, "/4368") >= 4100);
    CHECK(beginning_with("5 3 9  ->  9 3 5") == 1);

    int examples = 0;
    for (const std::string& line : out) {
        if (!line.starts_with("  ") || !contains(line, "->"))
            continue;
        auto [source, target] = sides(line);
        CHECK((source.size() >= 4 && source.size() <= 12));
        std::reverse(target.begin(), target.end());
        CHECK(source == target);
        ++examples;
    }
    CHECK(examples == 4);

    CHECK(contains(r.out,
                   "Cross-attention for 5 3 9 (rows: what it writes, columns: the input)\n"
                   "for every head; the number is the share of its weight on the anti-diagonal\n\n"
                   "layer 1\nhead 1: 0."));
    CHECK(mass(r) >= 0.6);
    // All heads are there, of four lines each, and the one said to be the best is.
    double best = 0;
    for (const std::string& line : out)
        for (std::size_t at = line.find("head "); line.starts_with("head ") && at != std::string::npos;
             at = line.find("head ", at + 1))
            best = std::max(best, std::stod(line.substr(line.find(": ", at) + 2)));
    CHECK(best == mass(r));
    CHECK(lines([](const std::string& line) {
              return line.size() == 48 && line.find_first_not_of(".:+*# ") == std::string::npos;
          }) == 2 * 4);
    for (const char* label : {"        5  3  9", "    9 ", "    3 ", "    5 ", "<eos> "})
        CHECK(beginning_with(label) == 1);
    CHECK_FALSE(contains(r.out, "\033"));  // no colour in a file

    const Words err = lines_of(r.err);
    REQUIRE(err.size() == 16);  // what it runs on, memory; steps 1, 5, 100, ... 1200
    CHECK((err[0].starts_with("reverse_task: ") && contains(err[0], " parameters")));
    REQUIRE(losses(r).size() == 14);
    CHECK(losses(r)[0].starts_with("step    1/1200  loss "));
    CHECK(losses(r)[13].starts_with("step 1200/1200  loss 0.0"));
}

TEST_CASE("reverse_task shows the heads of all layers, as many in a row as fit", "[apps][reverse_task]") {
    const Result r = reverse_task(kSmall + "--layers 3 --heads 16 --d-model 16");
    int64_t heads = 0;
    for (int head = 1; head <= 16; ++head)
        heads += count_of(autograd::join("head ", head, ": "), r.out);
    CHECK(heads == 3 * 16);
    check_says(r.out, {"\nlayer 2\nhead 1: ", "\n\nthe best head: layer "});
    for (const std::string& line : lines_of(r.out.substr(r.out.find("layer 1"))))
        CHECK(line.size() <= 80);
}

TEST_CASE("a head of reverse_task learns the anti-diagonal of any seed", "[apps][reverse_task][slow]") {
    if (!fast_build())
        SKIP("a slow build takes too long");
    for (const std::string seed : {"1", "2", "3", "4", "5"}) {
        const Result r = reverse_task("--steps 400 --batch 32 --seed " + seed);
        CAPTURE(seed);
        CHECK(mass(r) >= 0.45);
        CHECK(mass(r) <= 1);
    }
    // Without training there is no such head, so the bound can fail.
    CHECK(mass(reverse_task("--steps 1")) < 0.3);
}

TEST_CASE("reverse_task that has learned little: status 1, and a question mark", "[apps][reverse_task]") {
    const Result r = reverse_task("--steps 2");
    CHECK(r.status == 1);
    const int right = number_before(r.out, "/2000\n");
    CHECK((right >= 0 && right < 100));
    CHECK(lines_of(r.err).back() == "reverse_task: " + std::to_string(2000 - right) +
                                        " of 2000 held-out sequences came out wrong; more --steps may help");
    const Result less = reverse_task("--steps 1 --d-model 8 --heads 1 1 2 3");
    CHECK(contains(less.out, "?"));
    CHECK_FALSE(contains(less.out, " -1"));
}

TEST_CASE("the losses of reverse_task depend on the seed, and on nothing else", "[apps][reverse_task]") {
    const std::string arguments = "--steps 12 --batch 16 --layers 1 --d-model 32 --d-ff 64 5 3 ";
    const Result first = reverse_task(arguments);
    REQUIRE(losses(first).size() == 3);
    const auto check_same = [&](const std::string& more, const std::string& variable,
                                const std::string& said) {
        const Result r = reverse_task(arguments + more, {.env = {variable}});
        CAPTURE(more, variable, r.err);
        CHECK(losses(r) == losses(first));
        CHECK(r.out == first.out);  // counts, answers, attention
        CHECK(r.status == first.status);
        CHECK(contains(r.err, said));
    };
    check_same("", "PLAINGRAD_THREADS=3", " 3 threads, ");
    check_same("--threads 2", "PLAINGRAD_THREADS=1", " 2 threads, ");
    // The error lists the instruction sets that this processor can run.
    const std::string sets = reverse_task(kSmall, {.env = {"PLAINGRAD_ISA=nonsense"}}).err;
    CHECK(contains(sets, "baseline"));
    for (const std::string isa : {"baseline", "avx2", "avx512", "neon"})
        if (contains(sets, isa))
            check_same("", "PLAINGRAD_ISA=" + isa, "reverse_task: " + isa + ", ");

    const Result other = reverse_task(arguments + "--seed 2");
    REQUIRE(losses(other).size() == 3);
    CHECK((losses(other)[0] != losses(first)[0] && losses(other)[1] != losses(first)[1]));
    // The seed changes more than dropout: the sequences, too.
    const auto example = [](const Result& r) { return sides(lines_of(r.out).at(4)).first; };
    CHECK(example(first).size() >= 4);
    CHECK(example(other) != example(first));
}

TEST_CASE("reverse_task reverses sequences of one to twelve of its symbols", "[apps][reverse_task]") {
    const Result longest = reverse_task(kSmall + repeated("15 ", 12));
    CHECK(longest.status == 1);
    check_says(longest.out, {"\n15 15 15 15 15 15 15 15 15 15 15 15  ->  ",
                             "\n       15 15 15 15 15 15 15 15 15 15 15 15\n"});
    CHECK(contains(reverse_task(kSmall + "-- 0").out, "\n0  ->  "));
}

TEST_CASE("reverse_task takes sizes, presets and positions", "[apps][reverse_task]") {
    for (const auto& [words, parameters] :
         {std::pair("", "172,948"),               // learned positions: 2 tables of 13 x 64
          {"--positions sinusoidal", "171,284"},  // without them
          {"--positions=learned --preset blog", "172,948"},
          {"--preset blog-scratch", "237,332"},  // 4 x 128 x 129 more in the feed-forwards
          {"--d-model 16 --heads 2 --d-ff 32 --layers 1", "6,964"}}) {
        const Result r = reverse_task(kSmall + words);
        CAPTURE(words, r.err);
        CHECK(r.status == 1);  // not trained
        CHECK(contains(r.out, "anti-diagonal"));
        CHECK(contains(lines_of(r.err).at(0), std::string(", ") + parameters + " parameters"));
    }
    for (const models::Preset& preset : models::presets()) {
        const Result r = reverse_task(
            "--steps 1 --batch 4 --d-model 64 --heads 4 --d-ff 64 --layers 1 --preset " + preset.name);
        CAPTURE(preset.name, r.err);
        CHECK(number_after(r.err, "  loss ") < 6);  // a guess among 20 ids: ln 20 = 3.0, or a little more
    }
}
