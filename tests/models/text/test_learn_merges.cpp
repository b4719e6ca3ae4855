// Learning the merges of byte-pair encoding, compared with a plain learner, and the file of them.
#include "models/text/tokenizer/learn_merges.h"

#include <cstdlib>
#include <map>

#include "models/text/lines.h"
#include "tests/catch.h"
#include "tests/dice.h"

using namespace plaingrad;                // NOLINT
using namespace models::text::tokenizer;  // NOLINT

namespace {

WordCounts counted(const std::vector<std::string>& lines) {
    WordCounts counts;
    for (const std::string& line : lines)
        counts.add_line(line);
    return counts;
}

std::string learned(const std::string& line, int64_t merges) {
    return codes_of(learn_word_merges(counted({line}), merges).rules);
}

// The textbook version, for words of ASCII: counts all pairs again for each rule.
std::string plainly_learned(const std::string& line, int64_t merges) {
    std::vector<std::vector<std::string>> words;
    for (const std::string& word : models::text::split_words(line)) {
        words.emplace_back();
        for (const char c : word)
            words.back().emplace_back(1, c);
        words.back().back() += "</w>";
    }
    std::string codes = "#version: 0.2\n";
    for (; merges > 0; --merges) {
        std::map<std::pair<std::string, std::string>, int64_t> pairs;
        for (const auto& word : words)
            for (std::size_t i = 1; i < word.size(); ++i)
                ++pairs[{word[i - 1], word[i]}];
        std::pair<std::string, std::string> best;
        int64_t most = 0;
        for (const auto& [pair, count] : pairs)  // ascending, so that the last of equals wins
            if (count >= most) {
                best = pair;
                most = count;
            }
        if (most < 2)
            break;
        codes.append(best.first).append(" ").append(best.second).append("\n");
        for (auto& word : words)
            for (std::size_t i = 0; i + 1 < word.size(); ++i)
                if (word[i] == best.first && word[i + 1] == best.second) {
                    word[i] += word[i + 1];
                    word.erase(word.begin() + static_cast<std::ptrdiff_t>(i) + 1);
                }
    }
    return codes;
}

}  // namespace

TEST_CASE("merges: words are counted in the order of their first occurrence", "[text][bpe]") {
    const WordCounts counts = counted({"b a  c", "", "c b\td d "});
    REQUIRE(counts.all().size() == 5);
    CHECK(counts.all()[1].first == "a");
    CHECK(counts.all()[2].second == 2);
    CHECK(counts.all()[3].first == "b\td");
    CHECK(counts.words(2) == Strings{"c"});
    CHECK(WordCounts().words().empty());
}

// Counted by hand.
TEST_CASE("merges: rules are learned by count, equal pairs from the greatest to the smallest",
          "[text][bpe]") {
    const std::pair<const char*, const char*> table[] = {
        {"low low low low low lower lower newest newest newest newest newest newest widest widest widest",
         "s t</w>\ne st</w>\nl o\nw est</w>\nn e\nne west</w>\nlo w</w>\nw i\nwi d\nwid est</w>\n"},
        {"ab ab ba ba", "b a</w>\na b</w>\n"},
        // Greater means greater bytes: é (C3 A9) is greater than z, 日 greater than é.
        {"xz xz xé xé x日 x日", "x 日</w>\nx é</w>\nx z</w>\n"},
        {"ab ab zb", "a b</w>\n"},  // once is too rare
        {"", ""},
        {"a a a", ""},
        // Pairs that overlap: the first one merges, and aaa</w> is aa a</w>.
        {"aaaa aaaa", "a a\naa a\naaa a</w>\n"}};
    for (const auto& [line, rules] : table)
        CHECK(learned(line, 10) == std::string("#version: 0.2\n") + rules);
    CHECK(learned("ab ab", 0) == "#version: 0.2\n");
    CHECK_THROWS_WITH(learned("a", -1), "[learn_merges] merges must be at least 0: got -1");
}

TEST_CASE("merges: rules are those of a learner that counts all pairs each time", "[text][bpe]") {
    for (uint64_t seed = 0; seed < 60; ++seed) {
        tests::Dice dice{autograd::Rng(seed)};
        const int64_t letters = 1 + dice.below(4), longest = 2 + dice.below(12);
        std::string line;
        for (int64_t words = 40 + dice.below(60); words > 0; --words, line += ' ')
            for (int64_t i = dice.below(longest); i >= 0; --i)
                line += static_cast<char>('a' + dice.below(letters));
        CAPTURE(seed, line);
        REQUIRE(learned(line, 200) == plainly_learned(line, 200));
    }
}

TEST_CASE("merges: those of bytes are within words, behind all bytes in GPT-2's order", "[text][bpe]") {
    const Merges all = learn_byte_merges(counted({"\xc3\xbc ab ab \xc3\xbc"}), 9);
    CHECK(all.rules == std::vector<MergeRule>{{"\u00c3", "\u00bc"}, {"a", "b"}});
    REQUIRE(all.symbols.size() == 258);
    CHECK(all.symbols[0] == "!");
    CHECK(all.symbols[220] == "Ġ");
    CHECK(all.symbols[256] == "\u00c3\u00bc");
    CHECK(all.symbols[257] == "ab");
}

TEST_CASE("merges: their file is written and read", "[text][bpe]") {
    const std::string codes = "#version: 0.2\na b\na b\nab c</w>\n";
    CHECK(codes_of(read_codes(codes, "f")) == codes);
    CHECK(codes_of(read_codes("#version: 0.2\r\na b\r\na b\r\nab c</w>", "f")) == codes);
    CHECK(read_codes("#version: 0.2\n", "f").empty());
    const std::string two = ": a line must have two symbols with a space between";
    const std::vector<std::pair<std::string, std::string>> wrong = {
        {"#version: 0.2\na b\nc\n", "f:3" + two},
        {"#version: 0.2\na b c\n", "f:2" + two},
        {"#version: 0.2\na \n", "f:2" + two},
        {"#version: 0.2\n a\n", "f:2" + two},
        {"#version: 0.2\na b\n\nc d\n", "f:3" + two},
        {"a b\n", "f:1: merges must begin with a line '#version: 0.2'"},
        {"#version: 0.1\na b\n", "f:1: merges must begin with a line '#version: 0.2'"},
        {"#version: 0.2\na \xff\n", "f:2: byte 3 of this line is not UTF-8"},
        {"", "f: the file is empty"}};
    for (const auto& [text, wanted] : wrong) {
        CAPTURE(text);
        CHECK_THROWS_WITH(read_codes(text, "f"), tests::beginning(wanted));
    }
}

// subword-nmt's own codes for 10,000 merges have the SHA-256 5b545f31...; this is FNV-1a of the same file,
// computed when the SHA-256 was equal.
TEST_CASE("merges: those of Multi30k are the published ones", "[.][text][bpe][data]") {
    const char* folder = std::getenv("PLAINGRAD_DATA");
    if (folder == nullptr)
        SKIP("PLAINGRAD_DATA does not name a folder with multi30k/train.lc.norm.tok.{en,de}");
    WordCounts counts;
    for (const std::string language : {"en", "de"})
        for (const std::string& line : models::text::lines_of(
                 models::text::read_file(std::string(folder) + "/multi30k/train.lc.norm.tok." + language),
                 "file"))
            counts.add_line(line);
    uint64_t hash = 0xcbf29ce484222325u;
    for (const char c : codes_of(learn_word_merges(counts, 10000).rules))
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    CHECK(hash == 0x32968687019d9c6fu);
}
