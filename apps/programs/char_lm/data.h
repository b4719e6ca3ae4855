// The texts that char_lm is trained and evaluated on: files as ids, the held-out part, pieces as long as the
// context, batches.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "autograd/random.h"
#include "autograd/tokens.h"
#include "models/text/characters.h"

namespace plaingrad::char_lm {

using autograd::Rng;
using autograd::Tokens;
using models::text::Characters;
using Sequence = std::vector<int32_t>;

// The text that char_lm learns when it is given none: a lighthouse's log book, written for this purpose. The
// Makefile compiles it into the program from log_book.txt. It must not change: the losses in the README are
// of exactly these characters.
extern const std::string_view log_book;

struct File {
    std::string name, text;
};

// Reads files as bytes, or as text without byte order marks and carriage returns.
std::vector<File> read_files(const std::vector<std::string>& names, bool bytes);

// All files as one sequence; or, with `lines`, each line as one: <sos> characters <eos>. Throws Error for an
// unknown character; but if `unknown` is given, unknown characters are counted there and left out.
std::vector<Sequence> encode(const std::vector<File>& files, const Characters& characters, bool lines,
                             int64_t* unknown = nullptr);

struct Corpus {
    Characters characters;
    bool lines;
    std::vector<Sequence> training, held_out;
};

// Holds out the last tenth of a text; of lines, a random tenth, at most 1,000, the same for every seed.
Corpus make_corpus(const std::vector<File>& files, bool bytes, bool lines);
// "612 characters to learn from, 68 held out; 13 different characters", on standard error.
void describe(const Corpus& corpus);

// How many positions the longest line needs, <sos> or <eos> included.
int64_t context_of_longest(const std::vector<Sequence>& lines);

// Cuts each item into pieces of context + 1 characters. A piece begins with the last character of the one
// before. So every character but an item's first is predicted once, from those before it in its piece.
std::vector<Sequence> cut(const std::vector<Sequence>& items, int64_t context);

// Pieces of the training data in random order, round after round. In each round, a text gives one piece for
// every `context` characters, and each piece has a random start of its own among these. If all pieces began a
// multiple of `context` apart, then in a text with rows of that length a position would always hold the same
// column, and the model would learn columns by position, which is worth nothing where rows begin elsewhere.
class Batches {
public:
    Batches(const Corpus& corpus, int64_t context, const Rng& rng)
        : corpus_(corpus), context_(context), rng_(rng) {}

    Tokens next(int64_t rows);
    void skip(int64_t rows);  // past what next(rows) would return

private:
    void start_round();
    std::vector<Sequence> windows(const Rng& random) const;

    const Corpus& corpus_;
    int64_t context_;
    Rng rng_;
    uint64_t rounds_ = 0;
    std::vector<Sequence> pieces_;
    std::vector<int64_t> order_;
};

}  // namespace plaingrad::char_lm
