// From a line of text to the ids that a model reads, and back.
//
//     raw text      --tokenize-->  words and symbols      left out if the text is in tokens already
//     words         --Bpe------->  pieces of words        rare words become frequent pieces
//     pieces        --Vocabulary-> ids
//
// Or in bytes: every text is a sequence of bytes, which byte-pair encoding makes short. No text is unknown
// then, in whatever language it is.
#pragma once

#include "models/text/bpe.h"
#include "models/text/byte_bpe.h"
#include "models/text/parallel.h"
#include "nn/checkpoint/header.h"

namespace plaingrad::models::text {

struct CodecOptions {
    std::string pieces = "words";  // what the pieces are parts of: words, or bytes
    bool tokenized = false;        // the text is in tokens already, separated by spaces
    bool lower_case = false;       // everything becomes lower case
    int64_t merges = 8000;         // of both languages together; 0: characters, or single bytes
    int64_t min_count = 1;  // rarer pieces of words are split further as far as possible, or are unknown
    bool dropout = false;   // for `encode` with dropout: the vocabulary has every piece that it may write
};

class Codec {
public:
    // Both languages share one table of pieces, so that names and numbers can be copied. codes: merges that
    // were learned before, as learn-bpe writes them, of the file `codes_file`; if empty, merges are learned
    // here. Throws Error for unknown pieces, and for codes that cannot be read.
    static Codec learn(const ParallelText& text, const CodecOptions& options, const std::string& codes = "",
                       const std::string& codes_file = "");

    // As entries of a saved model, "translate.codes" and so on, and back; `path` is for messages. Throws
    // Error for entries that `metadata` cannot have written.
    nn::checkpoint::Metadata metadata() const;
    static Codec from_metadata(const nn::checkpoint::Metadata& metadata, const std::string& path);

    // Ids, without start and end; what the vocabulary lacks is kUnk. With a dropout above 0 words are
    // split in other ways for each rng (see MergeDropout).
    std::vector<int32_t> encode(const std::string& line, double dropout = 0,
                                const autograd::Rng& rng = autograd::Rng(0)) const;
    // The pieces that the ids of a line stand for, unknown ones as they are in the line. Not for bytes: none
    // of them is unknown.
    std::vector<std::string> pieces(const std::string& line) const;
    // unknown: what to write for each kUnk, by its place among the ids; without it, "<unk>".
    std::string decode(const std::vector<int32_t>& ids, const std::vector<std::string>& unknown = {}) const;
    // Which word of the decoded line, counted from 0, each id belongs to. Words are what stands between
    // spaces.
    std::vector<int64_t> words_of(const std::vector<int32_t>& ids,
                                  const std::vector<std::string>& unknown = {}) const;

    int64_t size() const { return is_bytes() ? bytes_.size() + kFirstFreeId : vocabulary_.size(); }
    int64_t merges() const;
    const CodecOptions& options() const { return options_; }
    bool is_bytes() const { return options_.pieces == "bytes"; }

private:
    std::string words(const std::string& line) const;
    std::string divided(const std::string& line, double dropout = 0,
                        const autograd::Rng& rng = autograd::Rng(0)) const;
    std::string decode_bytes(const std::vector<int32_t>& ids) const;
    void make_vocabulary(const ParallelText& text);
    void allow_only_vocabulary();
    std::string codes() const { return is_bytes() ? bytes_.merges() : words_.codes(); }

    CodecOptions options_;
    Bpe words_;
    ByteBpe bytes_;
    Vocabulary vocabulary_;
};

}  // namespace plaingrad::models::text
