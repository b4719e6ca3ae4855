// The sentence pairs of a translator as ids, in batches.
#pragma once

#include <algorithm>
#include <iostream>

#include "apps/kit/program.h"
#include "apps/programs/translate/text.h"
#include "models/pairs.h"
#include "models/text/batches.h"
#include "models/text/data_check.h"

namespace plaingrad::translate {

using models::text::TooLong;

// Two files, or one TSV. any_bytes: what is not UTF-8 stays as it is.
inline ParallelText read(const std::vector<std::string>& files, bool any_bytes) {
    const auto rule = any_bytes ? models::text::InvalidUtf8::keep : models::text::InvalidUtf8::replace;
    return files.size() == 1 ? models::text::read_parallel(files[0], rule)
                             : models::text::read_parallel(files[0], files[1], rule);
}

class Corpus {
public:
    // Sides that are longer than `longest` ids, <eos> included, are dropped or cut, which is said, or an
    // Error.
    Corpus(const ParallelText& text, const TextCodec& codec, int64_t longest, TooLong too_long) {
        int64_t changed = 0;
        longest_ = longest;
        for (const SentencePair& pair : text.pairs) {
            models::Pair ids = {codec.encode(pair.source), codec.encode(pair.target)};
            const std::size_t length = std::max(ids.src.size(), ids.tgt.size());
            if (static_cast<int64_t>(length) > longest - 1) {
                ++changed;
                if (!models::text::fit(ids.src, ids.tgt, longest - 1, too_long, text.files(), pair.line))
                    continue;
            }
            ids.src.push_back(models::kEos);
            pairs_.push_back(std::move(ids));
            sentences_.push_back(pair);
        }
        if (changed > 0)
            std::cerr << text.files() << ": " << kit::counted(changed, "pair") << " of more than " << longest
                      << (too_long == TooLong::cut ? " tokens: cut\n" : " tokens: dropped\n");
        check(!pairs_.empty(), text.files(), ": no pair is short enough; --max-length ", longest,
              " is what a side may have in tokens");
    }

    int64_t size() const { return static_cast<int64_t>(pairs_.size()); }
    // Tokens of the longest side, <eos> included.
    int64_t longest() const {
        std::size_t longest = 0;
        for (const models::Pair& pair : pairs_)
            longest = std::max({longest, pair.src.size(), pair.tgt.size() + 1});
        return static_cast<int64_t>(longest);
    }
    const std::vector<SentencePair>& sentences() const { return sentences_; }
    const models::Pair& pair(int64_t i) const { return pairs_[static_cast<std::size_t>(i)]; }

    // Tokens to predict.
    int64_t target_tokens() const {
        int64_t count = 0;
        for (const models::Pair& pair : pairs_)
            count += static_cast<int64_t>(pair.tgt.size()) + 1;
        return count;
    }

    std::vector<std::vector<int64_t>> batches(const models::text::BatchOptions& options) const {
        std::vector<models::text::PairLength> lengths;
        for (const models::Pair& pair : pairs_)
            lengths.push_back(
                {static_cast<int64_t>(pair.src.size()), static_cast<int64_t>(pair.tgt.size()) + 1});
        return models::text::make_batches(lengths, options);
    }

    models::Batch batch(const std::vector<int64_t>& indices) const {
        std::vector<models::Pair> chosen;
        for (const int64_t i : indices)
            chosen.push_back(pair(i));
        return models::make_batch(chosen);
    }

    // The same pairs, whose words are divided in another way for each `rng`. One that is too long then stays
    // as it was.
    Corpus with_dropout(const TextCodec& codec, double dropout, const autograd::Rng& rng) const {
        Corpus other = *this;
        for (std::size_t i = 0; i < pairs_.size(); ++i) {
            const autograd::Rng of_pair = rng.fork(i);
            models::Pair ids = {codec.encode(sentences_[i].source, dropout, of_pair.fork("source")),
                                codec.encode(sentences_[i].target, dropout, of_pair.fork("target"))};
            ids.src.push_back(models::kEos);
            if (static_cast<int64_t>(std::max(ids.src.size(), ids.tgt.size() + 1)) <= longest_)
                other.pairs_[i] = std::move(ids);
        }
        return other;
    }

    // A number that depends on every id.
    std::string fingerprint() const {
        uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
        const auto add = [&](int32_t id) { hash = (hash ^ static_cast<uint32_t>(id)) * 0x100000001b3u; };
        for (const models::Pair& pair : pairs_) {
            std::for_each(pair.src.begin(), pair.src.end(), add);
            std::for_each(pair.tgt.begin(), pair.tgt.end(), add);
            add(-1);
        }
        return join(pairs_.size(), " pairs, ", hash);
    }

private:
    int64_t longest_ = 0;
    std::vector<models::Pair> pairs_;
    std::vector<SentencePair> sentences_;
};

// Where training is in its data: batch `index` of an epoch is next. What that batch is follows from the seed.
class Cursor {
public:
    // Both must outlive it. bpe_dropout: see TextCodec::encode; each epoch has its own pieces.
    Cursor(const Corpus& corpus, const TextCodec& codec, int64_t batch_tokens, double bpe_dropout,
           uint64_t seed)
        : corpus_(&corpus),
          codec_(&codec),
          bpe_dropout_(bpe_dropout),
          options_{.batch_tokens = batch_tokens, .seed = seed} {
        move(0, 0);
    }

    void move(int64_t to_epoch, int64_t to_index) {
        options_.epoch = epoch = to_epoch;
        index = to_index;
        if (bpe_dropout_ > 0)
            divided_ = corpus_->with_dropout(
                *codec_, bpe_dropout_,
                autograd::Rng(options_.seed).fork("pieces").fork(static_cast<uint64_t>(epoch)));
        batches_ = corpus().batches(options_);
        check(index >= 0 && index < per_epoch(), "epoch ", epoch, " has ", per_epoch(),
              " batches; there is no number ", index);
    }
    // The next batch; `ends_epoch` if it is the last of its epoch.
    models::Batch next(bool& ends_epoch) {
        const models::Batch batch = corpus().batch(batches_[static_cast<std::size_t>(index)]);
        ends_epoch = ++index == per_epoch();
        if (ends_epoch)
            move(epoch + 1, 0);
        return batch;
    }
    int64_t per_epoch() const { return static_cast<int64_t>(batches_.size()); }

    int64_t epoch = 0, index = 0;

private:
    const Corpus& corpus() const { return divided_ ? *divided_ : *corpus_; }

    const Corpus* corpus_;
    const TextCodec* codec_;
    double bpe_dropout_;
    models::text::BatchOptions options_;
    std::optional<Corpus> divided_;  // this epoch's
    std::vector<std::vector<int64_t>> batches_;
};

}  // namespace plaingrad::translate
