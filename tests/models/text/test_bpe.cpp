// Byte-pair encoding of words: files, applying, dropout, and the published codes.
#include "models/text/bpe.h"

#include <cmath>
#include <cstdlib>
#include <limits>

#include "autograd/base/check.h"
#include "models/text/lines.h"
#include "tests/catch.h"

using namespace plaingrad;  // NOLINT
using autograd::Rng;
using models::text::Bpe;
using models::text::split_at_spaces;
using models::text::WordCounts;

namespace {

WordCounts counted(const std::vector<std::string>& lines) {
    WordCounts counts;
    for (const std::string& line : lines)
        counts.add_line(line);
    return counts;
}

Bpe with_codes(const std::string& codes) { return Bpe::from_codes("#version: 0.2\n" + codes, "codes"); }

// How often a word is split like this, in 10,000 calls with dropout.
double share(const Bpe& bpe, const std::string& word, double dropout, const std::string& pieces) {
    int count = 0;
    for (uint64_t i = 0; i < 10000; ++i)
        count += bpe.apply(word, dropout, Rng(3).fork(i)) == pieces;
    return count / 10000.0;
}

const std::string kIron = "i r\no n</w>\no n\ne m\nem e\neme n\nemen t</w>\n";

}  // namespace

TEST_CASE("bpe: pieces are written with @@, lines keep the spaces at their ends", "[text][bpe]") {
    const Bpe bpe = with_codes(kIron);
    const std::vector<std::pair<std::string, std::string>> table = {
        {"  iron cement  \n", "  ir@@ on c@@ ement  \n"},
        {"iron\xc2\xa0"
         "cement",
         "ir@@ on@@ \xc2\xa0@@ c@@ ement"},
        {"", ""},
        {" \r\n", " \r\n"},
        {"iron   iron", "ir@@ on ir@@ on"},
        {"i n é 日", "i n é 日"},
        {"né日", "n@@ é@@ 日"},
        {"\tiron on", "\t@@ ir@@ on on"},
        {"i\xff\xc3", "i@@ \xff@@ \xc3"},  // not UTF-8: a byte is a character
        {"on</w>", "on@@ <@@ /@@ w@@ >"}};
    for (const auto& [line, pieces] : table) {
        CAPTURE(line);
        CHECK(bpe.apply(line) == pieces);
    }
    CHECK(Bpe().apply("iron é") == "i@@ r@@ o@@ n é");
    CHECK(with_codes("a a\n").apply("aaaa") == "aa@@ a@@ a");  // the last one is a</w>
    CHECK(with_codes("b c</w>\na b\n").apply("abc") == "a@@ bc");
    CHECK(with_codes("a b\nb c</w>\n").apply("abc") == "ab@@ c");
    CHECK(with_codes("a b\nb c\na b\n").apply("abcd") ==
          "ab@@ c@@ d");  // of two rules for one pair, the first counts
}

TEST_CASE("bpe: learned codes are applied to the text, and undone", "[text][bpe]") {
    const std::string line =
        "  the lamp was lit at four and burned well and the clock that turns the lamp coughs ";
    const Bpe bpe = Bpe::learn(counted({line}), 20);
    const std::string pieces = bpe.apply(line);
    CHECK(pieces.find("@@ ") != std::string::npos);
    CHECK(Bpe::undo(pieces) == line);
    CHECK(Bpe::from_codes(bpe.codes(), "codes").apply(line) == pieces);
    CHECK(Bpe::learn(counted({line}), 1000, 1).apply(line) == line);
    CHECK(Bpe::undo("ir@@ on c@@ ement") == "iron cement");
    CHECK(Bpe::undo("ir@@ on c@@") == "iron c");
    CHECK(Bpe::undo(" ir@@  on @@ c@@ ") == " ir on c");
    CHECK(Bpe::undo("a@@@ @ x") == "a@@ x");
    CHECK(Bpe::undo("").empty());
}

TEST_CASE("bpe: codes are written and read", "[text][bpe]") {
    const std::string codes = "#version: 0.2\na b\na b\nab c</w>\n";
    CHECK(Bpe::from_codes(codes, "f").codes() == codes);
    CHECK(Bpe::from_codes("#version: 0.2\r\na b\r\nab c</w>", "f").codes() ==
          "#version: 0.2\na b\nab c</w>\n");
    CHECK(Bpe::from_codes("#version: 0.2\n", "f").apply("ab") == "a@@ b");
    const auto complaint = [](const std::string& text) {
        try {
            Bpe::from_codes(text, "f");
        } catch (const autograd::Error& error) {
            return std::string(error.what());
        }
        return std::string("no error");
    };
    CHECK(complaint("#version: 0.2\na b\nc\n") ==
          "f:3: a line must have two symbols with a space between: got 1");
    CHECK(complaint("#version: 0.2\na b c\n") ==
          "f:2: a line must have two symbols with a space between: got 3");
    CHECK(complaint("#version: 0.2\na b\n\nc d\n") ==
          "f:3: a line must have two symbols with a space between: got 0");
    CHECK(complaint("a b\nc\n") == "f:2: a line must have two symbols with a space between: got 1");
    CHECK(complaint("#version: 0.3\na b\n") == "f:1: merges must be of version 0.1 or 0.2: got '0.3'");
    CHECK(complaint("#version: 0.2 byte\na b\n") ==
          "f:1: merges must be of version 0.1 or 0.2: got '0.2 byte'");
    CHECK(complaint("#version: 0.2\na \xff\n").starts_with("f:2: byte 3 of this line is not UTF-8"));
    CHECK(complaint("") == "f: the file is empty");
}

TEST_CASE("bpe: codes of version 0.1 have </w> as a symbol", "[text][bpe]") {
    const std::string codes = "o n\non </w>\ni r\nn </w>\n";
    const Bpe bpe = Bpe::from_codes(codes, "f");
    CHECK(bpe.codes() == codes);
    CHECK(bpe.apply("iron ironi n x") == "ir@@ on ir@@ on@@ i n x");
    CHECK(Bpe::from_codes("#version: 0.1\n" + codes, "f").apply("iron in") == "ir@@ on i@@ n");
    // Of two rules for one symbol the first wins: the n at a word's end is not the one of "o n".
    CHECK(Bpe::from_codes("n </w>\no n\n", "f").apply("on ono") == "o@@ n on@@ o");
    CHECK(with_codes(codes).apply("iron") == "ir@@ o@@ n");  // in 0.2, n</w> is one
}

TEST_CASE("bpe: pieces that are missing from the vocabulary, or too rare, are split", "[text][bpe]") {
    Bpe bpe = with_codes(kIron);
    bpe.allow_only("ir@@ 5\non 3\nc@@ 9\nem@@ 2\nement 1\n", 1, "v");
    CHECK(bpe.apply("iron cement") == "ir@@ on c@@ ement");
    CHECK(bpe.apply("on ir onc") ==
          "on i@@ r o@@ n@@ c");  // on@@, and ir at the end of a word, are not in the vocabulary
    bpe.allow_only("ir@@ 5\non 3\nc@@ 9\nem@@ 2\nement 1\n", 2, "v");
    CHECK(bpe.apply("cement") == "c@@ em@@ e@@ n@@ t");  // ement</w>, emen@@, eme@@, em@@
    bpe.allow_only("ir@@ 5\non 3\nc@@ 9\nem@@ 2\nement 1\n", 4, "v");
    CHECK(bpe.apply("iron cement") == "ir@@ o@@ n c@@ e@@ m@@ e@@ n@@ t");
    bpe.allow_only("x 1\n", 9, "v");
    CHECK(bpe.apply(" iron on") == " i@@ r@@ o@@ n o@@ n");  // no piece is allowed, but characters remain

    // A symbol is split by the first rule that makes it.
    Bpe two_ways = with_codes("a b\nb c\nab c\na bc\nabc d</w>\n");
    two_ways.allow_only("bc@@ 1\n", 1, "v");
    CHECK(two_ways.apply("abcd") == "a@@ b@@ c@@ d");

    // A rule of others may join parts of the mark "</w>", which belong to no piece.
    Bpe in_mark = with_codes("a b</w>\nb< /w>\n");
    in_mark.allow_only("x 1\n", 1, "v");
    CHECK(in_mark.apply("ab b") == "a@@ b b");

    const auto complaint = [&](const std::string& text) {
        try {
            bpe.allow_only(text, 1, "v");
        } catch (const autograd::Error& error) {
            return std::string(error.what());
        }
        return std::string("no error");
    };
    CHECK(complaint("a 1\nb\n") == "v:2: a line must be a piece, a space and its count: got 'b'");
    for (const std::string line : {"a", "a b", "a 1 2", "a 1x", "a ", "a 99999999999999999999", "a 1.5"})
        CHECK(complaint("x 2\n" + line + "\n") ==
              "v:2: a line must be a piece, a space and its count: got '" + line + "'");
    CHECK(complaint("a 1\n\nb 1\n") == "v:2: a line must be a piece, a space and its count: got ''");
}

TEST_CASE("bpe: dropout skips rules at its rate", "[text][bpe]") {
    const Bpe bpe = with_codes("a b\nab c</w>\nb c</w>\n");
    CHECK(bpe.apply("abc bc ab", 0, Rng(1)) == "abc bc a@@ b");
    CHECK(bpe.apply(" abc bc ", 1, Rng(1)) == " a@@ b@@ c b@@ c ");
    // With 0.3, abc is whole if neither of the two rules is left out, each in its own round; 5 deviations.
    const double p = 0.3, tolerance = 5 * 0.5 / 100;
    CHECK(std::abs(share(bpe, "bc", p, "bc") - 0.7) <= tolerance);
    CHECK(std::abs(share(bpe, "abc", p, "abc") - 0.7 * 0.7) <= tolerance);
    CHECK(std::abs(share(bpe, "abc", p, "ab@@ c") - 0.7 * 0.3) <= tolerance);
    CHECK(std::abs(share(bpe, "abc", p, "a@@ bc") - 0.3 * 0.7) <= tolerance);
    CHECK(std::abs(share(bpe, "abc", p, "a@@ b@@ c") - 0.3 * 0.3) <= tolerance);
    // Each place is drawn separately: a rule can be skipped at one of two places.
    CHECK(std::abs(share(with_codes("a b\n"), "abxabx", p, "ab@@ x@@ a@@ b@@ x") - 0.7 * 0.3 * 0.3) <=
          tolerance);

    for (const double wrong : {-0.1, 1.1, std::numeric_limits<double>::quiet_NaN()})
        CHECK_THROWS_AS(bpe.apply("a", wrong, Rng(1)), autograd::Error);
    CHECK_THROWS_WITH(bpe.apply("", 2), "[Bpe] dropout must be a probability, from 0 to 1: got 2");
}

TEST_CASE("bpe: dropout is the same for the same seed", "[text][bpe]") {
    const Bpe bpe = with_codes(kIron);
    const std::string line = "iron iron cement iron cement on iron";
    // Golden: computed once, every platform and compiler must give it.
    CHECK(bpe.apply(line, 0.3, Rng(42)) == "ir@@ on ir@@ o@@ n c@@ ement ir@@ on c@@ ement on ir@@ on");
    CHECK(bpe.apply(line, 0.3, Rng(42)) == bpe.apply(line, 0.3, Rng(42)));
    CHECK(bpe.apply(line, 0.3, Rng(42)) != bpe.apply(line, 0.3, Rng(43)));
    for (uint64_t seed = 0; seed < 50; ++seed)
        CHECK(Bpe::undo(bpe.apply(line, 0.5, Rng(seed))) == line);
}

// subword-nmt's own codes for 10,000 merges have the SHA-256 5b545f31...; this is FNV-1a of the same file,
// computed when the SHA-256 was equal. The numbers of pieces are those of Wu et al. 2021.
TEST_CASE("bpe: codes, pieces and vocabulary of Multi30k are the published ones", "[.][text][bpe][data]") {
    const char* folder = std::getenv("PLAINGRAD_DATA");
    if (folder == nullptr)
        SKIP("PLAINGRAD_DATA does not name a folder with multi30k/train.lc.norm.tok.{en,de}");
    std::vector<std::string> texts[2];
    WordCounts counts, pieces;
    for (const int language : {0, 1}) {
        texts[language] = models::text::read_lines(std::string(folder) + "/multi30k/train.lc.norm.tok." +
                                                   (language == 0 ? "en" : "de"));
        for (const std::string& line : texts[language])
            counts.add_line(line);
    }
    const Bpe bpe = Bpe::learn(counts, 10000);
    uint64_t hash = 0xcbf29ce484222325u;
    for (const char c : bpe.codes())
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    CHECK(hash == 0x32968687019d9c6fu);
    for (const int language : {0, 1}) {
        std::size_t count = 0;
        for (const std::string& line : texts[language]) {
            const std::string applied = bpe.apply(line);
            count += split_at_spaces(applied).size();
            pieces.add_line(applied);
        }
        CHECK(count == (language == 0 ? 397793 : 400507));
    }
    CHECK(pieces.size() == 9708);
}

TEST_CASE("bpe: in version 0.1 a piece may be split just before the end of the word", "[text][bpe]") {
    Bpe bpe = Bpe::from_codes("#version: 0.1\na b\nab </w>\n", "codes");
    CHECK(bpe.apply("ab") == "ab");
    bpe.allow_only("a@@ 1\nb 1\n", 1, "vocabulary");
    CHECK(bpe.apply("ab ab") == "a@@ b a@@ b");
}

// As in subword-nmt: the last piece of a word is looked up with its mark, so "b a" does not say how "ba" is
// made.
TEST_CASE("bpe: in version 0.1 a word's last piece is split only as an end of words", "[text][bpe]") {
    Bpe bpe = Bpe::from_codes("#version: 0.1\nb a\n", "codes");
    bpe.allow_only("x 9\n", 1, "vocabulary");
    CHECK(bpe.apply("cba bac") == "c@@ ba b@@ a@@ c");
    Bpe marked = Bpe::from_codes("#version: 0.1\nb a\na </w>\nb a</w>\n", "codes");
    marked.allow_only("x 9\n", 1, "vocabulary");
    CHECK(marked.apply("ba") == "b@@ a");
}

TEST_CASE("bpe: an empty word is ignored", "[text][bpe]") {
    WordCounts with, without;
    for (const char* word : {"", "low", "low", "", "lower"})
        with.add(word);
    for (const char* word : {"low", "low", "lower"})
        without.add(word);
    CHECK(with.size() == 2);
    CHECK(with.text() == without.text());
    CHECK(Bpe::learn(with, 9, 1).codes() == Bpe::learn(without, 9, 1).codes());
}
