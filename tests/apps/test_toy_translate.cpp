// toy_translate, run as a user runs it: training, translating, options.
#include <algorithm>

#include "tests/apps/programs.h"
#include "tests/apps/run.h"
#include "tests/catch.h"

using namespace plaingrad;  // NOLINT
using namespace tests;

namespace {

Result toy_translate(const Words& arguments, const With& with = {}) {
    return run("toy_translate", arguments, with);
}

bool has_line(const Result& r, const std::string& line) {
    const Words lines = lines_of(r.out);
    return std::find(lines.begin(), lines.end(), line) != lines.end();
}

// The lines after the "N/N sentences translated correctly".
Words answers(const Result& r) {
    const Words lines = lines_of(r.out);
    const auto last = std::find_if(lines.begin(), lines.end(), [](const std::string& line) {
        return line.ends_with(" sentences translated correctly");
    });
    return last == lines.end() ? Words{"no summary"} : Words(last + 1, lines.end());
}

// A wrong command line: status 2, nothing on standard output, one line that contains `part`.
void refused(const Words& arguments, const std::string& part) {
    const Result r = toy_translate(arguments);
    CAPTURE(arguments, r.err);
    CHECK(r.status == 2);
    CHECK(r.out.empty());
    CHECK(one_line(r.err, "toy_translate: "));
    CHECK(contains(r.err, part));
}

// Learns the French sentences in a moment, in every build.
const Words kFrench = {"--preset", "blog", "--epochs", "60"};

Words french(const Words& more) { return joined(kFrench, more); }

}  // namespace

TEST_CASE("toy_translate: --plain computes in other steps and learns the same",
          "[apps][toy_translate][plain]") {
    const Folder folder;
    const auto log_of = [&](const Words& more) {  // "6,1.717998,..."
        const std::string run = folder / (more.empty() ? "fused" : "plain");
        const Result r = toy_translate(french(joined({"--save", run}, more)));
        INFO(r.err);
        CHECK(contains(r.out, "5/5 sentences translated correctly"));
        return lines_of(content(run + "/log.csv"));
    };
    const Words fused = log_of({}), plain = log_of({"--plain"});
    REQUIRE((fused.size() == 61 && plain.size() == 61));
    for (std::size_t i = 1; i < fused.size(); ++i)
        CHECK(number_after(plain[i], ",") == Approx(number_after(fused[i], ",")).epsilon(5e-4));
}

TEST_CASE("toy_translate learns five French sentences", "[apps][toy_translate]") {
    if (!fast_build())
        SKIP("a slow build takes too long");
    const Result r = toy_translate({});
    INFO(r.out << r.err);
    CHECK(r.status == 0);
    CHECK(r.out.starts_with("loss 3."));
    CHECK(has_line(r, "  ok     hello world  ->  bonjour le monde"));
    CHECK(has_line(r, "  ok     how are you  ->  comment ça va"));
    CHECK(has_line(r, "  ok     good morning  ->  bonjour"));
    CHECK(has_line(r, "  ok     thank you  ->  merci"));
    CHECK(has_line(r, "  ok     see you soon  ->  à bientôt"));
    CHECK(has_line(r, "5/5 sentences translated correctly"));
    CHECK(answers(r).empty());
    CHECK(lines_of(r.err).size() == 5);  // what it runs on, memory; steps 1, 5, 100
    CHECK(lines_of(r.err)[0].starts_with("toy_translate: "));
    CHECK(losses(r).size() == 3);
}

TEST_CASE("toy_translate learns six Spanish sentences, and shows unseen ones", "[apps][toy_translate]") {
    if (!fast_build())
        SKIP("a slow build takes too long");
    const Result r = toy_translate({"--pairs", "en-es", "the cat is black"});
    INFO(r.out << r.err);
    CHECK(r.status == 0);
    CHECK(has_line(r, "  ok     hello world  ->  hola mundo"));
    CHECK(has_line(r, "  ok     i love you  ->  te amo"));
    CHECK(has_line(r, "  ok     the cat is black  ->  el gato es negro"));
    CHECK(has_line(r, "  ok     good morning  ->  buenos dias"));
    CHECK(has_line(r, "  ok     this is a book  ->  este es un libro"));
    CHECK(has_line(r, "  ok     what is your name  ->  como te llamas"));
    CHECK(has_line(r, "6/6 sentences translated correctly"));
    const Words rest = answers(r);
    REQUIRE(rest.size() == 5);
    CHECK(rest[0].empty());
    CHECK(rest[1] == "never seen:");
    CHECK(rest[2].starts_with("  i love cat  ->  "));
    CHECK(rest[2].size() > std::string("  i love cat  ->  ").size());
    CHECK(rest[3].starts_with("  this is a cat  ->  "));
    CHECK(rest[3].size() > std::string("  this is a cat  ->  ").size());
    CHECK(rest[4] == "el gato es negro");
}

TEST_CASE("the presets of toy_translate learn to translate", "[apps][toy_translate]") {
    Words presets = {"blog"};
    if (fast_build())
        presets = {"blog", "blog-scratch", "notebook"};
    Words first;
    for (const std::string& preset : presets) {
        const Result r = toy_translate({"--preset", preset, "hello world"});
        CAPTURE(preset, r.out, r.err);
        CHECK(r.status == 0);
        CHECK(has_line(r, "5/5 sentences translated correctly"));
        CHECK(answers(r) == Words{"bonjour le monde"});
        first.push_back(losses(r).at(0));
    }
    std::sort(first.begin(), first.end());
    CHECK(std::unique(first.begin(), first.end()) == first.end());  // they are different models
}

// 44 million parameters, 100 times: 20 seconds, more on a busy machine.
TEST_CASE("toy_translate with chapter at its full size", "[.][slow][apps][toy_translate]") {
    const Result r = toy_translate({"--preset", "chapter", "--pairs", "en-es", "--beam", "3"});
    INFO(r.out << r.err);
    CHECK(r.status == 0);
    CHECK(has_line(r, "6/6 sentences translated correctly"));
}

TEST_CASE("toy_translate translates its arguments", "[apps][toy_translate]") {
    const Words three = {"see you soon", "  thank\tyou ", "good morning"};
    const Words expected = {"à bientôt", "merci", "bonjour"};
    for (const char* beam : {"1", "5"}) {
        const Result r = toy_translate(french({"--beam", beam, three[0], three[1], three[2]}));
        CAPTURE(beam, r.out, r.err);
        CHECK(r.status == 0);
        CHECK(answers(r) == expected);
    }
    // Standard input is not read then.
    CHECK(answers(toy_translate(french({"thank you"}), {.input = "good morning\n"})) == Words{"merci"});
    // A sentence that looks like an option follows --.
    const Result dashes = toy_translate(french({"--", "--beam"}));
    CHECK(dashes.status == 0);
    CHECK(contains(dashes.err, "unknown words: \"--beam\"; known words: "));

    const Result utf16 = toy_translate(french({"thank you", "h\xe9llo"}));
    CHECK(utf16.status == 1);
    CHECK(answers(utf16) == Words{"merci"});
    CHECK(contains(utf16.err, "\ntoy_translate: the command line: byte 2 of this line is not UTF-8"));
}

TEST_CASE("toy_translate goes on after a line that is no text", "[apps][toy_translate]") {
    const Result r = toy_translate(french({}), {.input = "thank you\n\xff\xfe\ngood morning\n"});
    CAPTURE(r.err);
    CHECK(r.status == 0);
    CHECK(contains(r.err, "standard input:2: bytes that are not text, read as U+FFFD: 2"));
    REQUIRE(answers(r).size() == 3);
    CHECK(answers(r)[0] == "merci");
    CHECK(answers(r)[2] == "bonjour");
}

TEST_CASE("toy_translate translates standard input", "[apps][toy_translate]") {
    const Result r =
        toy_translate(french({}), {.input = "\xef\xbb\xbfthank you\r\n\nsee you soon\n   \ngood zebra\n"
                                            "quagga \xc3\xa9t\xc3\xa9\ngood morning"});
    INFO(r.out << r.err);
    CHECK(r.status == 0);
    const Words out = answers(r);
    REQUIRE(out.size() == 7);  // one for each line, in order
    CHECK(out[0] == "merci");
    CHECK(out[1].empty());
    CHECK(out[2] == "à bientôt");
    CHECK(out[3].empty());
    CHECK(out[6] == "bonjour");
    const Words err = lines_of(r.err);
    const std::string known = "; known words: hello world how are you good morning thank see soon";
    CHECK(Words(err.end() - 2, err.end()) ==
          Words{"toy_translate: unknown words: \"zebra\"" + known,
                "toy_translate: unknown words: \"quagga\", \"été\"" + known});
    CHECK_FALSE(contains("\n" + r.out + r.err, "\n>"));  // no prompt in a pipe

    const Result nul = toy_translate(french({}), {.input = std::string("a\0b\n", 4)});
    CHECK(nul.status == 1);
    CHECK(lines_of(nul.err).back().starts_with("toy_translate: standard input:1: this line contains a NUL "));

    std::string words;
    for (int i = 0; i < 600; ++i)
        words += "you ";
    const Result lengthy = toy_translate(french({}), {.input = "thank you\n" + words + "\n"});
    CHECK(lengthy.status == 1);
    CHECK(answers(lengthy) == Words{"merci"});
    CHECK(
        lines_of(lengthy.err).back() ==
        "toy_translate: standard input:2: a sentence of 600 words is longer than this model's limit of 512");
}

TEST_CASE("toy_translate --n shows several translations with their scores", "[apps][toy_translate]") {
    const Result r = toy_translate(french({"--n", "3", "--beam", "4", "thank you"}));
    INFO(r.out << r.err);
    CHECK(r.status == 0);
    const Words out = answers(r);
    REQUIRE(out.size() == 3);
    CHECK(out[0].starts_with("merci  (-"));
    double before = 0;
    for (const std::string& line : out) {
        const double score = std::stod(line.substr(line.find('(') + 1));
        CHECK(score < before);  // log probabilities, the best first
        before = score;
    }
    Words unscored = {out[0].substr(0, out[0].find("  (")), out[1].substr(0, out[1].find("  (")),
                      out[2].substr(0, out[2].find("  ("))};
    std::sort(unscored.begin(), unscored.end());
    CHECK(std::unique(unscored.begin(), unscored.end()) == unscored.end());
}

TEST_CASE("toy_translate: a resumed run searches as its own options say", "[apps][toy_translate]") {
    const Folder folder;
    const std::string run = folder / "run";
    CHECK(toy_translate(french({"--save", run, "--stop-after", "30", "--beam", "2"})).status == 0);
    const auto found = [](const Words& begin, const Words& more) {
        return answers(toy_translate(joined(joined(begin, {"thank you"}), more)));
    };
    const Words wide = {"--beam", "5", "--n", "5"}, plain = joined(wide, {"--alpha", "0"}),
                usual = {"--n", "3"}, again = {"--resume", run};
    const Words of_wide = found(kFrench, wide), of_plain = found(kFrench, plain),
                three = found(kFrench, usual);
    REQUIRE((of_wide.size() == 5 && of_plain.size() == 5 && three.size() == 3));
    CHECK(of_wide != of_plain);
    const Result rest = toy_translate(joined(again, joined(wide, {"thank you"})));
    CHECK(answers(rest) == of_wide);
    CHECK(contains(rest.out, " at the resumed start, "));
    CHECK(found(again, plain) == of_plain);
    CHECK(found(again, usual) == three);  // the usual width: that of the first call is forgotten
}

TEST_CASE("the losses of toy_translate depend on the seed, and on nothing else", "[apps][toy_translate]") {
    const Words arguments = {"--preset", "blog", "--epochs", "10", "hello you", "--seed"};
    const auto seeded = [&](const char* seed, const char* env) {
        Words words = arguments;
        words.push_back(seed);
        return toy_translate(words, {.env = {env}});
    };
    const Result first = seeded("7", "PLAINGRAD_THREADS=1");
    INFO(first.err);
    CHECK(losses(first).size() == 3);
    for (const char* env : {"PLAINGRAD_THREADS=1", "PLAINGRAD_THREADS=3", "PLAINGRAD_ISA=baseline"}) {
        const Result again = seeded("7", env);
        CAPTURE(env);
        CHECK(losses(again) == losses(first));
        CHECK(again.out == first.out);
    }
    const Result other = seeded("8", "PLAINGRAD_THREADS=1");
    CHECK(losses(other).size() == 3);
    CHECK(losses(other)[0] != losses(first)[0]);
}

TEST_CASE("toy_translate fails when a sentence is wrong", "[apps][toy_translate]") {
    const Result r = toy_translate({"--preset", "blog", "--epochs", "1"});
    CHECK(r.status == 1);
    CHECK(contains(r.out, "  WRONG  hello world  ->  "));
    CHECK(contains(r.out, "0/5 sentences translated correctly\n"));
    CHECK(lines_of(r.err).back() ==
          "toy_translate: not all sentences came out right; more --epochs may help");
}

TEST_CASE("toy_translate refuses wrong options with one line", "[apps][toy_translate]") {
    refused({"--nonsense"}, "unknown option '--nonsense'; ./apps/toy_translate --help lists them");
    refused({"--pairs"}, "--pairs needs a value: en-fr|en-es|FILE");
    refused({"--pairs", ""}, "--pairs needs a value: en-fr|en-es|FILE");  // and not the built-in sentences
    refused({"--preset", "big"}, "--preset must be one of paper|article|notebook|blog|blog-scratch|summary|");
    refused({"--epochs", "0"}, "--epochs needs a whole number from 1 to 1000000000: got '0'");
    refused({"--epochs", "9223372036854775807"}, "--epochs needs a whole number from 1 to 1000000000");
    refused({"--lr", "two"}, "--lr needs a number from 0 to 1: got 'two'");
    refused({"--beam", "0"}, "--beam needs a whole number from 1 to 1000: got '0'");
    refused({"--n", "0"}, "--n needs a whole number from 1 to 1000: got '0'");
    refused({"--n", "4"}, "--n 4 must not be larger than --beam 3");
    refused({"--n=2", "--beam=1"}, "--n 2 must not be larger than --beam 1");
    refused({"--alpha", "-0.5"}, "--alpha needs a number from 0 to 10: got '-0.5'");
    refused({"--threads", "0"}, "--threads needs a whole number from 1 to 1024: got '0'");
}

TEST_CASE("toy_translate --help", "[apps][toy_translate]") {
    const Result r = toy_translate({"--help"});
    CHECK(r.status == 0);
    CHECK(r.err.empty());
    for (const char* option :
         {"SENTENCE...", "--pairs en-fr|en-es|FILE", "--preset ", "--epochs N", "--lr X", "--beam N", "--n N",
          "--alpha X", "--seed N", "--threads N", "--help", "\n  ./apps/toy_translate\n",
          "\n  ./apps/toy_translate --pairs en-es \"the cat is black\"\n      el gato es negro\n"}) {
        CAPTURE(option);
        CHECK(contains(r.out, option));
    }
}

TEST_CASE("toy_translate says when its output cannot be written", "[apps][toy_translate]") {
    check_lost_output("toy_translate", french({"thank you"}));
    // When nobody reads the answers, the program does not read the rest of the questions.
    std::string questions;
    for (int i = 0; i < 2000000; ++i)
        questions += "thank you\n";
    CHECK(toy_translate(french({}), {.input = questions, .env = {}, .no_reader = true}).status ==
          128 + SIGPIPE);
}
