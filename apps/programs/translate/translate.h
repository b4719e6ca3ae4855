// What the commands of translate are made of: the settings of a run, its pairs of sentences, and the run
// itself.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/kit/text_training.h"
#include "models/batch.h"
#include "models/runs/run.h"
#include "models/text/learn_tokenizer.h"
#include "models/text/training_data.h"
#include "models/translator.h"

namespace plaingrad::translate {

using autograd::check;
using autograd::join;
using models::text::ParallelText;
using models::text::SentencePair;
using models::text::Tokenizer;

// ---- settings

// Of `translate train`: a row for each, from which options, help, presets and checkpoints follow.
struct Settings {
    std::string preset = "tiny", codes, validation;  // validation: SOURCE,TARGET or a TSV
    models::RunSettings run;
    std::vector<std::string> files;
    models::text::PieceOptions text = {};
    int64_t layers = 4, heads = 4, d_model = 128, d_ff = 256;
    int64_t context = 128, batch_tokens = 4096, accumulate = 1, steps = 8000, warmup = 2000;
    int64_t patience = 10, seed = 1;
    double lr = 5e-3, dropout = 0.3, bpe_dropout = 0, label_smoothing = 0.1;
    // Only a preset changes these: how many epochs are averaged, and the norm that gradients are clipped to.
    int64_t average = 10;
    double clip = 25;
};

// The rows. Parsing them sets `s`.
void add_train_options(kit::Options& options, Settings& s);
// The files of --validation, whose names may contain commas if such files exist.
std::vector<std::string> two_files(const std::string& text);

// ---- data

// What becomes of bytes that are not UTF-8, in the text of such a tokenizer.
inline models::text::InvalidUtf8 rule_for(bool byte_level) {
    return byte_level ? models::text::InvalidUtf8::keep : models::text::InvalidUtf8::replace;
}

class Corpus {
public:
    // specials: the model's. A pair with a side of more than `longest` ids, <eos> included, is dropped; or
    // with `cuts` that side loses its end. Says on standard error how many pairs were dropped or cut.
    Corpus(const ParallelText& text, const Tokenizer& tokenizer, const models::Specials& specials,
           int64_t longest, bool cuts = false);

    int64_t size() const { return std::ssize(pairs_); }
    int64_t longest() const;  // in tokens, of both sides, <eos> included
    const std::vector<SentencePair>& sentences() const { return sentences_; }

    std::vector<std::vector<int64_t>> batches(const models::text::BatchOptions& options) const;
    models::Batch batch(const std::vector<int64_t>& indices) const;

    // The same pairs, with words split in other ways for each `rng`. A pair that would become too long stays
    // as it was.
    Corpus with_dropout(const Tokenizer& tokenizer, double dropout, const autograd::Rng& rng) const;

private:
    models::Pair pair_of(std::vector<int32_t> source, std::vector<int32_t> target) const;

    models::Specials specials_;
    int64_t longest_ = 0;
    std::vector<models::Pair> pairs_;  // sources end with <eos>
    std::vector<SentencePair> sentences_;
};

// The batches of training. The seed and the epoch determine the pairs of each; an epoch's last step may have
// fewer than the others.
class Batches {
public:
    // corpus and tokenizer must outlive it. accumulate: batches of a step. bpe_dropout: see EncodeOptions;
    // each epoch splits words anew. from: where a run continues; no epoch before it is computed, unless an
    // earlier step is asked for.
    Batches(const Corpus& corpus, const Tokenizer& tokenizer, int64_t batch_tokens, int64_t accumulate,
            double bpe_dropout, uint64_t seed, const models::Epoch& from = {});

    struct Step {
        std::vector<models::Batch> batches;
        bool ends_epoch = false;
    };
    Step operator()(int64_t step);
    // Of the present epoch. The last one may have fewer batches.
    int64_t steps() const { return (std::ssize(batches_) + accumulate_ - 1) / accumulate_; }

private:
    const Corpus& corpus() const { return divided_ ? *divided_ : *corpus_; }
    void begin_epoch(int64_t epoch, int64_t first);

    const Corpus* corpus_;
    const Tokenizer* tokenizer_;
    int64_t accumulate_, first_ = 1;  // the first step of the present epoch
    double bpe_dropout_;
    models::Epoch from_;
    models::text::BatchOptions options_;
    std::optional<Corpus> divided_;  // with this epoch's BPE dropout
    std::vector<std::vector<int64_t>> batches_;
};

// ---- training

// `translate train`: trains a model, or continues a run. At the end saves model.safetensors: the average of
// the last epochs, or the weights of the best validation if those are better. Prints the plan before, and
// loss and BLEU after.
void train_command(kit::Options& options);

// ---- measuring

// The loss. team: the processes that share the work; all call it, and get the same result.
kit::Measured measure(nn::Team& team, const models::Transformer& model, const Corpus& corpus,
                      int64_t batch_tokens);

struct Bleu {
    double score = 0;
    std::string text;  // a line with the score, and how it was computed
};
// As sacreBLEU computes it; for text that is in tokens already, as Moses and fairseq do.
Bleu measure_bleu(nn::Team& team, const models::Transformer& model, const Tokenizer& tokenizer,
                  const std::vector<SentencePair>& pairs, const models::TranslationOptions& options);

}  // namespace plaingrad::translate
