// Parallel text: two files or one, pairs written by hand, and what may be wrong with them.
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

// The bytes of a.en and a.de, or of a.tsv alone.
using Contents = std::vector<std::string>;
ParallelText read(const Contents& contents, InvalidUtf8 rule = InvalidUtf8::replace) {
    const Folder folder;
    if (contents.size() == 1)
        return read_parallel({folder.write("a.tsv", contents[0])}, rule);
    return read_parallel({folder.write("a.en", contents[0]), folder.write("a.de", contents[1])}, rule);
}

// The message without the folder's path, which may occur more than once.
std::string complaint(const Contents& contents) {
    try {
        read(contents);
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

TEST_CASE("parallel text: two files line by line, or one with tabs, whatever the line ends", "[text]") {
    const std::string large(kLongestLine, 'x');
    const std::pair<Contents, std::string> table[] = {
        {{"a b\nc\n", "d\ne f\n"}, "a b|d|1;c|e f|2;"},
        {{"a b\r\nc", "\ufeffd\ne f\r\n"}, "a b|d|1;c|e f|2;"},
        {{"a", "b"}, "a|b|1;"},
        {{" a\tb ", "\u00e4"}, " a\tb |\u00e4|1;"},  // a tab is a character like any other
        {{"a\tA\n"}, "a|A|1;"},
        {{large + "\nb\n", "a\n" + large + "\n"}, large + "|a|1;b|" + large + "|2;"}};
    for (const auto& [contents, pairs] : table)
        CHECK(shown(read(contents).pairs) == pairs);
    const Folder folder;
    const std::string en = folder.write("a.en", "a"), de = folder.write("a.de", "b");
    const std::string tsv = folder.write("a.tsv", "a\tb");
    CHECK(read_parallel({en, de}).files == en + ", " + de);
    CHECK(read_parallel({tsv}).files == tsv);
}

TEST_CASE("parallel text: lines without text are skipped and counted", "[text]") {
    const ParallelText text = read({"a\n\n\nd\n \t\nf\n", "A\nB\n\n\r\nE\nF\n"});
    CHECK(shown(text.pairs) == "a|A|1;f|F|6;");
    CHECK(shown(text.no_source) == "2: 2");
    CHECK(shown(text.no_text) == "1: 3");
    CHECK(shown(text.no_target) == "1: 4");
    CHECK(text.replaced == 0);
    const ParallelText tsv = read({"a\tA\n\tB\n\nd\t \r\n \n\t\nf\tF\n"});
    CHECK(shown(tsv.pairs) == "a|A|1;f|F|7;");
    CHECK(shown(tsv.no_source) == "1: 2");
    CHECK(shown(tsv.no_target) == "1: 4");
    CHECK(shown(tsv.no_text) == "3: 3");
}

TEST_CASE("parallel text: bytes that are not UTF-8 are replaced and counted on both sides, or kept",
          "[text]") {
    const Contents bad = {"caf\xe9\nb\n", "\xff\xff\nB\n"};
    CHECK(shown(read(bad).pairs) == "caf\ufffd|\ufffd\ufffd|1;b|B|2;");
    CHECK(read(bad).replaced == 3);
    CHECK(shown(read(bad, InvalidUtf8::keep).pairs) == "caf\xe9|\xff\xff|1;b|B|2;");
    CHECK(read(bad, InvalidUtf8::keep).replaced == 0);
    CHECK(read({"\xe9\t\xe9\n"}).replaced == 2);
}

TEST_CASE("parallel text: errors are one line", "[text]") {
    const std::pair<Contents, const char*> table[] = {
        {{"a\nb\nc\n", "A\nB\n"},
         "a.en has 3 lines, a.de has 2; line i of one must be the translation of line i of the other"},
        {{"a\n", "A\n\n"}, "a.en has 1 lines, a.de has 2;"},
        {{"", "A\n"}, "a.en: the file is empty"},
        {{"a\n", "\n"}, "a.de: the file is empty"},
        {{"a\n\n", "\nb\n"}, "a.en, a.de: there is no line with text on both sides"},
        {{"a\nb\n", std::string("A\nB\0\n", 5)},
         "a.de:2: this line contains a NUL byte; is this a text file?"},
        {{"a\n" + std::string(kLongestLine + 1, 'x'), "a\nb\n"},
         "a.en:2: a line of 1048577 bytes; a sentence has at most 1048576"},
        {{"a\tA\nb\n"}, "a.tsv:2: there is no tab; a line must be source<TAB>target"},
        {{"\na\tA\tx\n"}, "a.tsv:2: there is more than one tab; a line must be source<TAB>target"},
        {{" \n\ta\n"}, "a.tsv: there is no line with text on both sides"}};
    for (const auto& [contents, message] : table)
        CHECK_THAT(complaint(contents), beginning(message));
    const Folder folder;
    const std::string good = folder.write("good", "a\n"), missing = folder / "missing";
    CHECK_THROWS_WITH(read_parallel({good, missing}),
                      missing + ": cannot be opened: No such file or directory");
    CHECK_THROWS_WITH(read_parallel({folder.path}),
                      folder.path + ": this is a folder; a text file is needed");
}

TEST_CASE("pairs written by hand are read with their line numbers, or refused with the reason", "[text]") {
    const auto of = [](const std::string& text) { return shown(pairs_of(text, "file")); };
    CHECK(of("a b\tc\n") == "a b|c|1;");
    CHECK(of("\n \na\tb\n\nc d \t e\r\n") == "a|b|3;c d | e|5;");
    CHECK(of("\ufeffa\tb") == "a|b|1;");
    const std::pair<const char*, const char*> table[] = {
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
        CHECK_THROWS_WITH(pairs_of(text, "file"), std::string("file") + message);
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

namespace {

// The report without its beginning, "a.en, a.de: 7 pairs".
std::string found(const ParallelText& text, const ParallelText* training = nullptr) {
    const std::string all = check_data(text, training);
    return all.substr(std::min(all.size(), all.find("; ")));
}

}  // namespace

TEST_CASE("data check: nothing wrong, duplicates, and pairs that are in the training data", "[text]") {
    CHECK(check_data(parallel_text({{"a b", "c"}, {"d", "e  f g "}})) == "a.en, a.de: 2 pairs");
    CHECK(check_data(parallel_text({{"a", "b"}})) == "a.en, a.de: 1 pair");
    // Duplicates are equal on both sides.
    CHECK(found(parallel_text(
              {{"a", "b"}, {"a", "c"}, {"d", "b"}, {"a", "b"}, {"a", "b"}, {"ab", "c"}, {"a", "bc"}})) ==
          "; duplicates of an earlier pair: 2 (first in line 4)");
    const ParallelText training = parallel_text({{"a", "b"}, {"c", "d"}, {"e", "f"}});
    const ParallelText validation =
        parallel_text({{"a", "d"}, {"a", "b"}, {"d", "c"}, {"c", "d"}, {"c", "d"}, {"e", "e"}});
    CHECK(found(validation, &training) ==
          "; duplicates of an earlier pair: 1 (line 5); pairs that are in the training data: 3 (first in "
          "line 2)");
}

TEST_CASE("data check: lines that were skipped, and bytes that are not UTF-8", "[text]") {
    ParallelText text = parallel_text({{"b", "b"}, {"a \xef\xbf\xbd", "b"}});
    CHECK(found(text).empty());  // U+FFFD in the file itself
    text.replaced = 1;
    for (const int64_t line : {4, 5, 6})
        text.no_text.add(line);
    text.no_source.add(7);
    text.no_target.add(8);
    CHECK(found(text) ==
          "; skipped, no text on either side: 3 (first in line 4); skipped, no source: 1 (line 7); "
          "skipped, no target: 1 (line 8); with bytes that are not UTF-8, read as U+FFFD: 1 (line 2)");
}
