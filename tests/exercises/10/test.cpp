#include EXERCISE  // the learner's page, or ours
#include "models/text/tokenizer/learn_merges.h"
#include "tests/catch.h"
#include "tests/exercises/marking.h"

using namespace plaingrad::exercises;  // NOLINT

static const Marking exercise(10);

static std::string text(const Symbols& symbols) {
    std::string out;
    for (const std::string& symbol : symbols)
        out += (out.empty() ? "" : " ") + symbol;
    return out;
}

static std::string text(const Pair& pair) { return pair.first + " " + pair.second; }

static Symbols characters(const std::string& word) {
    Symbols out;
    for (const char c : word)
        out.emplace_back(1, c);
    out.back() += "</w>";
    return out;
}

static void expect_pair(const std::vector<Word>& words, const Pair& expected, const std::string& rule) {
    const Pair given = most_frequent_pair(words);
    exercise.expect(given == expected, "most_frequent_pair finds '", text(given), "'; expected '",
                    text(expected), "': ", rule);
}

TEST_CASE("the most frequent pair") {
    expect_pair({{{"a", "b", "a", "b"}, 1}, {{"b", "a"}, 1}}, {"b", "a"},
                "both occur twice, and b a is the greater");
    expect_pair({{{"a", "b", "a", "b", "a", "b"}, 1}, {{"b", "c"}, 5}}, {"b", "c"},
                "each place counts as often as its word stands in the text");
    expect_pair({{{"a", "b"}, 3}, {{"c", "d"}, 2}}, {"a", "b"}, "3 places are more than 2");
    expect_pair({{{"x", "y"}, 2}, {{"y", "x"}, 2}, {{"y"}, 9}, {{"x"}, 9}}, {"y", "x"},
                "pairs are within a word, not from one to the next; of equal ones take the greatest");
    expect_pair({{{"a", "bc"}, 2}, {{"ab", "c"}, 2}}, {"ab", "c"},
                "a|bc and ab|c are different pairs with the same letters");
}

TEST_CASE("no pair") {
    expect_pair({{{"a"}, 7}}, {"", ""}, "a word of one symbol has no pair");
    expect_pair({}, {"", ""}, "no word, no pair");
}

static void expect_merge(const Symbols& word, const Pair& pair, const Symbols& expected,
                         const std::string& rule) {
    const Symbols given = merge(word, pair);
    exercise.expect(given == expected, "merge of '", text(pair), "' makes '", text(word), "' to '",
                    text(given), "'; expected '", text(expected), "': ", rule);
}

TEST_CASE("merge") {
    expect_merge({"l", "o", "w"}, {"l", "o"}, {"lo", "w"}, "the two become one symbol");
    expect_merge({"l", "o", "w"}, {"o", "w"}, {"l", "ow"}, "the last two too");
    expect_merge({"a", "b", "c", "a", "b"}, {"a", "b"}, {"ab", "c", "ab"},
                 "at every place, not only the first");
    expect_merge({"b", "a"}, {"a", "b"}, {"b", "a"}, "the order counts");
    expect_merge({"x", "x", "x"}, {"x", "x"}, {"xx", "x"},
                 "a symbol is used once: after a merge go on behind it");
    expect_merge({"x", "x", "x", "x"}, {"x", "x"}, {"xx", "xx"}, "and not again within the same pass");
    expect_merge({"ab", "c"}, {"a", "b"}, {"ab", "c"}, "symbols are compared, not letters");
    expect_merge({"a"}, {"a", "a"}, {"a"}, "a single symbol has no neighbour");
    expect_merge({}, {"a", "b"}, {}, "an empty word stays empty");
}

static const std::vector<std::pair<std::string, int>> corpus = {{"low", 5},    {"lower", 2}, {"newest", 6},
                                                                {"widest", 3}, {"oooo", 4},  {"slowest", 1}};

TEST_CASE("learn: the rules that the library learns from the same text") {
    std::vector<Word> words;
    using namespace plaingrad::models::text::tokenizer;  // NOLINT
    WordCounts counts;
    for (const auto& [word, count] : corpus) {
        words.push_back({characters(word), count});
        for (int i = 0; i < count; ++i)
            counts.add(word);
    }
    std::string rules = "#version: 0.2\n";
    for (const Pair& rule : learn(words, 12))
        rules += text(rule) + "\n";
    const std::string expected = codes_of(learn_word_merges(counts, 12).rules);
    exercise.expect(rules == expected, "learn finds other rules:\n", rules, "expected:\n", expected);
}

TEST_CASE("encode: a word that was not learned from") {
    const std::vector<Pair> rules = {{"e", "s"}, {"es", "t</w>"}, {"l", "o"}, {"t", "e"}};
    const auto expect = [&](const std::string& word, const Symbols& expected, const std::string& rule) {
        const Symbols given = encode(characters(word), rules);
        exercise.expect(given == expected, "encode makes '", text(characters(word)), "' to '", text(given),
                        "'; expected '", text(expected), "': ", rule);
    };
    expect("lowest", {"lo", "w", "est</w>"}, "each rule in turn, at all its places");
    expect("test", {"t", "est</w>"}, "in the order of the rules: e s is older than t e");
    expect("xyz", {"x", "y", "z</w>"}, "no rule, no change");
}
