// toy_translate --pairs: text files in the forms that users have.
#include <unistd.h>

#include "tests/apps/run.h"
#include "tests/catch.h"

using namespace plaingrad;  // NOLINT
using namespace tests;

namespace {

Result learn(const std::string& path, const Words& more = {}, const With& with = {}) {
    Words words = {"--preset", "blog", "--pairs", path};
    words.insert(words.end(), more.begin(), more.end());
    return run("toy_translate", words, with);
}

const std::string kGood = "the dog\tder hund\nthe cat\tdie katze\n";

}  // namespace

TEST_CASE("toy_translate learns from a file, whatever its line ends", "[apps][data]") {
    const Folder folder;
    for (const std::string& content :
         {kGood, std::string("the dog\tder hund\r\nthe cat\tdie katze\r\n"), "\xef\xbb\xbf" + kGood,
          std::string("\n  \nthe  dog \t der hund\n\r\nthe cat\tdie katze")}) {
        const Result r = learn(folder.write("pairs.tsv", content), {"the dog", "the cat"});
        CAPTURE(content, r.out, r.err);
        CHECK(r.status == 0);
        CHECK(contains(r.out,
                       "\n  ok     the dog  ->  der hund\n  ok     the cat  ->  die katze\n"
                       "2/2 sentences translated correctly\nder hund\ndie katze\n"));
        CHECK_FALSE(contains(r.out, "\r"));
        CHECK_FALSE(contains(r.err, "unknown"));
    }
}

TEST_CASE("toy_translate says what is wrong with a file, and where", "[apps][data]") {
    const Folder folder;
    const std::string path = folder / "bad.tsv";
    // Status 1, nothing on standard output, one line.
    const auto refused = [&](const std::string& file, const std::string& start) {
        const Result r = learn(file, {"--epochs", "1"});
        CAPTURE(r.err);
        CHECK(r.status == 1);
        CHECK(r.out.empty());
        CHECK(one_line(r.err, "toy_translate: " + file + start));
    };
    const auto bad = [&](const std::string& content, const std::string& start) {
        CAPTURE(content);
        folder.write("bad.tsv", content);
        refused(path, start);
    };
    refused(folder / "missing.tsv", ": cannot be opened: No such file or directory\n");
    refused(folder / "", ": this is a folder; a text file is needed\n");
    std::filesystem::permissions(folder.write("secret.tsv", kGood), std::filesystem::perms::none);
    if (geteuid() != 0)  // who may read everything
        refused(folder / "secret.tsv", ": cannot be opened: Permission denied\n");
    bad("", ": the file is empty\n");
    bad("\xef\xbb\xbf", ": the file is empty\n");
    bad("\n\n  \n\r\n", ": there is no line with text on both sides\n");
    bad(kGood + "no tab here\n", ":3: there is no tab; a line must be source<TAB>target\n");
    bad("a\tb\n\nc\td\te\n", ":3: there is more than one tab; a line must be source<TAB>target\n");
    bad("a\tb\n\tc\n", ":2: there is no text before the tab\n");
    bad("a\tb\n  \tc\n", ":2: there is no text before the tab\n");
    bad("a\tb\nc\t \r\n", ":2: there is no text after the tab\n");
    bad("c\t\n", ":1: there is no text after the tab\n");
    bad("\t\n", ": there is no line with text on both sides\n");
    bad(std::string("a\tb\nc\0c\td\n", 10), ":2: this line contains a NUL byte; is this a text file?\n");

    const std::string not_utf8 = " of this line is not UTF-8; convert the file, e.g. with iconv -t UTF-8\n";
    for (const char* bytes :
         {"\xe9t\xe9", "\x80", "\xc0\xaf", "\xc1\xbf", "\xc3", "\xe0\x9f\xbf", "\xed\xa0\x80",
          "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff\xfe"})
        bad(std::string("a\tb\nc\td") + bytes + "\n", ":2: byte 4" + not_utf8);
    bad(std::string("\xff\xfe"
                    "a\0\t\0b\0\n\0",
                    10),
        ": this file is UTF-16; convert it to UTF-8 first, e.g. with iconv -f UTF-16 -t UTF-8\n");

    std::string book;
    for (int i = 0; i < 100000; ++i)
        book += "word ";
    bad("a\tb\n\n" + book + "\tb\n",
        ":3: a sentence of 100000 words; at most 2000 are possible; each line is one sentence\n");
    bad("a\t" + book + "\n",
        ":1: a sentence of 100000 words; at most 2000 are possible; each line is one sentence\n");
}

TEST_CASE("toy_translate refuses reserved words in the data; elsewhere they are unknown", "[apps][data]") {
    const Folder folder;
    const Result r = learn(folder.write("pairs.tsv", "a\tb\nc\t<unk> d\n"), {"a"});
    CHECK(r.status == 1);
    CHECK(contains(r.err, "no word may be <pad>, <sos>, <eos> or <unk>, which are reserved\n"));
    const Result other = learn(folder.write("pairs.tsv", kGood), {"--epochs", "1", "<eos>"});
    CHECK(contains(other.err, "toy_translate: unknown words: \"<eos>\"; known words: "));
}

TEST_CASE("toy_translate: a word that it knows stays as it is, also if it knows it in lower case",
          "[apps][data]") {
    const Folder folder;
    const Result r = learn(folder.write("pairs.tsv", "Polish\tpolnisch\npolish\tpolieren\n"),
                           {"Polish", "polish", "POLISH"});
    INFO(r.out << r.err);
    CHECK(r.status == 0);
    CHECK(r.out.ends_with("\n2/2 sentences translated correctly\npolnisch\npolieren\npolieren\n"));
}

// On the page about a run, names in <> are those of special tokens.
TEST_CASE("toy_translate records a run in which all words look like special tokens", "[apps][data]") {
    const Folder folder;
    const Result r = learn(folder.write("pairs.tsv", "<a>\tx\n<b>\ty\n"), {"--save", folder / "run", "<a>"});
    INFO(r.err);
    CHECK(r.status == 0);
    CHECK(r.out.ends_with("\n2/2 sentences translated correctly\nx\n"));
}

TEST_CASE("toy_translate learns from one pair, from long ones, and from many", "[apps][data]") {
    const Folder folder;
    const Result one = learn(folder.write("one.tsv", "a b\tc d e\n"), {"a b"});
    CHECK(one.status == 0);
    CHECK(contains(one.out, "1/1 sentences translated correctly\nc d e\n"));

    std::string many;
    for (int i = 0; i < 200; ++i)
        many += "w" + std::to_string(i) + " x\tv" + std::to_string(i) + "\n";
    const Result r = learn(folder.write("many.tsv", many), {"--epochs", "3", "w7"});
    INFO(r.out << r.err);
    CHECK(r.status == 0);                                      // the user's own pairs may be hard
    CHECK(losses(r).back().starts_with("step 12/12  loss "));  // three epochs of 64 + 64 + 64 + 8
    CHECK(contains(r.out, "/200 sentences translated correctly\n"));
    int shown = 0;
    for (const std::string& line : lines_of(r.out))
        shown += contains(line, "  ->  ") ? 1 : 0;
    CHECK(shown == 20);

    // A word of a million letters; and a sentence longer than the preset's maximum, also chapter's 20.
    const Result word =
        learn(folder.write("long.tsv", std::string(1000000, 'x') + "\ty\n"), {"--epochs", "1", "x"});
    CHECK(word.status == 0);
    CHECK(contains(word.err, "unknown words: \"x\"; known words: "));
    std::string words;
    for (int i = 0; i < 600; ++i)
        words += "w" + std::to_string(i % 7) + " ";
    const Result sentence = learn(folder.write("long.tsv", words + "\t" + words + "\nw1\tw1\n"),
                                  {"--epochs", "1", "--beam", "1", "w1"});
    INFO(sentence.err);
    CHECK(sentence.status == 0);
    CHECK(contains(sentence.out, "/2 sentences translated correctly\n"));
}

TEST_CASE("toy_translate learns each of many pairs once in an epoch, and in another order in the next",
          "[apps][data]") {
    const Folder folder;
    std::string many;
    for (int i = 0; i < 66; ++i)
        many += "w" + std::to_string(i) + " x\tv" + std::to_string(i) + "\n";
    // Without dropout, and with a rate that changes no weight, a pair always has the same loss.
    const Result r =
        run("toy_translate", {"--preset", "notebook", "--lr", "1e-30", "--epochs", "5", "--pairs",
                              folder.write("many.tsv", many), "--save", folder / "run", "--stop-after", "8"});
    INFO(r.err);
    REQUIRE(r.status == 0);
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

TEST_CASE("the example of toy_translate --help works as pasted", "[apps][data]") {
    const std::string help = run("toy_translate", {"--help"}).out;
    const std::size_t start = help.find("printf 'one");
    REQUIRE(start != std::string::npos);
    const std::string command = help.substr(start, help.find('\n', start) - start);
    REQUIRE(contains(command, "./apps/toy_translate --pairs p.tsv two"));
    if (!fast_build())
        SKIP("a slow build takes too long");
    // Where the programs are may differ from where they are for a user.
    const Folder folder;
    std::filesystem::create_directory_symlink(std::filesystem::absolute(apps()), folder / "apps");
    const std::string line = "cd '" + folder / "" + "' && " + command + " >out 2>err </dev/null";
    CHECK(std::system(line.c_str()) == 0);
    CHECK(content(folder / "out").ends_with("\n2/2 sentences translated correctly\ndeux\n"));
}
