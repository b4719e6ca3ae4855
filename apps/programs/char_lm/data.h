// The texts that char_lm is trained and evaluated on: files as ids, and the held-out part.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apps/kit/pieces.h"
#include "autograd/random.h"
#include "models/text/learn_tokenizer.h"

namespace plaingrad::char_lm {

using autograd::Rng;
using autograd::Tokens;
using kit::File;
using kit::Sequence;
using models::text::Tokenizer;

// The text that char_lm learns when it is given none: a lighthouse's log book, written for this purpose. The
// Makefile compiles it into the program from log_book.txt. It must not change: the losses in the README are
// of exactly these characters.
extern const std::string_view log_book;

// All files as one sequence; or, with `lines`, each line as one: <sos> characters <eos>. Throws Error for an
// unknown character; but if `unknown` is given, unknown characters are counted there and left out.
std::vector<Sequence> encode(const std::vector<File>& files, const Tokenizer& tokenizer, bool lines,
                             int64_t* unknown = nullptr);

struct Corpus {
    Tokenizer tokenizer;
    bool lines;
    std::vector<Sequence> training, held_out;
};

// Holds out the last tenth of a text; of lines, a random tenth, at most 1,000, the same for every seed.
Corpus make_corpus(const std::vector<File>& files, bool bytes, bool lines);
// "612 characters to learn from, 68 held out; 13 different characters", on standard error.
void describe(const Corpus& corpus);

// How many positions the longest line needs, <sos> or <eos> included.
int64_t context_of_longest(const std::vector<Sequence>& lines);

}  // namespace plaingrad::char_lm
