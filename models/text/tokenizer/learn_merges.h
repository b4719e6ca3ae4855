// Learning the merges of byte-pair encoding: the most frequent pair of adjacent symbols becomes one symbol,
// again and again. Sennrich, Haddow & Birch 2016, "Neural Machine Translation of Rare Words with Subword
// Units", §3.2. Ties are broken as in the authors' program, subword-nmt.
#pragma once

#include <deque>
#include <unordered_map>
#include <utility>

#include "models/text/tokenizer/model.h"

namespace plaingrad::models::text::tokenizer {

// The words of a text in the order of their first occurrence, and how often each occurs.
class WordCounts {
public:
    explicit WordCounts(const Strings& words = {});
    int32_t add(std::string_view word, int64_t times = 1);  // returns its place, new or old
    void add_line(std::string_view line);                   // words separated by spaces

    const std::deque<std::pair<std::string, int64_t>>& all() const { return all_; }
    const std::string& word(int32_t place) const { return all_[static_cast<std::size_t>(place)].first; }
    Strings words(int64_t least = 0) const;  // that occur so often

private:
    std::deque<std::pair<std::string, int64_t>> all_;  // whose words stay where they are
    std::unordered_map<std::string, std::size_t> places_;
};

// Two symbols that become one; and all symbols, those that a rule makes behind those that words begin with.
using MergeRule = std::pair<std::string, std::string>;
struct Merges {
    Strings symbols;
    std::vector<MergeRule> rules;
};

// Takes the most frequent pair in the words, applies it to them, and repeats. Of equally frequent pairs it
// takes the one whose left, then right symbol is the greatest, compared by bytes. Ends after `merges` rules,
// or when no pair occurs twice. Throws Error for a negative number of merges. symbols_of: what a word begins
// with. first: symbols that come before all others, whether a word has them or not.
Merges learn_merges(const WordCounts& words, Strings (*symbols_of)(std::string_view word), int64_t merges,
                    const Strings& first = {});

// Of words that end in "</w>" with their last character: "low" is l o w</w>.
Merges learn_word_merges(const WordCounts& words, int64_t merges);
// Of sequences of bytes, each written in ByteAlphabet (model.h). All 256 bytes come first.
Merges learn_byte_merges(const WordCounts& words, int64_t merges);

// A file of rules as subword-nmt writes it: `#version: 0.2`, then `left right` for each. Reading throws Error
// naming `where` and the line for any other format. versioned: whether it must say its version, which not all
// of GPT-2's kind do.
std::string codes_of(const std::vector<MergeRule>& rules);
std::vector<MergeRule> read_codes(std::string_view text, const std::string& where, bool versioned = true);

}  // namespace plaingrad::models::text::tokenizer
