// How a model learns from long texts: files, pieces as long as its context, batches of these, how well it
// predicts them, and what the programs that train on texts have in common.
#pragma once

#include <span>
#include <vector>

#include "apps/kit/run.h"
#include "models/families/one_stack.h"

namespace plaingrad::kit {

using Sequence = std::vector<int32_t>;

// Reads files as bytes, or as text without byte order marks and carriage returns; then a NUL is refused.
// has_bytes: whether the command has --bytes; without it, bytes that are not text become U+FFFD, and are
// reported.
struct File {
    std::string name, text;
};
std::vector<File> read_files(const std::vector<std::string>& names, bool bytes, bool has_bytes = true);
// What a message calls them: the file's name, or, of several, "the files".
std::string name_of(const std::vector<File>& files);

// A text, and the file and the line where it begins.
struct Text {
    std::string_view text;
    const std::string& file;
    int64_t line = 1;
};
// Each file's text; or, with `lines`, each of its lines. What is empty is left out. The files outlive them.
std::vector<Text> texts_of(std::span<const File> files, bool lines);

// Cuts each item into pieces of context + 1 tokens. A piece begins with the last token of the one before. So
// every token but an item's first is predicted once, from those before it in its piece.
std::vector<Sequence> cut(const std::vector<Sequence>& items, int64_t context);

// The batches of a run: pieces of the training data in random order, round after round. Of items that are
// texts of their own, each gives the pieces of `cut`. Of one long text, each round gives one piece for every
// `context` tokens, with a random start of its own among these. If all pieces began a multiple of `context`
// apart, then in a text with rows of that length a position would always hold the same column, and the model
// would learn columns by position, which is worth nothing where rows begin elsewhere.
struct Batches {
    Tokens operator()(int64_t step);       // steps count from 1
    Sequence piece(int64_t number) const;  // of the present round

    const std::vector<Sequence>& items;  // a single one, which is longer than the context, unless `separate`
    bool separate;
    int64_t context;
    int32_t pad;   // fills up shorter pieces, which only separate items have
    int64_t rows;  // of a batch
    autograd::Rng rng;
    std::vector<Sequence> pieces = separate ? cut(items, context) : std::vector<Sequence>();
    int64_t round = -1;
    std::vector<int64_t> order = {};  // of the present round
};

struct Measured {
    double nats = 0;  // the mean per prediction
    int64_t predictions = 0;
};
// "1.0737 nats per token = 1.5490 bits: perplexity 2.93, over 4,943 tokens"
std::string in_words(const Measured& loss);
// The mean over these batches. team: the processes that share them; all get the result.
Measured measure(const Objective& objective, const std::vector<Examples>& batches,
                 nn::Team& team = nn::alone());
// Batches of pieces, in order, for `measure`.
std::vector<Examples> batches_of(const std::vector<Sequence>& pieces, int32_t pad);

struct TextTraining {
    models::RunSettings run = {};
    std::vector<std::string> words = {};  // the files; before them the model, if there is one
    int64_t context = 0, seed = 1;
    int64_t batch = 12, steps = 2000, validate_every = 250, patience = 0;
    double lr = 3e-3;
};

// The rows --batch, --steps, --lr, --validate-every and --patience; `pieces` are what a batch consists of.
void add_text_training(Options& options, TextTraining& t, const std::string& pieces = "pieces of text");

// The learning rate rises for up to 100 steps, and then falls along a cosine to a tenth.
models::RunOptions run_options(const TextTraining& t, const nn::AdamOptions& adam);

// Learns all steps, and says in words what text costs that is held out, before and after. at_end: what is
// measured after the last step.
void train(Run& run, const std::vector<Examples>& held_out, const std::vector<Examples>& at_end);

}  // namespace plaingrad::kit
