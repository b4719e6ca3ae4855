// Training an encoder-decoder model on pairs of sentences: teacher forcing.
#pragma once

#include <vector>

#include "models/text/tokenizer.h"
#include "models/transformer.h"
#include "nn/training.h"

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

    std::string fingerprint() const;  // changes if any word changes

    text::Tokenizer src, tgt;
    std::vector<Pair> pairs = {};
    int64_t longest = 0;  // the words of the longest sentence
};

// With teacher forcing. The loss is the mean cross-entropy of the tokens; padding does not count.
nn::StepLoss teacher_forcing(const Transformer& model, const Batch& batch, const Mode& mode,
                             Real label_smoothing = 0);

}  // namespace plaingrad::models
