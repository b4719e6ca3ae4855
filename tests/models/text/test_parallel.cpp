// Parallel text: two files or one.
#include "models/text/training_data.h"

#include "autograd/base/check.h"
#include "tests/catch.h"
#include "tests/folder.h"
#include "tests/models/text/parallel_text.h"

using namespace plaingrad;  // NOLINT
using namespace models::text;
using namespace tests;  // NOLINT

namespace {

// "source|target|line;" for each pair.
std::string shown(const std::vector<SentencePair>& pairs) {
    std::string all;
    for (const SentencePair& pair : pairs)
        all += pair.source + "|" + pair.target + "|" + std::to_string(pair.line) + ";";
    return all;
}

std::string pairs(const ParallelText& text) { return shown(text.pairs); }

// Reads files a.en and a.de, or only one, with these contents.
ParallelText read(const std::string& source, const std::string& target) {
    const Folder folder;
    return read_parallel({folder.write("a.en", source), folder.write("a.de", target)});
}
ParallelText read(const std::string& tsv) {
    const Folder folder;
    return read_parallel({folder.write("a.tsv", tsv)});
}

// The message without the folder's path, which may occur more than once.
template <class... Contents>
std::string complaint(const Contents&... contents) {
    try {
        read(contents...);
    } catch (const autograd::Error& error) {
        std::string text = error.what();
        CHECK(text.find('\n') == std::string::npos);
        for (std::size_t at = text.find("/a."); at != std::string::npos; at = text.find("/a.")) {
            const std::size_t start = text.rfind(' ', at);
            text.erase(start + 1, at - start);  // npos + 1 is 0
        }
        return text;
    }
    return "no error";
}

}  // namespace

TEST_CASE("parallel files: line by line, whatever the line ends", "[text]") {
    CHECK(pairs(read("a b\nc\n", "d\ne f\n")) == "a b|d|1;c|e f|2;");
    CHECK(pairs(read("a b\r\nc",
                     "\xef\xbb\xbf"
                     "d\ne f\r\n")) == "a b|d|1;c|e f|2;");
    CHECK(pairs(read("a", "b")) == "a|b|1;");
    CHECK(pairs(read(" a\tb ", "\xc3\xa4")) == " a\tb |\xc3\xa4|1;");  // a tab is a character like any other
}

TEST_CASE("parallel text: lines without text are skipped and counted", "[text]") {
    const ParallelText text = read("a\n\n\nd\n \t\nf\n", "A\nB\n\n\r\nE\nF\n");
    CHECK(pairs(text) == "a|A|1;f|F|6;");
    CHECK(shown(text.no_source) == "2: 2");
    CHECK(shown(text.no_text) == "1: 3");
    CHECK(shown(text.no_target) == "1: 4");
    CHECK(text.replaced == 0);

    const ParallelText tsv = read("a\tA\n\tB\n\nd\t \r\n \n\t\nf\tF\n");
    CHECK(pairs(tsv) == "a|A|1;f|F|7;");
    CHECK(shown(tsv.no_source) == "1: 2");
    CHECK(shown(tsv.no_target) == "1: 4");
    CHECK(shown(tsv.no_text) == "3: 3");
}

TEST_CASE("parallel text: bytes that are not UTF-8 are replaced and counted on both sides", "[text]") {
    const ParallelText text = read("caf\xe9\nb\n", "\xff\xff\nB\n");
    CHECK(pairs(text) == "caf\xef\xbf\xbd|\xef\xbf\xbd\xef\xbf\xbd|1;b|B|2;");
    CHECK(text.replaced == 3);
    CHECK(read("\xe9\t\xe9\n").replaced == 2);
}

TEST_CASE("parallel text: bytes that are not UTF-8 can be kept in both files", "[text]") {
    const Folder folder;
    const ParallelText text = read_parallel(
        {folder.write("a.en", "caf\xe9\nb\n"), folder.write("a.de", "k\xfc hl\nB\n")}, InvalidUtf8::keep);
    CHECK(pairs(text) == "caf\xe9|k\xfc hl|1;b|B|2;");
    CHECK(text.replaced == 0);
}

TEST_CASE("parallel text names its files", "[text]") {
    const Folder folder;
    const std::string en = folder.write("a.en", "a"), de = folder.write("a.de", "b");
    const std::string tsv = folder.write("a.tsv", "a\tb");
    CHECK(read_parallel({en, de}).files == en + ", " + de);
    CHECK(read_parallel({tsv}).files == tsv);
}

TEST_CASE("parallel text: errors are one line", "[text]") {
    CHECK(complaint("a\nb\nc\n", "A\nB\n") ==
          "a.en has 3 lines, a.de has 2; line i of one must be the translation of line i of the other");
    CHECK(complaint("a\n", "A\n\n").starts_with("a.en has 1 lines, a.de has 2;"));
    CHECK(complaint("", "A\n") == "a.en: the file is empty");
    CHECK(complaint("a\n", "\n") == "a.de: the file is empty");
    CHECK(complaint("a\n\n", "\nb\n") == "a.en, a.de: there is no line with text on both sides");
    CHECK(complaint("a\nb\n", std::string("A\nB\0\n", 5)) ==
          "a.de:2: this line contains a NUL byte; is this a text file?");
    CHECK(complaint("a\tA\nb\n") == "a.tsv:2: there is no tab; a line must be source<TAB>target");
    CHECK(complaint("\na\tA\tx\n") ==
          "a.tsv:2: there is more than one tab; a line must be source<TAB>target");
    CHECK(complaint(" \n\ta\n") == "a.tsv: there is no line with text on both sides");
    CHECK(complaint("a\tA\n") == "no error");
    const Folder folder;
    const std::string good = folder.write("good", "a\n"), missing = folder / "missing";
    const std::string directory = ": this is a folder; a text file is needed";
    CHECK_THROWS_WITH(read_parallel({good, missing}),
                      missing + ": cannot be opened: No such file or directory");
    CHECK_THROWS_WITH(read_parallel({missing, good}),
                      missing + ": cannot be opened: No such file or directory");
    CHECK_THROWS_WITH(read_parallel({good, folder.path}), folder.path + directory);
    CHECK_THROWS_WITH(read_parallel({folder.path}), folder.path + directory);
}

TEST_CASE("parallel text: a line may be long, but not beyond the limit", "[text]") {
    const std::string large(kLongestLine, 'x');
    const ParallelText text = read(large + "\nb\n", "a\n" + large + "\n");
    REQUIRE(text.pairs.size() == 2);
    CHECK(text.pairs[0].source == large);
    CHECK(text.pairs[1].target == large);
    CHECK_THROWS_WITH(read("a\n" + large + "x\n", "a\nb\n"),
                      tests::containing("a.en:2: a line of 1048577 bytes; a sentence has at most 1048576"));
}

TEST_CASE("pairs written by hand are read with their line numbers", "[text]") {
    const auto of = [](const std::string& text) { return shown(pairs_of(text, "file")); };
    CHECK(of("a b\tc\n") == "a b|c|1;");
    CHECK(of("\n \na\tb\n\nc d \t e\r\n") == "a|b|3;c d | e|5;");
    CHECK(of("\xef\xbb\xbf"
             "a\tb") == "a|b|1;");
}

TEST_CASE("of pairs written by hand, an invalid one is an error with the reason and the line", "[text]") {
    const std::vector<std::pair<std::string, std::string>> table = {
        {"a\tb\nc\n", ":2: there is no tab; a line must be source<TAB>target"},
        {"a\tb\nc,d\n", ":2: there is no tab; a line must be source<TAB>target, not CSV"},
        {"a\tb\nc\td\te\n", ":2: there is more than one tab; a line must be source<TAB>target"},
        {"\ta\n", ":1: there is no text before the tab"},
        {" \ta\n", ":1: there is no text before the tab"},
        {"\n\na\t\n", ":3: there is no text after the tab"},
        {"a\t \r\n", ":1: there is no text after the tab"},
        {"\xff\ta", ":1: byte 1 of this line is not UTF-8; convert the file, e.g. with iconv -t UTF-8"},
        {"\t\n \n", ": there is no line with text on both sides"}};
    for (const auto& [text, message] : table)
        CHECK_THROWS_WITH(pairs_of(text, "file"), "file" + message);
}

TEST_CASE("the fingerprint of pairs changes with each side and with their order", "[text]") {
    const std::vector<SentencePair> one = {{"a", "b"}, {"c", "d"}};
    CHECK(fingerprint(one) == fingerprint({{"a", "b", 7}, {"c", "d", 9}}));  // wherever they stand
    for (const std::vector<SentencePair>& other : {std::vector<SentencePair>{{"c", "d"}, {"a", "b"}},
                                                   {{"a", "b"}, {"c", "e"}},
                                                   {{"x", "b"}, {"c", "d"}},
                                                   {{"a", "b"}},
                                                   {{"a", "b"}, {}, {"c", "d"}},
                                                   {{"b", "a"}, {"c", "d"}}})
        CHECK(fingerprint(one) != fingerprint(other));
}
