// How a model learns from long texts: files, pieces as long as its context, batches of these, how well it
// predicts them, and what the programs that train on texts have in common.
#pragma once

#include <cmath>
#include <iostream>
#include <span>
#include <vector>

#include "apps/kit/run.h"
#include "models/families/one_stack.h"

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

struct TextTraining {
    int64_t batch = 12, steps = 2000, validate_every = 250, patience = 0;
    double lr = 3e-3;
};

// The rows --batch, --steps, --lr, --validate-every and --patience; `pieces` are what a batch consists of.
void add_text_training(Options& options, TextTraining& t, const std::string& pieces = "pieces of text");

// The learning rate rises for up to 100 steps, and then falls along a cosine to a tenth.
models::RunOptions run_options(const TextTraining& t, int64_t seed, const nn::AdamOptions& adam);

// Learns all steps, and says what text costs that is held out, before and after. batch(step), loss(part,
// mode): as of models::Run. held_out(at_end) measures, described(it) says it in words. Returns whether the
// run has come to its end.
template <class Batch, class Loss, class HeldOut, class Described>
bool train(Run& run, Batch&& batch, const Loss& loss, const HeldOut& held_out, const Described& described) {
    double before = INFINITY;
    if (run.step() == 0 && !run.folder.run.check) {
        const Measured now = held_out(false);
        autograd::check(std::isfinite(now.nats), "the held-out text costs ", now.nats,
                        " nats before training; the model's weights are broken");
        before = now.nats;
        say("held out, before: " + described(now));
    }
    while (run.next()) {
        run.learn(batch(run.step()), loss);
        if (run.validates())
            run.validated(held_out(false).nats);
    }
    if (!run.finish())
        return false;
    const Measured now = held_out(true);
    std::cout << "held out, after: " << described(now) << '\n';
    if (now.nats > before)
        say("the held-out text is predicted worse than before; a lower --lr or fewer --steps may help");
    return true;
}

}  // namespace plaingrad::kit
