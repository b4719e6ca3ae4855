// reverse_task, run as a user runs it.
#include <algorithm>
#include <cmath>
#include <map>

#include "autograd/base/real.h"
#include "models/presets.h"
#include "tests/apps/run.h"
#include "tests/catch.h"

using namespace plaingrad;  // NOLINT
using namespace tests;

namespace {

Result reverse_task(const Words& arguments, const With& with = {}) {
    return run("reverse_task", arguments, with);
}

// Small enough for every build.
const Words kSmall = {"--steps", "3", "--batch", "8"};

Words with_more(Words words, const Words& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

int number_before(const std::string& text, const std::string& mark) {
    const std::size_t at = text.find(mark), start = text.find_last_of(' ', at) + 1;
    return at == std::string::npos ? -1 : std::stoi(text.substr(start, at - start));
}

double mass(const Result& result) {
    const std::size_t at = result.out.rfind(" of its weight on the anti-diagonal");
    return at == std::string::npos
               ? NAN
               : std::stod(result.out.substr(result.out.rfind(' ', at - 1), std::string::npos));
}

// The words on both sides of "  1 2 3  ->  3 2 1".
std::pair<Words, Words> sides(const std::string& line) {
    std::pair<Words, Words> result;
    std::istringstream words(line);
    bool left = true;
    for (std::string word; words >> word;) {
        if (word == "->")
            left = false;
        else
            (left ? result.first : result.second).push_back(word);
    }
    return result;
}

// A wrong command line: status 2, nothing on standard output, one line that contains `part`.
void refused(const Words& arguments, const std::string& part) {
    const Result r = reverse_task(arguments);
    CAPTURE(arguments, r.err);
    CHECK(r.status == 2);
    CHECK(r.out.empty());
    CHECK(one_line(r.err, "reverse_task: "));
    CHECK(contains(r.err, part));
}

}  // namespace

TEST_CASE("a program prints its version, and its help names it as it was called", "[apps][kit]") {
    const Result version = run("reverse_task", {"--version"});
    CHECK(version.status == 0);
    CHECK(version.out == "reverse_task (plaingrad) " + std::string(autograd::version()) + "\n");
    if (std::getenv("PLAINGRAD_RUN") == nullptr || *std::getenv("PLAINGRAD_RUN") == '\0') {
        const Result help = run("reverse_task", {"--help"}, {.called = "plaingrad-reverse_task"});
        CHECK(contains(help.out, "usage: plaingrad-reverse_task [options]"));
        CHECK(contains(help.out, "\n  plaingrad-reverse_task 5 3 9\n"));
        CHECK_FALSE(contains(help.out, "./apps"));
        const Result wrong =
            run("reverse_task", {"--nothing"}, {.called = "/usr/bin/plaingrad-reverse_task"});
        CHECK(wrong.err.starts_with("plaingrad-reverse_task: unknown option '--nothing'"));
    }
}

TEST_CASE("reverse_task reverses 2000 unseen sequences, and the given one", "[apps][reverse_task]") {
    if (!fast_build())
        SKIP("a slow build takes too long");
    const Result r = reverse_task({"5", "3", "9"});
    INFO(r.out << r.err);
    CHECK(r.status == 0);
    const Words out = lines_of(r.out);
    const auto has = [&](const std::string& line) {
        return std::find(out.begin(), out.end(), line) != out.end();
    };
    CHECK(has("held-out sequences of 4 to 12 symbols, reversed without an error: 2000/2000"));
    CHECK(number_before(r.out, "/4368") >= 4100);
    CHECK(has("5 3 9  ->  9 3 5"));

    int examples = 0;
    for (const std::string& line : out) {
        if (!line.starts_with("  ") || !contains(line, "->"))
            continue;
        auto [source, target] = sides(line);
        CHECK(source.size() >= 4);
        CHECK(source.size() <= 12);
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
    CHECK(std::count_if(out.begin(), out.end(), [](const std::string& line) {
              return line.size() == 48 && line.find_first_not_of(".:+*# ") == std::string::npos;
          }) == 2 * 4);
    CHECK(has("        5  3  9"));
    for (const char* label : {"    9 ", "    3 ", "    5 ", "<eos> "})
        CHECK(std::count_if(out.begin(), out.end(),
                            [&](const std::string& line) { return line.starts_with(label); }) == 1);
    CHECK_FALSE(contains(r.out, "\033"));  // no colour in a file

    const Words err = lines_of(r.err);
    REQUIRE(err.size() == 16);  // what it runs on, memory; steps 1, 5, 100, ... 1200
    CHECK(err[0].starts_with("reverse_task: "));
    CHECK(contains(err[0], " parameters"));
    CHECK(losses(r).size() == 14);
    CHECK(losses(r)[0].starts_with("step    1/1200  loss "));
    CHECK(losses(r)[13].starts_with("step 1200/1200  loss 0.0"));
}

TEST_CASE("reverse_task shows the heads of all layers, as many in a row as fit", "[apps][reverse_task]") {
    const Result r = reverse_task(with_more(kSmall, {"--layers", "3", "--heads", "16", "--d-model", "16"}));
    INFO(r.out);
    std::size_t heads = 0;
    for (std::size_t at = r.out.find("head "); at != std::string::npos; at = r.out.find("head ", at + 1))
        heads +=
            std::isdigit(static_cast<unsigned char>(r.out[at + 5])) && contains(r.out.substr(at, 9), ":");
    CHECK(heads == 48);
    CHECK(contains(r.out, "\nlayer 2\nhead 1: "));
    CHECK(contains(r.out, "\n\nthe best head: layer "));
    for (const std::string& line : lines_of(r.out.substr(r.out.find("layer 1"))))
        CHECK(line.size() <= 80);
}

TEST_CASE("a head of reverse_task learns the anti-diagonal, whatever the seed",
          "[apps][reverse_task][slow]") {
    if (!fast_build())
        SKIP("a slow build takes too long");
    for (const char* seed : {"1", "2", "3", "4", "5"}) {
        const Result r = reverse_task({"--seed", seed, "--steps", "400", "--batch", "32"});
        CAPTURE(seed, mass(r));
        CHECK(mass(r) >= 0.45);
        CHECK(mass(r) <= 1);
    }
    // Without training there is no such head, so the bound can fail.
    CHECK(mass(reverse_task({"--steps", "1"})) < 0.3);
}

TEST_CASE("reverse_task: what a model answers that is no symbol is a question mark", "[apps][reverse_task]") {
    const Result r = reverse_task({"--steps", "1", "--d-model", "8", "--heads", "1", "1", "2", "3"});
    CHECK(contains(r.out, "?"));
    CHECK_FALSE(contains(r.out, " -1"));
}

TEST_CASE("reverse_task fails when sequences are wrong", "[apps][reverse_task]") {
    const Result r = reverse_task({"--steps", "2"});
    INFO(r.out << r.err);
    CHECK(r.status == 1);
    const int right = number_before(r.out, "/2000\n");
    CHECK(right >= 0);
    CHECK(right < 100);
    CHECK(lines_of(r.err).back() == "reverse_task: " + std::to_string(2000 - right) +
                                        " of 2000 held-out sequences came out wrong; more --steps may help");
}

TEST_CASE("the losses of reverse_task depend on the seed, and on nothing else", "[apps][reverse_task]") {
    const Words arguments = {"--steps",   "12", "--batch", "16", "--layers", "1",
                             "--d-model", "32", "--d-ff",  "64", "5",        "3"};
    const Result first = reverse_task(arguments);
    CAPTURE(first.err);
    REQUIRE(losses(first).size() == 3);
    const auto same = [&](const Result& r) {
        CHECK(losses(r) == losses(first));
        CHECK(r.out == first.out);  // counts, answers, attention
        CHECK(r.status == first.status);
    };
    same(reverse_task(arguments));
    for (const char* threads : {"1", "2", "3"}) {
        CAPTURE(threads);
        const Result r = reverse_task(with_more(arguments, {"--threads", threads}));
        same(r);
        CHECK(contains(r.err, std::string(" ") + threads + " thread"));
    }
    same(reverse_task(arguments, {.env = {"PLAINGRAD_THREADS=3"}}));

    // The error lists the instruction sets that this processor can run.
    const Result all = reverse_task(kSmall, {.env = {"PLAINGRAD_ISA=nonsense"}});
    CAPTURE(all.err);
    CHECK(contains(all.err, "baseline"));
    int tried = 0;
    for (const std::string isa : {"baseline", "avx2", "avx512", "neon"}) {
        if (!contains(all.err, isa))
            continue;
        CAPTURE(isa);
        const Result r = reverse_task(arguments, {.env = {"PLAINGRAD_ISA=" + isa, "PLAINGRAD_THREADS=1"}});
        CHECK(r.err.starts_with("reverse_task: " + isa + ", 1 thread, "));
        same(r);
        ++tried;
    }
    CHECK(tried >= 1);

    const Result other = reverse_task(with_more(arguments, {"--seed", "2"}));
    CHECK(losses(other).size() == 3);
    CHECK(losses(other)[0] != losses(first)[0]);
    CHECK(losses(other)[1] != losses(first)[1]);
    // The seed changes more than dropout: a model without dropout gets other sequences and losses, too.
    const auto example = [](const Result& r) { return sides(lines_of(r.out).at(4)).first; };
    CHECK(example(first).size() >= 4);
    CHECK(example(other) != example(first));
    const Words plain = with_more(kSmall, {"--preset", "notebook", "--d-model", "16", "--layers", "1"});
    CHECK(losses(reverse_task(with_more(plain, {"--seed", "3"})))[0] !=
          losses(reverse_task(with_more(plain, {"--seed", "4"})))[0]);
}

TEST_CASE("reverse_task refuses what is not a sequence of its symbols", "[apps][reverse_task]") {
    for (const char* word : {"16", "-1", "x", "", "1.5", "5x", "+5", " 5", "99999999999999999999"})
        refused({"5", word}, std::string("a symbol needs a whole number from 0 to 15: got '") + word + "'");
    refused(Words(13, "7"), "there are too many arguments: SYMBOL...; given: 7, 7");

    const Result longest = reverse_task(with_more(kSmall, Words(12, "15")));  // the longest, of the largest
    CHECK(longest.status == 1);
    CHECK(contains(longest.out, "\n15 15 15 15 15 15 15 15 15 15 15 15  ->  "));
    CHECK(contains(longest.out, "\n       15 15 15 15 15 15 15 15 15 15 15 15\n"));
    CHECK(contains(reverse_task(with_more(kSmall, {"--", "0"})).out, "\n0  ->  "));
}

TEST_CASE("reverse_task refuses wrong options with one line", "[apps][reverse_task]") {
    refused({"--nonsense"}, "unknown option '--nonsense'; ./apps/reverse_task --help lists them");
    refused({"-x"}, "unknown option '-x'");
    refused({"--a\nb"}, "unknown option '--a?b'");  // still one line
    refused({"--steps"}, "--steps needs a value: N");
    for (const char* bad : {"0", "-5", "x", "1e3", "12.0"})
        refused({"--steps", bad}, std::string("--steps needs a whole number of at least 1: got '") + bad);
    refused({"--steps", "99999999999999999999"}, "from 1 to 9223372036854775807");
    refused({"--batch=0"}, "--batch needs a whole number from 1 to 1048576: got '0'");
    for (const char* bad : {"-1", "2", "nan", "inf", "x", "0.1x"})
        refused({"--lr", bad}, std::string("--lr needs a number from 0 to 1: got '") + bad + "'");
    refused({"--seed", "-1"}, "--seed needs a whole number of at least 0: got '-1'");
    for (const char* bad : {"0", "1025", "x"})
        refused({"--threads", bad},
                std::string("--threads needs a whole number from 1 to 1024: got '") + bad + "'");
    refused({"--layers", "101"}, "--layers needs a whole number from 1 to 100");
    refused({"--preset", "nonsense"}, "--preset must be one of paper|article|notebook|blog|blog-scratch|");
    refused({"--lr", ""}, "--lr needs a value: X");
    refused({"--preset", ""}, "--preset needs a value: paper|article|");
    refused({"--positions", "nonsense"}, "--positions must be one of sinusoidal|learned: got 'nonsense'");
    refused({"--heads", "3"}, "--d-model 64 must be a multiple of --heads 3");
    refused({"--d-model", "30"}, "--d-model 30 must be a multiple of --heads 4");
}

TEST_CASE("reverse_task refuses a wrong environment with one line", "[apps][reverse_task]") {
    const std::map<std::string, std::string> wrong = {
        {"PLAINGRAD_ISA=nonsense", "unknown instruction set 'nonsense'; this processor can run "},
        {"PLAINGRAD_THREADS=0", "a whole number from 1 to 1024 is expected: got '0'"},
        {"PLAINGRAD_THREADS=x", "a whole number from 1 to 1024 is expected: got 'x'"},
        {"PLAINGRAD_THREADS=-2", "got '-2'"},
        {"PLAINGRAD_THREADS=2000", "got '2000'"}};
    for (const auto& [variable, part] : wrong) {
        const Result r = reverse_task(kSmall, {.env = {variable}});
        CAPTURE(variable, r.err);
        CHECK(r.status == 1);
        CHECK(r.out.empty());
        CHECK(one_line(r.err, "reverse_task: "));
        CHECK(contains(r.err, part));
    }
}

TEST_CASE("reverse_task takes sizes, presets and positions", "[apps][reverse_task]") {
    const auto first_line = [](const Words& words) {
        const Result r = reverse_task(with_more(kSmall, words));
        CAPTURE(words, r.err);
        CHECK(r.status == 1);  // not trained
        CHECK(contains(r.out, "anti-diagonal"));
        return lines_of(r.err).at(0);
    };
    const auto counts = [&](const Words& words, const std::string& parameters) {
        const std::string line = first_line(words);
        CAPTURE(line);
        CHECK(contains(line, ", " + parameters + " parameters"));
    };
    counts({}, "172,948");                             // learned positions: 2 tables of 13 x 64
    counts({"--positions", "sinusoidal"}, "171,284");  // without them
    counts({"--positions=learned", "--preset", "blog"}, "172,948");
    counts({"--preset", "blog-scratch"}, "237,332");  // 4 x 128 x 129 more in the feed-forwards
    counts({"--d-model", "16", "--heads", "2", "--d-ff", "32", "--layers", "1"}, "6,964");
}

TEST_CASE("reverse_task begins with a guess, whatever the preset", "[apps][reverse_task]") {
    for (const models::Preset& p : models::presets()) {
        const std::string& preset = p.name;
        const Result r = reverse_task({"--preset", preset, "--steps", "1", "--batch", "4", "--d-model", "64",
                                       "--heads", "4", "--d-ff", "64", "--layers", "1"});
        CAPTURE(preset, r.err);
        // A guess among 20 ids is ln 20 = 3.0; the logits differ a little.
        CHECK(number_after(r.err, "  loss ") < 6);
    }
}

TEST_CASE("reverse_task --help", "[apps][reverse_task]") {
    const Result r = reverse_task({"--help"});
    CHECK(r.status == 0);
    CHECK(r.err.empty());
    for (const char* option :
         {"SYMBOL...", "--steps N", "--batch N", "--lr X", "--preset ", "--positions ", "--d-model N",
          "--heads N", "--d-ff N", "--layers N", "--seed N", "--threads N", "--help", "training steps (1200)",
          "\n  ./apps/reverse_task\n", "\n  ./apps/reverse_task 5 3 9\n", "Exit status: 0"}) {
        CAPTURE(option);
        CHECK(contains(r.out, option));
    }
    CHECK(reverse_task({"-h"}).out == r.out);
    CHECK(reverse_task({"5", "--help", "--nonsense"}).status == 0);
    const Result full = reverse_task({"--help"}, {.out = "/dev/full"});
    CHECK(full.status == 1);
    CHECK(one_line(full.err, "reverse_task: the output could not be written"));
}

TEST_CASE("Ctrl-C ends reverse_task with status 130 and one line", "[apps][reverse_task]") {
    Running program("reverse_task", {"--steps", "100000000"});
    REQUIRE(program.says("step         1/100000000  loss "));
    program.interrupt();
    const Result r = program.wait();
    CAPTURE(r.err);
    CHECK(r.status == 130);
    CHECK(r.out.empty());
    CHECK(r.err.ends_with("\nreverse_task: interrupted\n"));
}

TEST_CASE("reverse_task says when its output cannot be written", "[apps][reverse_task]") {
    check_lost_output("reverse_task", kSmall);
    check_lost_output("reverse_task", {"--help"});
}
