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
inline Pair most_frequent_pair(const std::vector<Word>& words) {
    not_written(10, "most_frequent_pair", words);
}

// The word with each place of the pair as one symbol, from left to right; x x x becomes xx x.
inline Symbols merge(const Symbols& word, const Pair& pair) { not_written(10, "merge", word, pair); }

// The first `merges` rules: finds the most frequent pair, merges it in all words, and so on. Ends earlier
// if no pair is left.
inline std::vector<Pair> learn(std::vector<Word> words, int merges) {
    not_written(10, "learn", words, merges);
}

// The symbols of a word that may be in no text that was learned from; characters has one symbol a character.
inline Symbols encode(const Symbols& characters, const std::vector<Pair>& rules) {
    not_written(10, "encode", characters, rules);
}

}  // namespace plaingrad::exercises
