// Byte-pair encoding of ten words, by counting, and by models/text/tokenizer/learn_merges.h.
#include <algorithm>
#include <map>
#include <ostream>

#include "autograd/base/check.h"
#include "models/text/learn_tokenizer.h"
#include "models/text/tokenizer/learn_merges.h"
#include "tests/chapters/models.h"
#include "tests/chapters/print.h"

namespace plaingrad::chapters {

using autograd::join;

namespace {

using Symbols = std::vector<std::string>;
struct Word {
    Symbols symbols;
    int count;
};
constexpr int kMerges = 8;
const std::pair<const char*, int> kCorpus[] = {{"low", 5},    {"lower", 2},  {"lowest", 2}, {"new", 6},
                                               {"newer", 3},  {"newest", 4}, {"wide", 2},   {"wider", 3},
                                               {"widest", 3}, {"slow", 1}};

std::vector<Word> spelled() {
    std::vector<Word> words;
    for (const auto& [text, count] : kCorpus) {
        Word word = {{}, count};
        for (const char* c = text; *c != '\0'; ++c)
            word.symbols.emplace_back(1, *c);
        word.symbols.back() += "</w>";
        words.push_back(word);
    }
    return words;
}

using Pair = std::pair<std::string, std::string>;
std::vector<std::pair<int, Pair>> pairs_by_count(const std::vector<Word>& words) {
    std::map<Pair, int> counts;
    for (const Word& word : words)
        for (std::size_t i = 0; i + 1 < word.symbols.size(); ++i)
            counts[{word.symbols[i], word.symbols[i + 1]}] += word.count;
    std::vector<std::pair<int, Pair>> sorted;
    for (const auto& [pair, count] : counts)
        sorted.emplace_back(count, pair);
    std::sort(sorted.rbegin(), sorted.rend());
    return sorted;
}

void merge(std::vector<Word>& words, const Pair& pair) {
    for (Word& word : words)
        for (std::size_t i = 0; i + 1 < word.symbols.size(); ++i)
            if (word.symbols[i] == pair.first && word.symbols[i + 1] == pair.second) {
                word.symbols[i] += word.symbols[i + 1];
                word.symbols.erase(word.symbols.begin() + static_cast<std::ptrdiff_t>(i) + 1);
            }
}

std::string shown(const Pair& pair) { return "`" + pair.first + "` `" + pair.second + "`"; }

// The rules that the library learns, as `translate learn-bpe` writes them.
std::string learned() {
    using namespace models::text::tokenizer;  // NOLINT
    WordCounts counts;
    for (const auto& [text, count] : kCorpus)
        counts.add(text, count);
    return codes_of(learn_word_merges(counts, kMerges).rules);
}

// "low e r</w>".
std::string joined(const Symbols& symbols) {
    std::string text;
    for (const std::string& part : symbols)
        text += (text.empty() ? "" : " ") + part;
    return text;
}

// The first word with this symbol.
std::string word_with(const std::vector<Word>& words, const std::string& symbol) {
    for (const Word& word : words)
        if (std::find(word.symbols.begin(), word.symbols.end(), symbol) != word.symbols.end())
            return joined(word.symbols);
    return "";
}

void merges(std::ostream& out) {
    std::vector<Word> words = spelled();
    std::string rules = "#version: 0.2\n";
    Rows rows = {{"merge", "most frequent pair", "how often", "next in line", "one of its words is now"}};
    for (int i = 1; i <= kMerges; ++i) {
        const auto sorted = pairs_by_count(words);
        const Pair best = sorted[0].second;
        merge(words, best);
        rules += best.first + " " + best.second + "\n";
        rows.push_back({std::to_string(i), shown(best), std::to_string(sorted[0].first),
                        join(shown(sorted[1].second), ", ", sorted[1].first),
                        "`" + word_with(words, best.first + best.second) + "`"});
    }
    table(out, rows, "ntntt");
    claim(learned() == rules, "the library learns the same merges");
}

void new_words(std::ostream& out) {
    const std::string text = "low lower lowest new newer newest wide wider widest slow";
    const auto tokenizer = models::text::learn_pieces(
        {text}, {.tokenized = true, .dropout = true, .codes = learned(), .codes_file = "the rules"});
    Rows rows = {{"never seen", "pieces"}};
    for (const char* word : {"slower", "slowest", "newish", "snow"})
        rows.push_back({word, "`" + joined(tokenizer.pieces(word)) + "`"});
    table(out, rows, "tt");
}

}  // namespace

Computed byte_pairs_part() {
    return {.sections = {{"models.merges", Effort::quick, merges},
                         {"models.new_words", Effort::quick, new_words}}};
}

}  // namespace plaingrad::chapters
