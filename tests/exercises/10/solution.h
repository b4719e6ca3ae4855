// Solution 10: byte-pair encoding's merge
#pragma once

#include <map>

#include "tests/exercises/10/given.h"

namespace plaingrad::exercises {

// A pair occurs as often as the words that it is in. Ties need a rule, so that two machines learn the
// same: the map is sorted, so with `>=` the greatest of the most frequent pairs is left.
inline Pair most_frequent_pair(const std::vector<Word>& words) {
    std::map<Pair, int64_t> counts;
    for (const Word& word : words)
        for (std::size_t i = 1; i < word.symbols.size(); ++i)
            counts[{word.symbols[i - 1], word.symbols[i]}] += word.count;
    std::pair<Pair, int64_t> best;
    for (const auto& candidate : counts)
        if (candidate.second >= best.second)
            best = candidate;
    return best.first;
}

// The word with each place of the pair as one symbol, from left to right; x x x becomes xx x.
inline Symbols merge(const Symbols& word, const Pair& pair) {
    Symbols merged;
    for (std::size_t i = 0; i < word.size(); ++i) {
        const bool here = i + 1 < word.size() && word[i] == pair.first && word[i + 1] == pair.second;
        merged.push_back(here ? word[i] + word[i + 1] : word[i]);
        i += here;  // the second symbol is used up, and cannot begin another pair
    }
    return merged;
}

// A rule changes the counts for the next one: the symbol that it made is a symbol like any other.
inline std::vector<Pair> learn(std::vector<Word> words, int merges) {
    std::vector<Pair> rules;
    for (int i = 0; i < merges; ++i) {
        const Pair pair = most_frequent_pair(words);
        if (pair.first.empty())
            break;
        rules.push_back(pair);
        for (Word& word : words)
            word.symbols = merge(word.symbols, pair);
    }
    return rules;
}

// The rules are applied in the order in which they were learned, because a later one may need the symbol
// that an earlier one makes.
inline Symbols encode(const Symbols& characters, const std::vector<Pair>& rules) {
    Symbols symbols = characters;
    for (const Pair& rule : rules)
        symbols = merge(symbols, rule);
    return symbols;
}

}  // namespace plaingrad::exercises

// In the library: models/text/tokenizer/learn_merges.cpp, Learner
//
// The library recounts only what a rule has changed. That is how it learns ten thousand merges in seconds.
