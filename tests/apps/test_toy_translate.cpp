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
const Words kFrench = {"--preset", "blog", "--epochs", "60"};

Result french(const Words& more, const With& with = {}) {
    return run("toy_translate", joined(kFrench, more), with);
}

const std::string kGood = "the dog\tder hund\nthe cat\tdie katze\n";

Result learn(const std::string& file, const Words& more) {
    return run("toy_translate", joined({"--preset", "blog", "--pairs", file}, more));
}

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
    for (const char* beam : {"1", "5"}) {
        const Result r = french({"--beam", beam, "see you soon", "  thank\tyou ", "good morning"});
        CHECK(r.status == 0);
        CHECK(answers(r) == Words{"à bientôt", "merci", "bonjour"});
    }
    // Standard input is not read then.
    CHECK(answers(french({"thank you"}, {.input = "good morning\n"})) == Words{"merci"});
    // A sentence that looks like an option follows --.
    const Result dashes = french({"--", "--beam"});
    CHECK(dashes.status == 0);
    check_says(dashes.err, {"unknown words: \"--beam\"; known words: "});
    const Result latin = french({"thank you", "h\xe9llo"});
    CHECK(latin.status == 1);
    CHECK(answers(latin) == Words{"merci"});
    check_says(latin.err, {"\ntoy_translate: the command line: byte 2 of this line is not UTF-8"});
}

TEST_CASE("toy_translate translates standard input, a line for each", "[apps][toy_translate]") {
    const Result r = french({}, {.input = "\xef\xbb\xbfthank you\r\n\nsee you soon\n   \ngood zebra\n"
                                          "quagga \xc3\xa9t\xc3\xa9\n\xff\xfe\ngood morning"});
    INFO(r.out << r.err);
    CHECK(r.status == 0);
    const Words out = answers(r), err = lines_of(r.err);
    REQUIRE(out.size() == 8);
    CHECK(Words(out.begin(), out.begin() + 4) == Words{"merci", "", "à bientôt", ""});
    CHECK(out[7] == "bonjour");
    const std::string known = "; known words: hello world how are you good morning thank see soon";
    check_says(r.err, {"\ntoy_translate: unknown words: \"zebra\"" + known + "\n",
                       "\ntoy_translate: unknown words: \"quagga\", \"été\"" + known + "\n",
                       "standard input:7: bytes that are not text, read as U+FFFD: 2"});
    CHECK_FALSE(contains("\n" + r.out + r.err, "\n>"));  // no prompt in a pipe

    const std::string start = "toy_translate: standard input:";
    for (const auto& [line, error] :
         {std::pair(std::string("a\0b\n", 4), start + "2: this line contains a NUL "),
          {repeated("you ", 600) + "\n",
           start + "2: a sentence of 600 words is longer than this model's limit of 512"}}) {
        const Result bad = french({}, {.input = "thank you\n" + line});
        CHECK(bad.status == 1);
        CHECK(answers(bad) == Words{"merci"});
        CHECK(lines_of(bad.err).back().starts_with(error));
    }
}

TEST_CASE("toy_translate: a resumed run searches as its own options say", "[apps][toy_translate]") {
    const Folder folder;
    const std::string run = folder / "run";
    CHECK(french({"--save", run, "--stop-after", "30", "--beam", "2"}).status == 0);
    const Words wide = {"--beam", "5", "--n", "5"}, plain = joined(wide, {"--alpha", "0"}),
                usual = {"--n", "3"};  // the usual width: that of the first call is forgotten
    const auto whole = [](const Words& search) { return answers(french(joined(search, {"thank you"}))); };
    const auto resumed = [&](const Words& search) {
        return must_run("toy_translate", joined({"--resume", run, "thank you"}, search));
    };
    REQUIRE((whole(wide).size() == 5 && whole(plain).size() == 5 && whole(usual).size() == 3));
    CHECK(whole(wide) != whole(plain));
    const Result rest = resumed(wide);
    CHECK(answers(rest) == whole(wide));
    CHECK(contains(rest.out, " at the resumed start, "));
    CHECK(answers(resumed(plain)) == whole(plain));
    CHECK(answers(resumed(usual)) == whole(usual));
}

TEST_CASE("toy_translate fails when a sentence is wrong", "[apps][toy_translate]") {
    const Result r = french({"--epochs", "1"});
    CHECK(r.status == 1);
    check_says(r.out, {"  WRONG  hello world  ->  ", "0/5 sentences translated correctly\n"});
    CHECK(r.err.ends_with("\ntoy_translate: not all sentences came out right; more --epochs may help\n"));
}

TEST_CASE("toy_translate learns from a file, whatever its line ends", "[apps][data]") {
    const Folder folder;
    const std::string text = "\xef\xbb\xbf\n  \nthe  dog \t der hund\r\n\r\nthe cat\tdie katze";
    const Result r = learn(folder.write("pairs.tsv", text), {"the dog", "the cat"});
    CHECK(r.status == 0);
    check_says(r.out, {"\n  ok     the dog  ->  der hund\n  ok     the cat  ->  die katze\n"
                       "2/2 sentences translated correctly\nder hund\ndie katze\n"});
    CHECK_FALSE((contains(r.out, "\r") || contains(r.err, "unknown")));
}

// tests/models/text/test_parallel.cpp has more of what may be wrong with a line.
TEST_CASE("toy_translate says what is wrong with a file, and where", "[apps][data]") {
    const Folder folder;
    const std::string long_text = repeated("word ", 100'000),
                      too_long = ": a sentence of 100000 words; at most 2000 are possible; each line is one";
    std::vector<std::pair<std::string, std::string>> table = {
        {folder / "missing.tsv", ": cannot be opened: No such file or directory"},
        {folder.write("line", kGood + "no tab\n"), ":3: there is no tab; a line must be source<TAB>target"},
        {folder.write("utf16", std::string("\xff\xfe"
                                           "a\0\t\0b\0\n\0",
                                           10)),
         ": this file is UTF-16; convert it to UTF-8 first, e.g. with iconv -f UTF-16 -t UTF-8"},
        {folder.write("source", "a\tb\n\n" + long_text + "\tb\n"), ":3" + too_long},
        {folder.write("target", "a\t" + long_text + "\n"), ":1" + too_long}};
    std::filesystem::permissions(folder.write("secret", kGood), std::filesystem::perms::none);
    if (geteuid() != 0)  // who may read everything
        table.emplace_back(folder / "secret", ": cannot be opened: Permission denied");
    for (const auto& [file, error] : table)
        check_refusals("toy_translate", {{{"--pairs", file, "--epochs", "1"}, 1, file + error}});
}

TEST_CASE("toy_translate: reserved, unknown, and upper-case words", "[apps][data]") {
    const Folder folder;
    check_says(learn(folder.write("reserved", "a\tb\nc\t<unk> d\n"), {"a"}).err,
               {"no word may be <pad>, <sos>, <eos> or <unk>, which are reserved\n"});
    check_says(learn(folder.write("good", kGood), {"--epochs", "1", "<eos>"}).err,
               {"toy_translate: unknown words: \"<eos>\"; known words: "});
    // A word that it knows stays as it is, also if it knows it in lower case.
    const std::string two = folder.write("two", "Polish\tpolnisch\npolish\tpolieren\n");
    CHECK(answers(learn(two, {"Polish", "polish", "POLISH"})) == Words{"polnisch", "polieren", "polieren"});
    // On the page about a run, names in <> are those of special tokens.
    const std::string names = folder.write("names", "<a>\tx\n<b>\ty\n");
    CHECK(answers(learn(names, {"--save", folder / "run", "<a>"})) == Words{"x"});
}

TEST_CASE("toy_translate learns from one pair, from long ones, and from many", "[apps][data]") {
    const Folder folder;
    CHECK(contains(learn(folder.write("one.tsv", "a b\tc d e\n"), {"a b"}).out,
                   "1/1 sentences translated correctly\nc d e\n"));
    std::string many;
    for (int i = 0; i < 200; ++i)
        many += "w" + std::to_string(i) + " x\tv" + std::to_string(i) + "\n";
    const Result r = learn(folder.write("many.tsv", many), {"--epochs", "3", "w7"});
    CHECK(r.status == 0);                                      // the user's own pairs may be hard
    CHECK(losses(r).back().starts_with("step 12/12  loss "));  // three epochs of 64 + 64 + 64 + 8
    CHECK(contains(r.out, "/200 sentences translated correctly\n"));
    CHECK(count_of("  ->  ", r.out) == 20);

    // A sentence longer than the preset's maximum, also chapter's 20.
    const std::string words = repeated("w0 w1 w2 w3 w4 w5 ", 100);
    const Result sentence = learn(folder.write("long.tsv", words + "\t" + words + "\nw1\tw1\n"),
                                  {"--epochs", "1", "--beam", "1", "w1"});
    CHECK(sentence.status == 0);
    CHECK(contains(sentence.out, "/2 sentences translated correctly\n"));
}

TEST_CASE("toy_translate learns each of many pairs once in an epoch", "[apps][data]") {
    const Folder folder;
    std::string many;
    for (int i = 0; i < 66; ++i)
        many += "w" + std::to_string(i) + " x\tv" + std::to_string(i) + "\n";
    // Without dropout, and with a rate that changes no weight, a pair always has the same loss.
    must_run("toy_translate",
             {"--preset", "notebook", "--lr", "1e-30", "--epochs", "5", "--pairs",
              folder.write("many.tsv", many), "--save", folder / "run", "--stop-after", "8"});
    const Words rows = lines_of(content(folder / "run/log.csv"));
    REQUIRE(rows.size() == 1 + 8);
    const auto loss = [&](std::size_t step) { return std::stod(fields(rows[step], ',').at(1)); };
    int others = 0;
    for (std::size_t step = 3; step < rows.size(); step += 2) {  // batches of 64 pairs, and of 2
        CHECK(64 * loss(step) + 2 * loss(step + 1) == Approx(64 * loss(1) + 2 * loss(2)).epsilon(1e-5));
        others += loss(step + 1) != loss(2);
    }
    CHECK(others > 0);
}
