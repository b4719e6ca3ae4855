#include "models/text/merges.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>

#include "autograd/base/check.h"
#include "models/text/lines.h"
#include "nn/checkpoint/file.h"

namespace plaingrad::models::text {

using autograd::check;

Pieces split_at_spaces(std::string_view line) {
    line = line.substr(0, line.find_last_not_of("\r\n ") + 1);  // npos is -1
    Pieces words;
    for (std::size_t at = line.find_first_not_of("\r\n "); at < line.size();) {
        const std::size_t end = std::min(line.find(' ', at), line.size());
        words.push_back(line.substr(at, end - at));
        at = line.find_first_not_of(' ', end);
    }
    return words;
}

void WordCounts::add(std::string_view word) {
    if (word.empty())
        return;
    const auto i = static_cast<std::size_t>(words_.add(word) - kFirstFreeId);
    counts_.resize(std::max(counts_.size(), i + 1));
    ++counts_[i];
}

void WordCounts::add_line(std::string_view line) {
    for (const std::string_view word : split_at_spaces(line))
        add(word);
}

std::string WordCounts::text() const {
    std::vector<int64_t> order(counts_.size());
    std::iota(order.begin(), order.end(), int64_t(0));
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return count(a) > count(b); });
    std::string lines;
    for (const int64_t i : order)
        lines.append(word(i)).append(" ").append(std::to_string(count(i))).append("\n");
    return lines;
}

namespace {

uint64_t key(int32_t left, int32_t right) {
    return static_cast<uint64_t>(left) << 32 | static_cast<uint32_t>(right);
}

// Merges symbols i and i + 1 wherever `here(i)` is true. Of two overlapping places, the first one counts: x x
// x becomes xx x.
template <class Here>
void merge(std::vector<Symbol>& word, int32_t merged, Here here) {
    std::size_t size = 0;
    for (std::size_t i = 0; i < word.size(); ++i) {
        Symbol symbol = word[i];
        if (i + 1 < word.size() && here(i))
            symbol = {merged, symbol.bytes + word[++i].bytes};
        word[size++] = symbol;
    }
    word.resize(size);
}

// The words while rules are learned, and how often each pair occurs in them. It is fast because a rule
// changes only the words that have its pair, and only the pairs of these words are counted again.
class Learner {
public:
    struct Pair {
        int32_t left = 0, right = 0;
        int64_t count = 0, ordered = 0;  // ordered: the count that order_ has
        std::vector<std::size_t> words;  // all that have the pair, and some that had it
    };

    Learner(const Vocabulary& symbols, std::vector<Merges::Word> words, int64_t min_count)
        : words_(std::move(words)), min_count_(min_count), order_(Less{symbols}) {
        for (std::size_t w = 0; w < words_.size(); ++w)
            count(w, 1, kAny);
        update_order();
    }

    // The next pair to learn; null if none is frequent enough.
    const Pair* first() const { return order_.empty() ? nullptr : order_.rbegin()->pair; }

    void apply(const Pair& pair, int32_t merged) {
        for (const std::size_t w : std::vector<std::size_t>(pair.words)) {
            std::vector<Symbol>& word = words_[w].symbols;
            count(w, -1, merged);
            merge(word, merged,
                  [&](std::size_t i) { return word[i].id == pair.left && word[i + 1].id == pair.right; });
            count(w, 1, merged);
        }
        update_order();
    }

private:
    static constexpr int32_t kAny = -1;

    struct Ordered {
        int64_t count;
        Pair* pair;
    };
    struct Less {
        const Vocabulary& symbols;
        bool operator()(const Ordered& a, const Ordered& b) const {
            return std::tie(a.count, symbols.word(a.pair->left), symbols.word(a.pair->right)) <
                   std::tie(b.count, symbols.word(b.pair->left), symbols.word(b.pair->right));
        }
    };

    // Adds the pairs of a word to the counts, or with sign -1 subtracts them. Only pairs with the symbol
    // `merged` can be new in it.
    void count(std::size_t w, int64_t sign, int32_t merged) {
        const std::vector<Symbol>& word = words_[w].symbols;
        for (std::size_t i = 1; i < word.size(); ++i) {
            const int32_t left = word[i - 1].id, right = word[i].id;
            Pair& pair = pairs_[key(left, right)];
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
                order_.erase({pair->ordered, pair});
                pair->ordered = pair->count;
                if (pair->count >= min_count_)
                    order_.insert({pair->count, pair});
            }
        changed_.clear();
    }

    std::vector<Merges::Word> words_;
    int64_t min_count_;
    std::unordered_map<uint64_t, Pair> pairs_;  // their addresses are stable
    std::vector<Pair*> changed_;                // since the last update_order, some twice
    std::set<Ordered, Less> order_;
};

}  // namespace

void Merges::learn(std::vector<Word> words, int64_t merges, int64_t min_count) {
    check(merges >= 0 && min_count >= 1, "[learn] merges must be at least 0, and min_count at least 1: got ",
          merges, " and ", min_count);
    Learner learner(symbols, std::move(words), min_count);
    for (const Learner::Pair* pair = nullptr; merges > 0 && (pair = learner.first()) != nullptr; --merges) {
        add(symbols.word(pair->left), symbols.word(pair->right));
        learner.apply(*pair, rules_.back().merged);
    }
}

void Merges::add(std::string_view left, std::string_view right) {
    const auto place = static_cast<int32_t>(rules_.size());
    const int32_t l = symbols.add(left), r = symbols.add(right);
    const int32_t merged = symbols.add(std::string(left).append(right));
    rules_.push_back({l, r, merged});
    if (pairs_.find(l, r).rank == PairTable::kNone)
        pairs_.set(l, r, {place, merged});
    makers_.try_emplace(merged, place);
}

void Merges::apply(std::vector<Symbol>& word, MergeDropout& dropout) const {
    std::vector<int32_t> ranks;
    while (true) {
        ranks.clear();
        for (std::size_t i = 1; i < word.size(); ++i) {
            const int32_t rank = pairs_.find(word[i - 1].id, word[i].id).rank;
            ranks.push_back(rank == PairTable::kNone || dropout() ? PairTable::kNone : rank);
        }
        const auto first = std::min_element(ranks.begin(), ranks.end());
        if (first == ranks.end() || *first == PairTable::kNone)
            return;
        const int32_t rank = *first;
        merge(word, rules_[static_cast<std::size_t>(rank)].merged,
              [&](std::size_t i) { return ranks[i] == rank; });
    }
}

const Merges::Rule* Merges::maker(std::string_view symbol) const {
    const auto place = makers_.find(symbols.id(symbol));
    return place == makers_.end() ? nullptr : &rules_[static_cast<std::size_t>(place->second)];
}

static const std::string kVersion = "#version: ";

std::string Merges::text() const {
    std::string lines;
    if (version != "0.1")
        lines.append(kVersion).append(version).append("\n");
    for (const Rule& rule : rules_)
        lines.append(symbols.word(rule.left)).append(" ").append(symbols.word(rule.right)).append("\n");
    return lines;
}

void Merges::read(std::string_view text, const std::string& where, bool closed) {
    const std::vector<std::string> lines = lines_of(text, where);
    const bool first_is_version = lines[0].starts_with(kVersion);
    version =
        first_is_version ? lines[0].substr(kVersion.size(), lines[0].find(" -") - kVersion.size()) : "0.1";
    nn::checkpoint::check_file(version == "0.1" || version == "0.2", where,
                               ":1: merges must be of version 0.1 or 0.2: got '", version, "'");
    for (std::size_t i = first_is_version ? 1 : 0; i < lines.size(); ++i) {
        const Pieces pair = split_at_spaces(lines[i]);
        nn::checkpoint::check_file(pair.size() == 2, where, ":", i + 1,
                                   ": a line must have two symbols with a space between: got ", pair.size());
        for (const std::string_view symbol : pair)
            nn::checkpoint::check_file(!closed || symbols.id(symbol) != kUnk, where, ":", i + 1, ": '",
                                       symbol, "' is neither a byte nor made by a line above");
        add(pair[0], pair[1]);
    }
}

}  // namespace plaingrad::models::text
