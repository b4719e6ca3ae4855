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

#include <memory>

#include "models/text/tokenizer/pair_table.h"
#include "models/text/tokenizer/vocabulary.h"

namespace plaingrad::models::text::tokenizer {

struct FeatureOptions {
    std::string unk_token = "<unk>";  // for a look that was never seen: so every word has an id
    int64_t max_words = 128;          // only so many words of a text are read
    bool keep_case = false;
};

class Features {
public:
    // Throws FileError naming `where` if unk_token has no id.
    Features(std::shared_ptr<const Vocabulary> features, FeatureOptions options, const std::string& where);

    // Appends the ids of a text. dropout: how likely a word or a pair is left out as if unknown, so that the
    // model learns the parts of words and does not rely too much on a single one.
    void append(const std::vector<std::string>& words, std::vector<int32_t>& ids, Dropout& dropout) const;

    const FeatureOptions& options() const { return options_; }
    int32_t unk() const { return unk_; }

    // The features of a text's words in alphabetical order: words that occur `least` times, then looks and
    // beginnings that occur twice, then pairs that occur `pairs` times; 0: no pairs.
    static std::vector<std::string> learn(const std::vector<std::vector<std::string>>& texts, int64_t least,
                                          int64_t pairs, bool keep_case);

private:
    std::shared_ptr<const Vocabulary> features_;
    FeatureOptions options_;
    int32_t unk_;
};

}  // namespace plaingrad::models::text::tokenizer
