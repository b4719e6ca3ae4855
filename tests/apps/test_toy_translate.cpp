// toy_translate, run as a user runs it: training, translating, files of pairs.
#include <unistd.h>

#include <algorithm>

#include "tests/apps/run.h"

using namespace plaingrad;  // NOLINT
using namespace tests;

namespace {

// The lines after the "N/N sentences translated correctly".
Words answers(const Result& r) {
    const Words lines = lines_of(r.out);
    const auto last = std::find_if(lines.begin(), lines.end(), [](const std::string& line) {
        return line.ends_with(" sentences translated correctly");
    });
    return last == lines.end() ? Words{"no summary"} : Words(last + 1, lines.end());
}

// Learns the French sentences in a moment, in every build.
const std::string kFrench = "toy_translate --preset blog --epochs 60 ";

struct Toy : Place {
    Result learn(const std::string& pairs, const std::string& more) const {
        write("pairs", pairs);
        return (*this)("toy_translate --preset blog --pairs pairs " + more);
    }
};

const std::string kGood = "the dog\tder hund\nthe cat\tdie katze\n";

}  // namespace

TEST_CASE("toy_translate learns five French and six Spanish sentences", "[apps][toy_translate]") {
    if (!fast_build())
        SKIP("a slow build takes too long");
    const Result fr = must_run("toy_translate", {});
    CHECK(fr.out.starts_with("loss 3."));
    check_says(fr.out, {"\n  ok     hello world  ->  bonjour le monde\n"
                        "  ok     how are you  ->  comment ça va\n"
                        "  ok     good morning  ->  bonjour\n"
                        "  ok     thank you  ->  merci\n"
                        "  ok     see you soon  ->  à bientôt\n"
                        "5/5 sentences translated correctly\n"});
    CHECK(answers(fr).empty());
    CHECK(lines_of(fr.err).size() == 5);  // what it runs on, memory; steps 1, 5, 100
    CHECK(fr.err.starts_with("toy_translate: "));
    CHECK(losses(fr).size() == 3);

    const Result es = must_run("toy_translate", {"--pairs", "en-es", "the cat is black"});
    check_says(
        es.out,
        {"\n  ok     hello world  ->  hola mundo\n", "\n  ok     i love you  ->  te amo\n",
         "\n  ok     the cat is black  ->  el gato es negro\n", "\n  ok     good morning  ->  buenos dias\n",
         "\n  ok     this is a book  ->  este es un libro\n",
         "\n  ok     what is your name  ->  como te llamas\n", "\n6/6 sentences translated correctly\n"});
    const Words rest = answers(es);
    REQUIRE(rest.size() == 5);
    CHECK((rest[0].empty() && rest[1] == "never seen:"));
    for (const auto& [line, start] :
         {std::pair(rest[2], std::string("  i love cat  ->  ")), {rest[3], "  this is a cat  ->  "}})
        CHECK((line.starts_with(start) && line.size() > start.size()));
    CHECK(rest[4] == "el gato es negro");
}

// 44 million parameters, 100 times: 20 seconds, more on a busy machine.
TEST_CASE("toy_translate with chapter at its full size", "[.][slow][apps][toy_translate]") {
    const Words chapter = {"--preset", "chapter", "--pairs", "en-es", "--beam", "3"};
    CHECK(contains(must_run("toy_translate", chapter).out, "\n6/6 sentences translated correctly\n"));
}

TEST_CASE("toy_translate translates its arguments", "[apps][toy_translate]") {
    const Place here;
    for (const std::string beam : {"1", "5"}) {
        const Result r = here.must(kFrench + "'see you soon' '  thank\tyou ' 'good morning' --beam " + beam);
        CHECK(answers(r) == Words{"à bientôt", "merci", "bonjour"});
    }
    // Standard input is not read then.
    CHECK(answers(here(kFrench + "'thank you'", {.input = "good morning\n"})) == Words{"merci"});
    // A sentence that looks like an option follows --.
    check_says(here.must(kFrench + "-- --beam").err, {"unknown words: \"--beam\"; known words: "});
    const Result latin = here(kFrench + "'thank you' h\xe9llo");
    CHECK(latin.status == 1);
    CHECK(answers(latin) == Words{"merci"});
    check_says(latin.err, {"\ntoy_translate: the command line: byte 2 of this line is not UTF-8"});
}

TEST_CASE("toy_translate translates standard input, a line for each", "[apps][toy_translate]") {
    const Place here;
    const Result r = here.must(kFrench, {.input = "\xef\xbb\xbfthank you\r\n\nsee you soon\n   \ngood zebra\n"
                                                  "quagga \xc3\xa9t\xc3\xa9\n\xff\xfe\ngood morning"});
    const Words out = answers(r), err = lines_of(r.err);
    REQUIRE(out.size() == 8);
    CHECK(Words(out.begin(), out.begin() + 4) == Words{"merci", "", "à bientôt", ""});
    CHECK(out[7] == "bonjour");
    const std::string known = "; known words: hello world how are you good morning thank see soon";
    check_says(r.err, {"\ntoy_translate: unknown words: \"zebra\"" + known + "\n",
                       "\ntoy_translate: unknown words: \"quagga\", \"été\"" + known + "\n",
                       "standard input:7: bytes that are not text, read as U+FFFD: 2"});
    CHECK_FALSE(contains("\n" + r.out + r.err, "\n>"));  // no prompt in a pipe

    for (const auto& [line, error] : {std::pair(std::string("a\0b\n", 4), "this line contains a NUL "),
                                      {repeated("you ", 600) + "\n",
                                       "a sentence of 600 words is longer than this model's limit of 512"}}) {
        const Result bad = here(kFrench, {.input = "thank you\n" + line});
        CHECK(bad.status == 1);
        CHECK(answers(bad) == Words{"merci"});
        CHECK(lines_of(bad.err).back().starts_with(std::string("toy_translate: standard input:2: ") + error));
    }
}

TEST_CASE("toy_translate: a resumed run searches as its own options say", "[apps][toy_translate]") {
    const Place here;
    here.must(kFrench + "--save run --stop-after 30 --beam 2");
    const std::string wide = "'thank you' --beam 5 --n 5", plain = wide + " --alpha 0",
                      usual = "'thank you' --n 3";  // the usual width: that of the first call is forgotten
    const auto whole = [&](const std::string& search) { return answers(here(kFrench + search)); };
    REQUIRE((whole(wide).size() == 5 && whole(plain).size() == 5 && whole(usual).size() == 3));
    CHECK(whole(wide) != whole(plain));
    for (const std::string& search : {wide, plain, usual}) {
        const Result rest = here.must("toy_translate --resume run " + search);
        CHECK(answers(rest) == whole(search));
        CHECK(contains(rest.out, " at the resumed start, ") == (search == wide));  // it has ended then
    }
}

TEST_CASE("toy_translate fails when a sentence is wrong", "[apps][toy_translate]") {
    const Result r = run("toy_translate", {"--preset", "blog", "--epochs", "1"});
    CHECK(r.status == 1);
    check_says(r.out, {"  WRONG  hello world  ->  ", "0/5 sentences translated correctly\n"});
    CHECK(r.err.ends_with("\ntoy_translate: not all sentences came out right; more --epochs may help\n"));
}

TEST_CASE("toy_translate learns from a file, whatever its line ends", "[apps][data]") {
    const std::string text = "\xef\xbb\xbf\n  \nthe  dog \t der hund\r\n\r\nthe cat\tdie katze";
    const Result r = Toy().learn(text, "'the dog' 'the cat'");
    CHECK(r.status == 0);
    check_says(r.out, {"\n  ok     the dog  ->  der hund\n  ok     the cat  ->  die katze\n"
                       "2/2 sentences translated correctly\nder hund\ndie katze\n"});
    CHECK_FALSE((contains(r.out, "\r") || contains(r.err, "unknown")));
}

// tests/models/text/test_parallel.cpp and test_lines.cpp have more of what may be wrong with a file.
TEST_CASE("toy_translate says what is wrong with a file, and where", "[apps][data]") {
    const Place here;
    const std::string long_text = repeated("word ", 100'000),
                      too_long = ": a sentence of 100000 words; at most 2000 are possible; each line is one";
    here.write("line", kGood + "no tab\n"), here.write("source", "a\tb\n\n" + long_text + "\tb\n");
    here.write("target", "a\t" + long_text + "\n");
    std::filesystem::permissions(here.write("secret", kGood), std::filesystem::perms::none);
    std::vector<std::string> errors = {"missing: cannot be opened: No such file or directory",
                                       "line:3: there is no tab; a line must be source<TAB>target",
                                       "source:3" + too_long, "target:1" + too_long};
    if (geteuid() != 0)  // who may read everything
        errors.emplace_back("secret: cannot be opened: Permission denied");
    for (const std::string& error : errors)
        here.refuses({{"toy_translate --epochs 1 --pairs " + error.substr(0, error.find(':')), 1, error}});
}

TEST_CASE("toy_translate: reserved, unknown, and upper-case words", "[apps][data]") {
    const Toy here;
    check_says(here.learn("a\tb\nc\t<unk> d\n", "a").err,
               {"no word may be <pad>, <sos>, <eos> or <unk>, which are reserved\n"});
    check_says(here.learn(kGood, "--epochs 1 <eos>").err,
               {"toy_translate: unknown words: \"<eos>\"; known words: "});
    // A word that it knows stays as it is, also if it knows it in lower case.
    CHECK(answers(here.learn("Polish\tpolnisch\npolish\tpolieren\n", "Polish polish POLISH")) ==
          Words{"polnisch", "polieren", "polieren"});
    // On the page about a run, names in <> are those of special tokens.
    CHECK(answers(here.learn("<a>\tx\n<b>\ty\n", "--save run <a>")) == Words{"x"});
}

TEST_CASE("toy_translate learns from one pair, from long ones, and from many", "[apps][data]") {
    const Toy here;
    CHECK(contains(here.learn("a b\tc d e\n", "'a b'").out, "1/1 sentences translated correctly\nc d e\n"));
    std::string many;
    for (int i = 0; i < 200; ++i)
        many += "w" + std::to_string(i) + " x\tv" + std::to_string(i) + "\n";
    const Result r = here.learn(many, "--epochs 3 w7");
    CHECK(r.status == 0);                                      // the user's own pairs may be hard
    CHECK(losses(r).back().starts_with("step 12/12  loss "));  // three epochs of 64 + 64 + 64 + 8
    CHECK(contains(r.out, "/200 sentences translated correctly\n"));
    CHECK(count_of("  ->  ", r.out) == 20);

    // A sentence longer than the preset's maximum, also chapter's 20.
    const std::string words = repeated("w0 w1 w2 w3 w4 w5 ", 100);
    const Result sentence = here.learn(words + "\t" + words + "\nw1\tw1\n", "--epochs 1 --beam 1 w1");
    CHECK(sentence.status == 0);
    CHECK(contains(sentence.out, "/2 sentences translated correctly\n"));
}

TEST_CASE("toy_translate learns each of many pairs once in an epoch", "[apps][data]") {
    const Toy here;
    std::string many;
    for (int i = 0; i < 66; ++i)
        many += "w" + std::to_string(i) + " x\tv" + std::to_string(i) + "\n";
    // Without dropout, and with a rate that changes no weight, a pair always has the same loss.
    CHECK(here.learn(many, "--preset notebook --lr 1e-30 --epochs 5 --save run --stop-after 8").status == 0);
    const Words rows = lines_of(content(here / "run/log.csv"));
    REQUIRE(rows.size() == 1 + 8);
    const auto loss = [&](std::size_t step) { return std::stod(fields(rows[step], ',').at(1)); };
    int others = 0;
    for (std::size_t step = 3; step < rows.size(); step += 2) {  // batches of 64 pairs, and of 2
        CHECK(64 * loss(step) + 2 * loss(step + 1) == Approx(64 * loss(1) + 2 * loss(2)).epsilon(1e-5));
        others += loss(step + 1) != loss(2);
    }
    CHECK(others > 0);
}
