// Byte-pair encoding of words: rare words become pieces that are frequent. Sennrich, Haddow & Birch 2016,
// "Neural Machine Translation of Rare Words with Subword Units", §3.2. Files, text, and every choice between
// equals are as in the authors' program, subword-nmt.
//
//     const Bpe bpe = Bpe::learn(counts, 10000);
//     bpe.apply("eine eisenbahn");          // "eine eisen@@ bahn"
//     Bpe::undo("eine eisen@@ bahn");       // "eine eisenbahn"
#pragma once

#include <optional>
#include <unordered_set>

#include "models/text/merges.h"

namespace plaingrad::models::text {

// Words are separated by spaces. A word begins as its characters, the last of them with "</w>" appended
// (in codes of version 0.1 that is a symbol of its own). A byte that is not UTF-8 counts as a character.
class Bpe {
public:
    // From the words of all languages that are to share their pieces. Throws Error for fewer than 0 merges,
    // and for a min_count below 1.
    static Bpe learn(const WordCounts& words, int64_t merges, int64_t min_count = 2);

    // What is written in a file of codes: see Merges::text. Throws Error naming `where` and the line.
    static Bpe from_codes(std::string_view codes, const std::string& where);
    std::string codes() const { return merges_.text(); }

    // From now on only pieces of a vocabulary are written, if their count there is at least `threshold`: it
    // has lines `piece count`, as WordCounts::text makes them of text with pieces. Any other piece is split
    // into the two that its rule joined, and these again, as far as there are rules. Throws Error naming
    // `where` and the line.
    void allow_only(std::string_view vocabulary, int64_t threshold, const std::string& where);

    // The words' pieces, "@@" behind each that does not end its word, and one space between any two. Spaces
    // and line breaks at the line's ends stay. Dropout is a probability, see MergeDropout; with the same rng
    // the same line has the same pieces.
    std::string apply(std::string_view line, double dropout = 0,
                      const autograd::Rng& rng = autograd::Rng(0)) const;

    // All pieces that the rules can make, in the order of the rules and as `apply` writes them, and the
    // characters that occur in rules.
    std::vector<std::string> pieces() const;

    // Words again: removes every "@@ ", and "@@" at the end.
    static std::string undo(std::string_view line);

private:
    Pieces characters(std::string_view word) const;
    void append(std::string_view piece, const char* word_end, std::string& out) const;

    Merges merges_;
    std::optional<std::unordered_set<std::string>> allowed_;  // with their "@@"; nothing: all are
};

}  // namespace plaingrad::models::text
