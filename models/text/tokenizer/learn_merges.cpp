#include "models/text/tokenizer/learn_merges.h"

#include <set>
#include <tuple>

#include "autograd/base/list.h"
#include "models/text/lines.h"
#include "models/text/unicode.h"

namespace plaingrad::models::text::tokenizer {

using autograd::check;

WordCounts::WordCounts(const Strings& words) {
    for (const std::string& word : words)
        add(word);
}

int32_t WordCounts::add(std::string_view word, int64_t times) {
    const auto [place, is_new] = places_.try_emplace(std::string(word), all_.size());
    if (is_new)
        all_.emplace_back(word, 0);
    all_[place->second].second += times;
    return static_cast<int32_t>(place->second);
}

void WordCounts::add_line(std::string_view line) {
    for (const std::string_view word : split(line, [](char32_t c) { return c == ' '; }))
        add(word);
}

Strings WordCounts::words(int64_t least) const {
    Strings words;
    for (const auto& [word, count] : all_)
        if (count >= least)
            words.push_back(word);
    return words;
}

namespace {

// Of two overlapping places, the first one counts: x x x becomes xx x.
void merge(Ids& word, int32_t left, int32_t right, int32_t merged) {
    std::size_t size = 0;
    for (std::size_t i = 0; i < word.size(); ++i) {
        const bool here = i + 1 < word.size() && word[i] == left && word[i + 1] == right;
        word[size++] = here ? merged : word[i];
        i += here ? 1 : 0;
    }
    word.resize(size);
}

// The words while rules are learned, and how often each pair occurs in them. It is fast because a rule
// changes only the words that have its pair, and only the pairs of these words are counted again.
class Learner {
public:
    struct Word {
        Ids symbols;
        int64_t count;
    };
    struct Pair {
        int32_t left = 0, right = 0;
        int64_t count = 0, ordered = 0;  // ordered: the count that order_ has
        std::vector<std::size_t> words;  // all that have the pair, and some that had it
    };

    Learner(const WordCounts& symbols, std::vector<Word> words)
        : symbols_(symbols), words_(std::move(words)) {
        for (std::size_t w = 0; w < words_.size(); ++w)
            count(w, 1, kAny);
        update_order();
    }

    // The next pair to learn; null if none occurs twice.
    const Pair* first() const { return order_.empty() ? nullptr : std::get<Pair*>(*order_.rbegin()); }

    void apply(const Pair& pair, int32_t merged) {
        for (const std::size_t w : std::vector<std::size_t>(pair.words)) {
            count(w, -1, merged);
            merge(words_[w].symbols, pair.left, pair.right, merged);
            count(w, 1, merged);
        }
        update_order();
    }

private:
    static constexpr int32_t kAny = -1;

    // By counts, then by symbols.
    using Ordered = std::tuple<int64_t, std::string_view, std::string_view, Pair*>;
    Ordered ordered(Pair* pair) const {
        return {pair->ordered, symbols_.word(pair->left), symbols_.word(pair->right), pair};
    }

    // Adds the pairs of a word to the counts, or with sign -1 subtracts them. Only pairs with the symbol
    // `merged` can be new in it.
    void count(std::size_t w, int64_t sign, int32_t merged) {
        const Ids& word = words_[w].symbols;
        for (std::size_t i = 1; i < word.size(); ++i) {
            const int32_t left = word[i - 1], right = word[i];
            Pair& pair = pairs_[PairTable::key(left, right)];
            pair.count += sign * words_[w].count;
            changed_.push_back(&pair);
            const bool may_be_new = sign > 0 && (merged == kAny || left == merged || right == merged);
            if (may_be_new && (pair.words.empty() || pair.words.back() != w)) {
                pair.left = left;
                pair.right = right;
                pair.words.push_back(w);
            }
        }
    }

    void update_order() {
        for (Pair* pair : changed_)
            if (pair->count != pair->ordered) {
                order_.erase(ordered(pair));
                pair->ordered = pair->count;
                if (pair->count >= 2)
                    order_.insert(ordered(pair));
            }
        changed_.clear();
    }

    const WordCounts& symbols_;
    std::vector<Word> words_;
    std::unordered_map<uint64_t, Pair> pairs_;  // their addresses are stable
    std::vector<Pair*> changed_;                // since the last update_order, some twice
    std::set<Ordered> order_;
};

}  // namespace

Merges learn_merges(const WordCounts& words, Strings (*symbols_of)(std::string_view word), int64_t merges,
                    const Strings& first) {
    check(merges >= 0, "[learn_merges] merges must be at least 0: got ", merges);
    WordCounts symbols(first);  // each with its place
    const auto place = [&](const std::string& symbol) { return symbols.add(symbol); };
    std::vector<Learner::Word> in_symbols;
    for (const auto& [word, count] : words.all())
        in_symbols.push_back({autograd::mapped(symbols_of(word), place), count});
    std::vector<MergeRule> rules;
    Learner learner(symbols, std::move(in_symbols));
    for (const Learner::Pair* pair = nullptr; merges > 0 && (pair = learner.first()) != nullptr; --merges) {
        rules.emplace_back(symbols.word(pair->left), symbols.word(pair->right));
        learner.apply(*pair, place(rules.back().first + rules.back().second));
    }
    return {symbols.words(), std::move(rules)};
}

Merges learn_word_merges(const WordCounts& words, int64_t merges) {
    const auto characters = [](std::string_view word) {
        Strings all;
        for (const Character& c : Characters(word)) {
            const bool last = c.bytes.data() + c.bytes.size() == word.data() + word.size();
            all.push_back(std::string(c.bytes) + (last ? "</w>" : ""));
        }
        return all;
    };
    return learn_merges(words, characters, merges);
}

Merges learn_byte_merges(const WordCounts& words, int64_t merges) {
    const auto bytes = [](std::string_view word) {
        return autograd::mapped(
            word, [](char byte) { return byte_alphabet().character[static_cast<unsigned char>(byte)]; });
    };
    return learn_merges(words, bytes, merges, bytes(byte_alphabet().order));
}

static const std::string kVersion = "#version: 0.2";

std::string codes_of(const std::vector<MergeRule>& rules) {
    std::string lines = kVersion + "\n";
    for (const auto& [left, right] : rules)
        lines.append(left).append(" ").append(right).append("\n");
    return lines;
}

std::vector<MergeRule> read_codes(std::string_view text, const std::string& where, bool versioned) {
    const Strings lines = lines_of(text, where);
    check_file(!versioned || lines[0].starts_with(kVersion), where, ":1: merges must begin with a line '",
               kVersion, "'");
    std::vector<MergeRule> rules;
    for (std::size_t i = lines[0].starts_with("#version") ? 1 : 0; i < lines.size(); ++i) {
        const auto rule = Bpe::rule(lines[i]);
        check_file(rule && !rule->first.empty() && !rule->second.empty(), where, ":", i + 1,
                   ": a line must have two symbols with a space between");
        rules.emplace_back(*rule);
    }
    return rules;
}

}  // namespace plaingrad::models::text::tokenizer
