// What both kinds of byte-pair encoding have in common: rules by which two neighbouring symbols become one.
// Bpe and ByteBpe say of what words consist at the beginning.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "autograd/random.h"
#include "models/text/vocabulary.h"

namespace plaingrad::models::text {

// Parts of one text, without copies of them.
using Pieces = std::vector<std::string_view>;

// What stands between the spaces of a line. CR and LF at its ends count as spaces; all else, such as tabs and
// no-break spaces, belongs to words.
Pieces split_at_spaces(std::string_view line);

// The words of a text and how often each occurs.
class WordCounts {
public:
    void add(std::string_view word);       // an empty one is no word, and does not count
    void add_line(std::string_view line);  // its words, separated by spaces

    int64_t size() const { return static_cast<int64_t>(counts_.size()); }
    const std::string& word(int64_t i) const { return words_.word(static_cast<int32_t>(i) + kFirstFreeId); }
    int64_t count(int64_t i) const { return counts_[static_cast<std::size_t>(i)]; }

    // A line `word count` for each, by falling count; of equal ones first what was added first.
    std::string text() const;

private:
    Vocabulary words_;
    std::vector<int64_t> counts_;
};

// A part of a word: its id in Merges::symbols, kUnk if it is not there.
struct Symbol {
    int32_t id;
    std::size_t bytes;
};

// In each round each place where a rule could be applied is skipped with probability p, so that a model reads
// a word in many ways. Provilkov, Emelianenko & Voita 2020, "BPE-Dropout: Simple and Effective Subword
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

    // Appends a rule for the pair that is most frequent in the words, applies it to them, and so on; of
    // equally frequent pairs it takes the one whose left, then right symbol is the greatest, compared by
    // bytes. Ends after `merges` rules, or when no pair occurs `min_count` times.
    void learn(std::vector<Word> words, int64_t merges, int64_t min_count);

    // Appends a rule. A pair that has one already keeps it.
    void add(std::string_view left, std::string_view right);

    // In rounds: of all rules that neighbouring symbols have the first one is applied at all its places, from
    // left to right. Ends when there is none.
    void apply(std::vector<Symbol>& word, MergeDropout& dropout) const;

    // The first rule that makes a symbol; null if none does.
    const Rule* maker(std::string_view symbol) const;

    // The field's file of codes: `#version: 0.2`, then `left right` for each rule. Files of version 0.1 have
    // no such first line. Reading appends the rules. Throws Error naming `where` and the line for one that is
    // not like this; if `closed` also for symbols that are neither in `symbols` nor made by a line above.
    std::string text() const;
    void read(std::string_view text, const std::string& where, bool closed);

    Vocabulary symbols;  // those of rules, and what else was added
    std::string version = "0.2";

private:
    std::vector<Rule> rules_;
    std::unordered_map<uint64_t, int32_t> ranks_;  // of pairs: places in rules_
    std::unordered_map<int32_t, int32_t> makers_;  // of symbols: places in rules_
};

}  // namespace plaingrad::models::text
