// How a translator reads and writes: from a line of text to ids, and from ids to a line of text.
//
//     raw text      --tokenize-->  words and symbols      not if the text is in tokens already
//     words         --Bpe------->  pieces of words        rare words become frequent pieces
//     pieces        --Vocabulary-> ids
//
// Bytes are the other way: any text is a sequence of bytes, which byte-pair encoding makes short. Nothing is unknown
// then, and nothing needs to be a language.
#pragma once

#include "apps/kit/config_metadata.h"
#include "models/text/bpe.h"
#include "models/text/byte_bpe.h"
#include "models/text/parallel.h"
#include "models/text/tokenizer.h"
#include "models/text/unicode.h"

namespace translate {

using autograd::check;
using autograd::join;
using models::text::Bpe;
using models::text::ByteBpe;
using models::text::ParallelText;
using models::text::SentencePair;
using models::text::Vocabulary;
using Sequence = std::vector<int32_t>;

struct TextOptions {
    std::string pieces = "words";  // what is divided: words, or bytes
    bool tokenized = false;        // the text is in tokens already, divided by spaces
    bool lower_case = false;
    int64_t merges = 8000;  // of both languages together; 0: characters, or bytes
};

class TextCodec {
public:
    // What both languages have in common: one table of pieces, so that names and numbers can be copied. `codes` are
    // merges learned before, "" to learn them.
    static TextCodec learn(const ParallelText& text, const TextOptions& options, const std::string& codes,
                           const std::string& codes_file) {
        TextCodec codec;
        codec.options_ = options;
        if (codec.is_bytes())
            codec.bytes_ = codes.empty() ? ByteBpe::learn(codec.all(text), options.merges)
                                         : ByteBpe::from_merges(codes, codes_file);
        else if (!codes.empty())
            codec.words_ = Bpe::from_codes(codes, codes_file);
        else
            codec.words_ = Bpe::learn(codec.count(text), options.merges);
        if (!codec.is_bytes())
            for (const SentencePair& pair : text.pairs)
                for (const std::string& side : {pair.source, pair.target})
                    codec.vocabulary_.add_all(codec.pieces(side));
        return codec;
    }

    // Ids, without <sos> and <eos>; what the vocabulary lacks is <unk>. With dropout a word is divided in another way
    // each time (Provilkov et al. 2020).
    Sequence encode(const std::string& line, double dropout = 0,
                    const autograd::Rng& rng = autograd::Rng(0)) const {
        if (!is_bytes())
            return vocabulary_.encode(pieces(line, dropout, rng));
        Sequence ids = bytes_.encode(options_.lower_case ? models::text::lower_case(line) : line);
        for (int32_t& id : ids)
            id += models::kFirstFreeId;
        return ids;
    }

    std::string decode(const Sequence& ids) const {
        if (!is_bytes()) {
            const std::string words = Bpe::undo(vocabulary_.decode(ids));
            return options_.tokenized ? words : models::text::detokenize(words);
        }
        Sequence bytes;
        for (const int32_t id : ids)
            if (id >= models::kFirstFreeId && id - models::kFirstFreeId < bytes_.end_of_text())
                bytes.push_back(id - models::kFirstFreeId);
        return bytes_.decode(bytes);
    }

    int64_t size() const { return is_bytes() ? bytes_.size() + models::kFirstFreeId : vocabulary_.size(); }
    const TextOptions& options() const { return options_; }
    bool is_bytes() const { return options_.pieces == "bytes"; }
    std::string codes() const { return is_bytes() ? bytes_.merges() : words_.codes(); }

    kit::Metadata metadata() const {
        std::string words;
        for (int32_t id = models::kFirstFreeId; !is_bytes() && id < vocabulary_.size(); ++id)
            words.append(vocabulary_.word(id)).append("\n");
        return {{"translate.pieces", options_.pieces},
                {"translate.tokenized", options_.tokenized ? "true" : "false"},
                {"translate.lower_case", options_.lower_case ? "true" : "false"},
                {"translate.codes", codes()},
                {"translate.vocabulary", words}};
    }

    // Throws Error naming the file for metadata that `metadata` cannot have written.
    static TextCodec from_metadata(const kit::Metadata& metadata, const std::string& path) {
        const auto at = [&](const char* key) -> const std::string& {
            const auto entry = metadata.find(join("translate.", key));
            check(entry != metadata.end(), path, ": this model was not trained by translate: translate.", key,
                  " is missing");
            return entry->second;
        };
        TextCodec codec;
        codec.options_ = {at("pieces"), at("tokenized") == "true", at("lower_case") == "true"};
        if (codec.is_bytes()) {
            codec.bytes_ = ByteBpe::from_merges(at("codes"), path);
            return codec;
        }
        codec.words_ = Bpe::from_codes(at("codes"), path);
        const std::string& words = at("vocabulary");
        for (std::size_t begin = 0, end; begin < words.size(); begin = end + 1) {
            end = std::min(words.find('\n', begin), words.size());
            const int64_t before = codec.vocabulary_.size();
            check(codec.vocabulary_.add(words.substr(begin, end - begin)) == before, path,
                  ": its vocabulary has '", words.substr(begin, end - begin), "' twice");
        }
        return codec;
    }

private:
    std::string words(const std::string& line) const {
        const std::string text = options_.lower_case ? models::text::lower_case(line) : line;
        return options_.tokenized ? text : models::text::tokenize(text);
    }
    std::string pieces(const std::string& line, double dropout = 0,
                       const autograd::Rng& rng = autograd::Rng(0)) const {
        return words_.apply(words(line), dropout, rng);
    }
    models::text::WordCounts count(const ParallelText& text) const {
        models::text::WordCounts counts;
        for (const SentencePair& pair : text.pairs)
            for (const std::string& side : {pair.source, pair.target})
                counts.add_line(words(side));
        return counts;
    }
    std::string all(const ParallelText& text) const {
        std::string lines;
        for (const SentencePair& pair : text.pairs)
            lines.append(pair.source).append("\n").append(pair.target).append("\n");
        return options_.lower_case ? models::text::lower_case(lines) : lines;
    }

    TextOptions options_;
    Bpe words_ = Bpe::learn({}, 0);
    ByteBpe bytes_;
    Vocabulary vocabulary_;
};

}  // namespace translate
