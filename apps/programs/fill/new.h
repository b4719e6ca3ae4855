// A new BERT that fills gaps, with a WordPiece vocabulary that is learned from texts.
#pragma once

#include "apps/kit/new_model.h"

namespace plaingrad::fill {

void add_new_options(kit::Options& options, kit::NewModel& s);
void make_new(const kit::NewModel& s);

// At most `count` pieces of a text's words, as vocab.txt has them: the five special tokens, all characters,
// and what pairs of pieces, the most frequent ones first, become when they are joined. A piece that continues
// a word begins with ##. Schuster & Nakajima 2012, "Japanese and Korean Voice Search", §2, who join the pairs
// that make the text most probable instead.
std::vector<std::string> learn_pieces(const std::string& text, int64_t count);

}  // namespace plaingrad::fill
