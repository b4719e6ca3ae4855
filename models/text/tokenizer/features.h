// How a classifier that learns from a few thousand lines reads a text. It has no pretrained vectors, and
// most of its words are rare. So a word is read as several ids, and something is known even about a word
// that was never seen:
//
//     Who founded Oslo ?
//     who <^-who> <who->  founded <-ded> <foun->  <^-slo>  ? <-?>  who founded
//
// the word itself, if it is frequent enough; its look: how it ends, and whether it begins with a capital
// (<^-slo>), or where its digits are (<0000>); its beginning, which it shares with its other forms (<foun->);
// and, at the end of the text, frequent pairs of adjacent words. (Oslo itself was too rare here.)
#pragma once

#include "models/text/tokenizer/bpe.h"

namespace plaingrad::models::text::tokenizer {

struct Features {
    std::shared_ptr<const Vocabulary> vocabulary;
    int32_t unk;        // for a look that was never seen: so every word has an id
    int64_t max_words;  // only so many words of a text are read
    bool keep_case;

    // Appends the ids of a text. dropout: how likely a word or a pair is left out as if unknown, so that the
    // model learns the parts of words and does not rely too much on a single one.
    void append(const Strings& words, Ids& ids, Dropout& dropout) const;

    // The features of a text's words in alphabetical order: words that occur `least` times, then looks and
    // beginnings that occur twice, then pairs that occur `pairs` times; 0: no pairs.
    static Strings learn(const std::vector<Strings>& texts, int64_t least, int64_t pairs, bool keep_case);
};

}  // namespace plaingrad::models::text::tokenizer
