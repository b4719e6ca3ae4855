// What both kinds of byte-pair encoding share: rules that merge two adjacent symbols into one. Bpe and
// ByteBpe decide which symbols a word consists of before any merge.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "autograd/random.h"
#include "models/text/pair_table.h"
#include "models/text/vocabulary.h"

namespace plaingrad::models::text {

// Parts of one text, without copies of them.
using Pieces = std::vector<std::string_view>;

// Splits a line at its spaces. CR and LF at both ends count as spaces. Everything else, such as tabs and
// no-break spaces, belongs to words.
Pieces split_at_spaces(std::string_view line);

// The words of a text and how often each occurs.
class WordCounts {
public:
    void add(std::string_view word);       // an empty word is ignored
    void add_line(std::string_view line);  // words separated by spaces

    int64_t size() const { return static_cast<int64_t>(counts_.size()); }
    const std::string& word(int64_t i) const { return words_.word(static_cast<int32_t>(i) + kFirstFreeId); }
    int64_t count(int64_t i) const { return counts_[static_cast<std::size_t>(i)]; }

    // A line `word count` for each word, in order of decreasing count; ties in the order of adding.
    std::string text() const;

private:
    Vocabulary words_;
    std::vector<int64_t> counts_;
};

// A part of a word: its id in Merges::symbols, or kUnk; and its length.
struct Symbol {
    int32_t id;
    std::size_t bytes;
};

// In each round, each place where a rule applies is skipped with probability p, so that a model sees many
// splits of a word. Provilkov, Emelianenko & Voita 2020, "BPE-Dropout: Simple and Effective Subword
// Regularization", §3.1.
struct MergeDropout {
    double p = 0;
    autograd::Rng rng = autograd::Rng(0);
    uint64_t drawn = 0;
    bool operator()() { return p > 0 && rng.uniform(drawn++) < p; }
};

class Merges {
public:
    struct Rule {
        int32_t left, right, merged;  // ids of symbols
    };
    struct Word {
        std::vector<Symbol> symbols;
        int64_t count;
    };

    // Appends a rule for the most frequent pair in the words, applies it to them, and repeats. Of equally
    // frequent pairs it takes the one whose left, then right symbol is the greatest, compared by bytes. Ends
    // after `merges` rules, or when no pair occurs `min_count` times.
    void learn(std::vector<Word> words, int64_t merges, int64_t min_count);

    // Appends a rule. If the pair already has one, that one keeps its rank.
    void add(std::string_view left, std::string_view right);

    // In each round, applies the first of all rules that match adjacent symbols, at all its places from left
    // to right. Ends when no rule matches.
    void apply(std::vector<Symbol>& word, MergeDropout& dropout) const;

    // The same without dropout and with the first place only in each round, which is another result only if a
    // rule comes before one that makes its symbols.
    void apply(std::vector<int32_t>& word) const { pairs_.apply(word); }

    // The first rule that makes this symbol; null if none does.
    const Rule* maker(std::string_view symbol) const;

    // A codes file as of subword-nmt: `#version: 0.2`, then `left right` for each rule. Files of version 0.1
    // lack the first line. `read` appends the rules. It throws Error naming `where` and the line for any
    // other format; and, if `closed`, for a symbol that is neither in `symbols` nor made by a line above.
    std::string text() const;
    void read(std::string_view text, const std::string& where, bool closed);

    Vocabulary symbols;  // those of the rules, and others that were added
    std::string version = "0.2";

private:
    std::vector<Rule> rules_;
    PairTable pairs_;                              // ranks are indices of rules_
    std::unordered_map<int32_t, int32_t> makers_;  // of symbols: indices of rules_
};

}  // namespace plaingrad::models::text
