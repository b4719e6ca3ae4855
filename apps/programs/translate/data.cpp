#include <algorithm>
#include <iostream>

#include "apps/programs/translate/translate.h"
#include "autograd/base/list.h"
#include "models/text/bleu.h"

namespace plaingrad::translate {

using autograd::mapped;

// How many tokens the model reads on the source side and predicts on the target side, <eos> included.
static models::text::PairLength length_of(const models::Pair& pair) {
    return {std::ssize(pair.src), std::ssize(pair.tgt) + 1};
}
static int64_t longest_of(const models::Pair& pair) {
    return std::max(length_of(pair).source, length_of(pair).target);
}

models::Pair Corpus::pair_of(std::vector<int32_t> source, std::vector<int32_t> target) const {
    source.push_back(specials_.end());
    return {std::move(source), std::move(target)};
}

Corpus::Corpus(const ParallelText& text, const Tokenizer& tokenizer, const models::Specials& specials,
               int64_t longest, bool cuts)
    : specials_(specials), longest_(longest) {
    int64_t changed = 0;
    for (const SentencePair& pair : text.pairs) {
        std::vector<int32_t> source = tokenizer.encode(pair.source), target = tokenizer.encode(pair.target);
        const auto most = static_cast<std::size_t>(longest - 1);
        const bool fits = source.size() <= most && target.size() <= most;
        changed += fits ? 0 : 1;
        if (!fits && !cuts)
            continue;
        source.resize(std::min(source.size(), most));
        target.resize(std::min(target.size(), most));
        pairs_.push_back(pair_of(std::move(source), std::move(target)));
        sentences_.push_back(pair);
    }
    if (changed > 0)
        std::cerr << join(kit::as_line(text.files), ": ", kit::counted(changed, "pair"), " of more than ",
                          longest, cuts ? " tokens: cut\n" : " tokens: dropped\n");
    check(!pairs_.empty(), text.files, ": no pair is short enough; --context allows ", longest,
          " tokens on a side");
}

int64_t Corpus::longest() const {
    const std::vector<int64_t> lengths = mapped(pairs_, longest_of);
    return *std::max_element(lengths.begin(), lengths.end());  // there is a pair
}

std::vector<std::vector<int64_t>> Corpus::batches(const models::text::BatchOptions& options) const {
    return models::text::make_batches(mapped(pairs_, length_of), options);
}

models::Batch Corpus::batch(const std::vector<int64_t>& indices) const {
    const auto pair = [this](int64_t i) { return pairs_[static_cast<std::size_t>(i)]; };
    return models::make_batch(mapped(indices, pair), specials_);
}

Corpus Corpus::with_dropout(const Tokenizer& tokenizer, double dropout, const autograd::Rng& rng) const {
    Corpus other = *this;
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
        const autograd::Rng of_pair = rng.fork(i);
        models::Pair divided = pair_of(
            tokenizer.encode(sentences_[i].source, {.dropout = dropout, .rng = of_pair.fork("source")}),
            tokenizer.encode(sentences_[i].target, {.dropout = dropout, .rng = of_pair.fork("target")}));
        if (longest_of(divided) <= longest_)
            other.pairs_[i] = std::move(divided);
    }
    return other;
}

Batches::Batches(const Corpus& corpus, const Tokenizer& tokenizer, int64_t batch_tokens, int64_t accumulate,
                 double bpe_dropout, uint64_t seed, const models::Epoch& from)
    : corpus_(&corpus),
      tokenizer_(&tokenizer),
      accumulate_(accumulate),
      bpe_dropout_(bpe_dropout),
      from_(from.first > 1 ? from : models::Epoch()),  // a checkpoint may lack the first step
      options_{.batch_tokens = batch_tokens, .seed = seed} {
    begin_epoch(from_.ended, from_.first);
}

void Batches::begin_epoch(int64_t epoch, int64_t first) {
    options_.epoch = epoch;
    first_ = first;
    if (bpe_dropout_ > 0)
        divided_ = corpus_->with_dropout(
            *tokenizer_, bpe_dropout_,
            autograd::Rng(options_.seed).fork("pieces").fork(static_cast<uint64_t>(epoch)));
    batches_ = corpus().batches(options_);
}

// Epochs may differ in how many batches they have: with BPE dropout, or in a corpus of several buckets.
Batches::Step Batches::operator()(int64_t step) {
    if (step < from_.first)
        from_ = {};
    if (step < first_)
        begin_epoch(from_.ended, from_.first);
    while (step >= first_ + steps())
        begin_epoch(options_.epoch + 1, first_ + steps());
    const int64_t begin = (step - first_) * accumulate_,
                  end = std::min<int64_t>(begin + accumulate_, std::ssize(batches_));
    Step result = {{}, end == std::ssize(batches_)};
    for (int64_t i = begin; i < end; ++i)
        result.batches.push_back(corpus().batch(batches_[static_cast<std::size_t>(i)]));
    return result;
}

kit::Measured measure(nn::Team& team, const models::Transformer& model, const Corpus& corpus,
                      int64_t batch_tokens) {
    const auto examples = [&](const auto& indices) { return kit::examples_of(corpus.batch(indices)); };
    const auto batches = corpus.batches({.batch_tokens = batch_tokens, .shuffle = false});
    return kit::measure(kit::objective_of(model), mapped(batches, examples), team);
}

Bleu measure_bleu(nn::Team& team, const models::Transformer& model, const Tokenizer& tokenizer,
                  const std::vector<SentencePair>& pairs, const models::TranslationOptions& options) {
    const auto sources = mapped(pairs, &SentencePair::source),
               references = mapped(pairs, &SentencePair::target);
    const auto best = [](const models::Translation& translation) { return translation.best[0].text; };
    // A sentence comes out the same in any batch, so each process translates some of them.
    const auto hypotheses = nn::shared_ranges(team, std::ssize(sources), [&](int64_t begin, int64_t end) {
        const std::vector<std::string> some(sources.begin() + begin, sources.begin() + end);
        return mapped(models::translate(model, tokenizer, some, options), best);
    });
    const models::text::BleuOptions how = {.tokenized = tokenizer.is_tokenized(),
                                           .lower_case = tokenizer.is_lower_case()};
    const models::text::BleuScore bleu = models::text::bleu(hypotheses, references, how);
    return {bleu.score, to_string(bleu, how)};
}

}  // namespace plaingrad::translate
