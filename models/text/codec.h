// From a line of text to the ids that a model reads, and back.
//
//     raw text      --tokenize-->  words and symbols      left out if the text is in tokens already
//     words         --Bpe------->  pieces of words        rare words become frequent pieces
//     pieces        --Vocabulary-> ids
//
// Or in bytes: every text is a sequence of bytes, which byte-pair encoding shortens. Then no text is unknown,
// in any language.
#pragma once

#include "models/text/bpe.h"
#include "models/text/byte_bpe.h"
#include "models/text/parallel.h"
#include "nn/checkpoint/header.h"

namespace plaingrad::models::text {

struct CodecOptions {
    std::string pieces = "words";  // pieces of words, or "bytes": of sequences of bytes
    bool tokenized = false;        // the text is in tokens already, separated by spaces
    bool lower_case = false;       // convert everything to lower case
    int64_t merges = 8000;         // of both languages together; 0: characters, or single bytes
    int64_t min_count = 1;         // rarer pieces of words are split further if possible, or else unknown
    bool dropout = false;  // true for `encode` with dropout: the vocabulary gets every piece that may occur
};

class Codec {
public:
    // Both languages share one vocabulary, so that names and numbers can be copied. codes: merges learned
    // before, as learn-bpe writes them, from the file `codes_file`; if empty, merges are learned here. Throws
    // Error for other values of options.pieces, and for codes that cannot be read.
    static Codec learn(const ParallelText& text, const CodecOptions& options, const std::string& codes = "",
                       const std::string& codes_file = "");

    // As entries in the metadata of a saved model, "translate.codes" and so on, and back; `path` is for
    // messages. Throws Error for entries that `metadata` cannot have written.
    nn::checkpoint::Metadata metadata() const;
    static Codec from_metadata(const nn::checkpoint::Metadata& metadata, const std::string& path);

    // The ids of a line, without start and end; kUnk for pieces that are not in the vocabulary. With a
    // dropout above 0, words are split in other ways for each rng (see MergeDropout).
    std::vector<int32_t> encode(const std::string& line, double dropout = 0,
                                const autograd::Rng& rng = autograd::Rng(0)) const;
    // The pieces behind the ids of a line, unknown ones as they are in the line. Only for pieces of words.
    std::vector<std::string> pieces(const std::string& line) const;
    // unknown: what to write for the id kUnk, by its position in `ids`; if empty, "<unk>".
    std::string decode(const std::vector<int32_t>& ids, const std::vector<std::string>& unknown = {}) const;
    // Which word of the decoded line each id belongs to. Words are separated by spaces and numbered from 0.
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
