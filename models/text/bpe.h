// Byte-pair encoding of words: rare words are split into frequent pieces. Sennrich, Haddow & Birch 2016,
// "Neural Machine Translation of Rare Words with Subword Units", §3.2. Files, pieces and ties are as in the
// authors' program, subword-nmt.
//
//     const Bpe bpe = Bpe::learn(counts, 10000);
//     bpe.apply("eine eisenbahn");          // "eine eisen@@ bahn"
//     Bpe::undo("eine eisen@@ bahn");       // "eine eisenbahn"
#pragma once

#include <optional>
#include <unordered_set>

#include "models/text/merges.h"

namespace plaingrad::models::text {

// Words are separated by spaces. A word is first split into its characters, the last of them with "</w>"
// appended (in codes of version 0.1, "</w>" is a symbol of its own). A byte that is not UTF-8 counts as a
// character.
class Bpe {
public:
    // From the words of all languages that will share pieces. Throws Error for a negative number of merges,
    // and for a min_count below 1.
    static Bpe learn(const WordCounts& words, int64_t merges, int64_t min_count = 2);

    // From the text of a codes file: see Merges::text. Throws Error naming `where` and the line.
    static Bpe from_codes(std::string_view codes, const std::string& where);
    std::string codes() const { return merges_.text(); }

    // From now on writes only pieces whose count in the vocabulary is at least `threshold`. The vocabulary
    // has lines `piece count`, as WordCounts::text makes them from text in pieces. Any other piece is split
    // into the two that its rule has joined, and these again, as far as there are rules. Throws Error naming
    // `where` and the line.
    void allow_only(std::string_view vocabulary, int64_t threshold, const std::string& where);

    // Splits the words of a line into pieces, separated by one space, with "@@" after each piece that does
    // not end its word. Keeps spaces and line breaks at both ends of the line. dropout: a probability, see
    // MergeDropout; the same rng gives the same pieces.
    std::string apply(std::string_view line, double dropout = 0,
                      const autograd::Rng& rng = autograd::Rng(0)) const;

    // All pieces that the rules can make and the characters in them, in the order of the rules, as `apply`
    // writes them.
    std::vector<std::string> pieces() const;

    // From pieces back to words: removes every "@@ ", and "@@" at the end.
    static std::string undo(std::string_view line);

private:
    Pieces characters(std::string_view word) const;
    void append(std::string_view piece, const char* word_end, bool ends, std::string& out) const;

    Merges merges_;
    std::optional<std::unordered_set<std::string>> allowed_;  // as written, with "@@"; no set: all are
};

}  // namespace plaingrad::models::text
