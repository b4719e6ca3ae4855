// Exercise 10: byte-pair encoding's merge (45 minutes)
//
// The idea: a vocabulary of words is never complete, and one of characters makes texts long. There is a
// middle: start with characters, and again and again join the most frequent pair of neighbours into one
// symbol. Frequent words become a single symbol, rare ones a few pieces. (Sennrich, Haddow & Birch 2016,
// §3.2)
//
// Given (10/given.h): words, split into characters. "</w>" marks the end of a word, so that the "est" in
// "estimate" and the "est</w>" in "newest" are different symbols.
// Write: most_frequent_pair, merge, learn and encode.
// Read before: models/README.md ("Byte-pair encoding by hand")
#pragma once

#include <map>

#include "tests/exercises/10/given.h"

namespace plaingrad::exercises {

// The pair of neighbours that is most frequent in the text; of equally frequent ones the greatest, as
// pairs of strings compare. A pair of empty strings if no word has two symbols.
// answer
// A pair occurs as often as the words that it is in. Ties need a rule, so that two machines learn the
// same: the map is sorted, so with `>=` the greatest of the most frequent pairs is left.
// end
inline Pair most_frequent_pair(const std::vector<Word>& words) {
    // skeleton: not_written(10, "most_frequent_pair", words);
    // answer
    std::map<Pair, int64_t> counts;
    for (const Word& word : words)
        for (std::size_t i = 1; i < word.symbols.size(); ++i)
            counts[{word.symbols[i - 1], word.symbols[i]}] += word.count;
    std::pair<Pair, int64_t> best;
    for (const auto& candidate : counts)
        if (candidate.second >= best.second)
            best = candidate;
    return best.first;
    // end
}

// The word with each place of the pair as one symbol, from left to right; x x x becomes xx x.
inline Symbols merge(const Symbols& word, const Pair& pair) {
    // skeleton: not_written(10, "merge", word, pair);
    // answer
    Symbols merged;
    for (std::size_t i = 0; i < word.size(); ++i) {
        const bool here = i + 1 < word.size() && word[i] == pair.first && word[i + 1] == pair.second;
        merged.push_back(here ? word[i] + word[i + 1] : word[i]);
        i += here;  // the second symbol is used up, and cannot begin another pair
    }
    return merged;
    // end
}

// The first `merges` rules: finds the most frequent pair, merges it in all words, and so on. Ends earlier
// if no pair is left.
// answer
// A rule changes the counts for the next one: the symbol that it made is a symbol like any other.
// end
inline std::vector<Pair> learn(std::vector<Word> words, int merges) {
    // skeleton: not_written(10, "learn", words, merges);
    // answer
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
    // end
}

// The symbols of a word that may be in no text that was learned from; characters has one symbol a character.
// answer
// The rules are applied in the order in which they were learned, because a later one may need the symbol
// that an earlier one makes.
// end
inline Symbols encode(const Symbols& characters, const std::vector<Pair>& rules) {
    // skeleton: not_written(10, "encode", characters, rules);
    // answer
    Symbols symbols = characters;
    for (const Pair& rule : rules)
        symbols = merge(symbols, rule);
    return symbols;
    // end
}

}  // namespace plaingrad::exercises

// answer
// In the library: models/text/tokenizer/learn_merges.cpp, Learner
//
// The library recounts only what a rule has changed. That is how it learns ten thousand merges in seconds.
// end
