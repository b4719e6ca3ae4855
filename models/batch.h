// Batches: pairs of sentences, with which an encoder-decoder learns by teacher forcing; and any batch cut
// into parts, which several processes may share (nn/parallel/data_parallel.h).
#pragma once

#include <vector>

#include "models/families/transformer.h"
#include "models/text/tokenizer.h"
#include "models/text/training_data.h"
#include "nn/parallel/data_parallel.h"

namespace plaingrad::models {

// A pair of sentences as ids. make_batch adds start and end to tgt, and leaves src as it is. A Translator
// reads an end after each source: to train a model for it, put specials.end() behind src.
struct Pair {
    std::vector<int32_t> src, tgt;
};

struct Batch {
    Tokens src;  // (B, S)
    Tokens tgt;  // (B, T + 1): start, sentence, end, padding

    // Teacher forcing: at each position the decoder reads the true target up to there, not what it would have
    // written, and predicts the next token. So all positions learn in one pass.
    Tokens read() const { return tgt.slice(0, tgt.length() - 1); }  // <sos> 9 3 5        (B, T)
    Tokens said() const { return tgt.slice(1, tgt.length()); }      //       9 3 5 <eos>  (B, T)
    int64_t tokens() const;                                         // that are said, without padding
};
// specials: those of the model's configuration.
Batch make_batch(const std::vector<Pair>& pairs, const Specials& specials = {});

// Sentences whose tokens are their words, and the vocabularies that these make.
struct WordPairs {
    static constexpr int64_t kLongest = 2000;  // the time of attention grows with the square of a length

    // shared: both languages have one vocabulary, as a model with shared embeddings needs it. Throws Error
    // naming `path` and the line for a sentence of more than kLongest words.
    WordPairs(const std::vector<text::SentencePair>& sentences, bool shared, const std::string& path);

    text::Tokenizer src, tgt;
    std::vector<Pair> pairs = {};
    int64_t longest = 0;  // the words of the longest sentence
};

// With teacher forcing. The loss is the mean cross-entropy of the tokens; padding does not count.
nn::StepLoss teacher_forcing(const Transformer& model, const Batch& batch, const Mode& mode,
                             Real label_smoothing = 0);

// ---- parts

// The rows of a part, in order. A part has rows of similar length, and the largest part, with its padding,
// is as small as possible, as all wait for it. lengths: of all rows. A part can be empty if there are few
// rows. Throws Error unless 0 <= part < parts.
std::vector<int64_t> rows_of_part(const std::vector<int32_t>& lengths, int64_t part, int64_t parts);

// That part of a batch, without the columns that are only padding there. (Where a batch has several matrices
// of tokens, they keep their rows together.)
autograd::Tokens part_of(const autograd::Tokens& texts, const nn::StepPart& at);
Batch part_of(const Batch& batch, const nn::StepPart& at);
// The same for a matrix that belongs to texts, of labels or types: its rows are chosen by the lengths of
// these texts, so that both keep the same rows.
autograd::Tokens part_of(const autograd::Tokens& tokens, const std::vector<int32_t>& lengths,
                         const nn::StepPart& at);

inline int64_t row_count(const autograd::Tokens& texts) { return texts.batch(); }
inline int64_t row_count(const Batch& batch) { return batch.src.batch(); }

// A part of a batch, and which one it is.
template <class Batch>
struct Part : Batch, nn::StepPart {};

}  // namespace plaingrad::models
