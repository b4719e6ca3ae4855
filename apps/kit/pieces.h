// Long texts for a language model: pieces as long as its context, batches of them, and how well it predicts
// them.
#pragma once

#include <vector>

#include "models/language_model.h"
#include "nn/parallel/data_parallel.h"

namespace plaingrad::kit {

using autograd::Tokens;
using Sequence = std::vector<int32_t>;

// Reads files as bytes, or as text without byte order marks and carriage returns; then a NUL is refused.
struct File {
    std::string name, text;
};
std::vector<File> read_files(const std::vector<std::string>& names, bool bytes);
// What a message calls them: the file's name, or, of several, "the files".
std::string name_of(const std::vector<File>& files);

// Cuts each item into pieces of context + 1 tokens. A piece begins with the last token of the one before. So
// every token but an item's first is predicted once, from those before it in its piece.
std::vector<Sequence> cut(const std::vector<Sequence>& items, int64_t context);

// The batches of a run: pieces of the training data in random order, round after round. Of items that are
// texts of their own, each gives the pieces of `cut`. Of one long text, each round gives one piece for every
// `context` tokens, with a random start of its own among these. If all pieces began a multiple of `context`
// apart, then in a text with rows of that length a position would always hold the same column, and the model
// would learn columns by position, which is worth nothing where rows begin elsewhere.
class Batches {
public:
    // items: outlive it; a single one, which is longer than the context, unless `separate`. pad: fills up
    // shorter pieces, which only separate items have. rows: of a batch.
    Batches(const std::vector<Sequence>& items, bool separate, int64_t context, int32_t pad, int64_t rows,
            const autograd::Rng& rng);

    Tokens operator()(int64_t step);  // steps count from 1

private:
    Sequence piece(int64_t number) const;  // of the present round

    const std::vector<Sequence>& items_;
    bool separate_;
    int64_t context_;
    int32_t pad_;
    int64_t rows_, round_ = -1;
    autograd::Rng rng_;
    std::vector<Sequence> pieces_;  // of separate items
    std::vector<int64_t> order_;    // of the present round
};

// Position t of a row predicts position t + 1. The loss is the mean over all positions but padding.
autograd::Tensor mean_loss(const models::LanguageModel& model, const Tokens& rows, const nn::Mode& mode);
int64_t predictions(const Tokens& rows);  // how many positions that mean is over

struct Measured {
    double nats = 0;  // the mean per prediction
    int64_t predictions = 0;
};
Measured measure(const models::LanguageModel& model, const std::vector<Sequence>& pieces, int32_t pad,
                 nn::Team& team = nn::alone());
// The mean loss over batches 0 .. batches - 1. team: the processes that share them; all get the result.
Measured measure(int64_t batches, const std::function<nn::StepLoss(int64_t i)>& loss_of, nn::Team& team);

}  // namespace plaingrad::kit
