// A new BERT that fills gaps, with a WordPiece vocabulary that is learned from texts.
#pragma once

#include "apps/kit/new_model.h"

namespace plaingrad::fill {

void add_new_options(kit::Options& options, kit::NewModel& s);
void make_new(const kit::NewModel& s);

// At most `count` pieces of a text's words, as vocab.txt has them: the five special tokens, all characters or
// the most frequent ones that fit, and what pairs of pieces, the most frequent ones first, become when they
// are joined. A piece that continues a word begins with ##: a character may be there in both forms. left_out:
// how many characters, in either form, did not fit; words that have them are read as [UNK]. Schuster &
// Nakajima 2012, "Japanese and Korean Voice Search", §2, who join the pairs that make the text most probable
// instead.
struct Pieces {
    std::vector<std::string> pieces;
    int64_t left_out = 0;
};
Pieces learn_pieces(const std::string& text, int64_t count);

}  // namespace plaingrad::fill
