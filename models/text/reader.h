// How a classifier reads a text. It has no pretrained vectors, and most words in a few thousand lines are
// rare. So a word is read as several ids, and something is known even about a word that was never seen:
//
//     Who founded Oslo ?
//     who <^-who> <who->  founded <-ded> <foun->  <^-slo>  ? <-?>  who founded
//
// the word itself, if it is frequent enough; its look: how it ends, or where its digits are, and whether it
// begins with a capital; its beginning, which it shares with its other forms; and, at the end of the text,
// frequent pairs of adjacent words.
#pragma once

#include <string>
#include <vector>

#include "autograd/random.h"
#include "models/text/vocabulary.h"
#include "nn/checkpoint/header.h"

namespace plaingrad::models::text {

struct ReaderOptions {
    int64_t min_count = 2, pairs = 3;  // how often words and pairs must occur to get an id; pairs 0: none
    int64_t max_words = 128;           // only so many words of a text are read
    bool keep_case = false;
    bool first = false;  // each text begins with <sos>
};

class Reader {
public:
    static constexpr int64_t kIdsPerWord = 4;  // at most; <sos> counts too, as the last word begins no pair

    Reader(const std::vector<std::string>& training, const ReaderOptions& options);

    // drop: the probability that a word or a pair is left out as if unknown. For training, so that the model
    // learns the parts of words and does not rely too much on a single word.
    std::vector<int32_t> operator()(const std::string& text, double drop = 0,
                                    const autograd::Rng& rng = autograd::Rng(0)) const;

    // The words that are read, as they are in the text; and the name of such a word, in lower case unless the
    // case is kept.
    std::vector<std::string> words_of(const std::string& text) const;
    std::string spelled(const std::string& word) const;
    bool cuts(const std::string& text) const;  // whether the text has more than max_words
    int64_t size() const { return vocabulary_.size(); }
    const std::string& name(int32_t id) const { return vocabulary_.word(id); }
    const ReaderOptions& options() const { return options_; }

    // As metadata of a model, and back; of the options, only keep_case is saved. Throws FileError naming the
    // file.
    nn::checkpoint::Metadata metadata() const;
    static Reader from_metadata(const nn::checkpoint::Metadata& metadata, ReaderOptions options,
                                const std::string& path);

private:
    std::string pair(const std::string& a, const std::string& b) const;

    Vocabulary vocabulary_;
    ReaderOptions options_;
};

}  // namespace plaingrad::models::text
