// Learning byte-pair encoding, compared with a plain learner.
#include <map>

#include "autograd/base/check.h"
#include "models/text/bpe.h"
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

std::string learned(const std::string& line, int64_t merges, int64_t min_count = 2) {
    return Bpe::learn(counted({line}), merges, min_count).codes();
}

// The textbook version, for words of ASCII: counts all pairs again for each rule.
std::string plainly_learned(const std::string& line, int64_t merges, int64_t min_count) {
    std::vector<std::vector<std::string>> words;
    for (const std::string_view word : split_at_spaces(line)) {
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
        if (most < min_count)
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

// A line of words of the first letters of the alphabet.
std::string random_line(const Rng& rng, int64_t words, int64_t letters, int64_t longest) {
    std::string line;
    uint64_t n = 0;
    for (int64_t w = 0; w < words; ++w) {
        for (int64_t i = rng.below(n++, longest); i >= 0; --i)
            line += static_cast<char>('a' + rng.below(n++, letters));
        line += ' ';
    }
    return line;
}

}  // namespace

TEST_CASE("bpe: words are separated by spaces", "[text][bpe]") {
    using Pieces = std::vector<std::string_view>;
    CHECK(split_at_spaces("").empty());
    CHECK(split_at_spaces(" \r\n ").empty());
    CHECK(split_at_spaces("  a  bc d \r\n") == Pieces{"a", "bc", "d"});
    CHECK(split_at_spaces("a\tb\xc2\xa0"
                          "c \r d\r") == Pieces{"a\tb\xc2\xa0"
                                                "c",
                                                "\r", "d"});
}

TEST_CASE("bpe: counts are written in decreasing order, ties in the order of adding", "[text][bpe]") {
    const WordCounts counts = counted({"b a  c", "", "c b d "});
    CHECK(counts.text() == "b 2\nc 2\na 1\nd 1\n");
    CHECK(counts.size() == 4);
    CHECK(counts.word(1) == "a");
    CHECK(counts.count(2) == 2);
    CHECK(WordCounts().text().empty());
    CHECK(counted({"<unk> <pad>"}).text() == "<unk> 1\n<pad> 1\n");
}

// Counted by hand.
TEST_CASE("bpe: rules are learned by count, equal pairs from the greatest to the smallest", "[text][bpe]") {
    CHECK(
        learned(
            "low low low low low lower lower newest newest newest newest newest newest widest widest widest",
            10) ==
        "#version: 0.2\ns t</w>\ne st</w>\nl o\nw est</w>\nn e\nne west</w>\nlo w</w>\nw i\nwi d\nwid "
        "est</w>\n");
    CHECK(learned("ab ab ba ba", 9) == "#version: 0.2\nb a</w>\na b</w>\n");
    // Greater means greater bytes: é (C3 A9) is greater than z, 日 greater than é.
    CHECK(learned("xz xz xé xé x日 x日", 9) == "#version: 0.2\nx 日</w>\nx é</w>\nx z</w>\n");
    CHECK(learned("ab ab zb", 9) == "#version: 0.2\na b</w>\n");  // once is too rare,
    CHECK(learned("ab ab zb", 9, 1) == "#version: 0.2\na b</w>\nz b</w>\n");
    CHECK(learned("ab ab zb", 9, 3) == "#version: 0.2\n");
    CHECK(learned("ab ab", 0) == "#version: 0.2\n");
    CHECK(learned("", 5) == "#version: 0.2\n");
    CHECK(learned("a a a", 5) == "#version: 0.2\n");
    // Pairs that overlap: the first one merges, and aaa</w> is aa a</w>.
    CHECK(learned("aaaa aaaa", 9) == "#version: 0.2\na a\naa a\naaa a</w>\n");
    CHECK_THROWS_WITH(learned("a", -1),
                      "[learn] merges must be at least 0, and min_count at least 1: got -1 and 2");
    CHECK_THROWS_AS(learned("a", 1, 0), autograd::Error);
}

TEST_CASE("bpe: rules are those of a learner that counts all pairs each time", "[text][bpe]") {
    for (uint64_t seed = 0; seed < 60; ++seed) {
        const Rng rng = Rng(7).fork(seed);
        const int64_t letters = 1 + rng.below(0, 4), longest = 2 + rng.below(1, 12);
        const std::string line = random_line(rng.fork("line"), 40 + rng.below(2, 60), letters, longest);
        const int64_t min_count = 1 + rng.below(3, 3);
        CAPTURE(seed, line, min_count);
        REQUIRE(learned(line, 200, min_count) == plainly_learned(line, 200, min_count));
    }
}
