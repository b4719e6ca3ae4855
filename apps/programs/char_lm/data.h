// The texts that char_lm learns from and is measured on: files as ids, held-out parts, pieces of the context,
// batches.
#pragma once

#include <string>
#include <vector>

#include "autograd/random.h"
#include "autograd/tokens.h"
#include "models/text/characters.h"

namespace plaingrad::char_lm {

using autograd::Rng;
using autograd::Tokens;
using models::text::Characters;
using Sequence = std::vector<int32_t>;

struct File {
    std::string name, text;
};

// As bytes, or as text without byte order marks and carriage returns.
std::vector<File> read_files(const std::vector<std::string>& names, bool bytes);

// All files as one item; or for each line an item: <sos> characters <eos>. Throws Error for a character that
// is unknown, unless `unknown` counts them: then they are left out.
std::vector<Sequence> encode(const std::vector<File>& files, const Characters& characters, bool lines,
                             int64_t* unknown = nullptr);

struct Corpus {
    Characters characters;
    bool lines;
    std::vector<Sequence> training, held_out;
};

// Held out are the last tenth of the text; of lines a tenth chosen by chance, at most 1,000, and the same
// ones for every seed.
Corpus make_corpus(const std::vector<File>& files, bool bytes, bool lines);
// "612 characters to learn from, 68 held out; 13 different characters", on standard error.
void describe(const Corpus& corpus);

// How many positions the longest line takes, <sos> or <eos> included.
int64_t context_of_longest(const std::vector<Sequence>& lines);

// Pieces of the context and one more, each of which begins with the last character of the one before: so all
// characters but the first of an item are predicted once, from those that precede them in their piece.
std::vector<Sequence> cut(const std::vector<Sequence>& items, int64_t context, int64_t begin = 0);

// All pieces of the training data in random order, again and again. A text is cut elsewhere each time.
class Batches {
public:
    Batches(const Corpus& corpus, int64_t context, const Rng& rng)
        : corpus_(corpus), context_(context), rng_(rng) {}

    Tokens next(int64_t rows);
    void skip(int64_t rows);  // what next would give for so many

private:
    void start_round();

    const Corpus& corpus_;
    int64_t context_;
    Rng rng_;
    uint64_t rounds_ = 0;
    std::vector<Sequence> pieces_;
    std::vector<int64_t> order_;
};

}  // namespace plaingrad::char_lm
