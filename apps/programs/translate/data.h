// The sentence pairs of a translator as ids, in batches.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/batch.h"
#include "models/runs/run.h"
#include "models/text/learn_tokenizer.h"
#include "models/text/training_data.h"

namespace plaingrad::translate {

using autograd::check;
using autograd::join;
using models::text::ParallelText;
using models::text::SentencePair;
using models::text::Tokenizer;
using models::text::TooLong;

// "1 byte that is not UTF-8, read as U+FFFD", or "2 bytes that are not UTF-8, ...".
std::string replaced_bytes(int64_t count);

// Reads two files, or one TSV. any_bytes: keeps bytes that are not UTF-8 as they are.
ParallelText read(const std::vector<std::string>& files, bool any_bytes);

class Corpus {
public:
    // specials: the model's. too_long: whether a pair with a side of more than `longest` ids, <eos> included,
    // is dropped, cut or an Error. Says on standard error how many pairs were dropped or cut.
    Corpus(const ParallelText& text, const Tokenizer& tokenizer, const models::Specials& specials,
           int64_t longest, TooLong too_long);

    int64_t size() const { return std::ssize(pairs_); }
    int64_t longest() const;        // in tokens, of both sides, <eos> included
    int64_t target_tokens() const;  // tokens to predict
    const std::vector<SentencePair>& sentences() const { return sentences_; }

    std::vector<std::vector<int64_t>> batches(const models::text::BatchOptions& options) const;
    models::Batch batch(const std::vector<int64_t>& indices) const;

    // The same pairs, with words split in other ways for each `rng`. A pair that would become too long stays
    // as it was.
    Corpus with_dropout(const Tokenizer& tokenizer, double dropout, const autograd::Rng& rng) const;

    // A short text that changes if any id changes.
    std::string fingerprint() const;

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
    int64_t per_epoch() const { return std::ssize(batches_); }  // of the present one

private:
    const Corpus& corpus() const { return divided_ ? *divided_ : *corpus_; }
    int64_t steps() const { return (per_epoch() + accumulate_ - 1) / accumulate_; }  // of the present epoch
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

}  // namespace plaingrad::translate
