// How a translator reads and writes: from a line of text to ids, and from ids to a line of text.
//
//     raw text      --tokenize-->  words and symbols      not if the text is in tokens already
//     words         --Bpe------->  pieces of words        rare words become frequent pieces
//     pieces        --Vocabulary-> ids
//
// Bytes are the other way: any text is a sequence of bytes, which byte-pair encoding makes short. Nothing is
// unknown then, and nothing needs to be a language.
#pragma once

#include "apps/kit/options.h"
#include "models/text/bpe.h"
#include "models/text/byte_bpe.h"
#include "models/text/parallel.h"
#include "models/text/tokenizer.h"
#include "models/text/unicode.h"
#include "nn/checkpoint/metadata.h"

namespace plaingrad::translate {

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
    int64_t min_count =
        1;  // pieces of words that are rarer are divided again, as far as they can be, or unknown
    bool dropout = false;  // words are to be divided at random: all pieces that can be are in the vocabulary
};

class TextCodec {
public:
    // What both languages have in common: one table of pieces, so that names and numbers can be copied.
    // `codes` are merges learned before, "" to learn them.
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
            codec.make_vocabulary(text);
        return codec;
    }

    // Ids, without <sos> and <eos>; what the vocabulary lacks is <unk>. With dropout a word is divided in
    // another way each time (Provilkov et al. 2020).
    Sequence encode(const std::string& line, double dropout = 0,
                    const autograd::Rng& rng = autograd::Rng(0)) const {
        if (!is_bytes())
            return vocabulary_.encode(divided(line, dropout, rng));
        Sequence ids = bytes_.encode(options_.lower_case ? models::text::lower_case(line) : line);
        for (int32_t& id : ids)
            id += models::kFirstFreeId;
        return ids;
    }

    // What the ids of a line stand for, unknown ones too. Not of bytes, which are all known.
    std::vector<std::string> pieces(const std::string& line) const {
        return models::text::split_words(divided(line));
    }

    // unknown: what stands for each <unk>, by its place among the ids; without it, <unk> does.
    std::string decode(const Sequence& ids, const std::vector<std::string>& unknown = {}) const {
        if (is_bytes())
            return decode_bytes(ids);
        std::string pieces;
        for (std::size_t i = 0; i < ids.size(); ++i)
            pieces.append(i == 0 ? "" : " ")
                .append(ids[i] == models::kUnk && i < unknown.size() ? unknown[i] : vocabulary_.word(ids[i]));
        const std::string words = Bpe::undo(pieces);
        return options_.tokenized ? words : models::text::detokenize(words);
    }

    // To which word of the decoded line, counted from 0, each id belongs. Words are what stands between
    // spaces.
    std::vector<int64_t> words_of(const Sequence& ids, const std::vector<std::string>& unknown = {}) const {
        std::vector<int64_t> words;
        for (std::size_t end = 1; end <= ids.size(); ++end) {
            const std::string begin =
                decode({ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(end)}, unknown);
            const auto count = static_cast<int64_t>(models::text::split_words(begin).size());
            words.push_back(std::max<int64_t>(count - 1, 0));
        }
        return words;
    }

    int64_t size() const { return is_bytes() ? bytes_.size() + models::kFirstFreeId : vocabulary_.size(); }
    const TextOptions& options() const { return options_; }
    bool is_bytes() const { return options_.pieces == "bytes"; }
    std::string codes() const { return is_bytes() ? bytes_.merges() : words_.codes(); }

    int64_t merges() const {
        const std::string lines = codes();
        return std::count(lines.begin(), lines.end(), '\n') - 1;  // the first one says the version
    }

    nn::checkpoint::Metadata metadata() const {
        std::string words;
        for (int32_t id = models::kFirstFreeId; !is_bytes() && id < vocabulary_.size(); ++id)
            words.append(vocabulary_.word(id)).append("\n");
        nn::checkpoint::Metadata all;
        nn::checkpoint::FieldWriter field{all, "translate."};
        field("pieces", options_.pieces);
        field("tokenized", options_.tokenized);
        field("lower_case", options_.lower_case);
        field("codes", codes());
        field("vocabulary", words);
        if (options_.min_count > 1)
            field("min_count", options_.min_count);
        return all;
    }

    // Throws Error naming the file for metadata that `metadata` cannot have written.
    static TextCodec from_metadata(const nn::checkpoint::Metadata& metadata, const std::string& path) {
        const nn::checkpoint::FieldReader field{metadata, "translate.", path};
        nn::checkpoint::check_file(field.has("codes") && field.has("vocabulary"), path,
                                   ": this model was not trained by translate: it has no text");
        TextCodec codec;
        field("pieces", codec.options_.pieces);
        field("tokenized", codec.options_.tokenized);
        field("lower_case", codec.options_.lower_case);
        if (codec.is_bytes()) {
            codec.bytes_ = ByteBpe::from_merges(field.required("codes"), path);
            return codec;
        }
        codec.words_ = Bpe::from_codes(field.required("codes"), path);
        const std::string& words = field.required("vocabulary");
        for (std::size_t begin = 0, end; begin < words.size(); begin = end + 1) {
            end = std::min(words.find('\n', begin), words.size());
            const int64_t before = codec.vocabulary_.size();
            check(codec.vocabulary_.add(words.substr(begin, end - begin)) == before, path,
                  ": its vocabulary has '", words.substr(begin, end - begin), "' twice");
        }
        field("min_count", codec.options_.min_count);
        if (field.has("min_count"))
            codec.allow_only_vocabulary();
        return codec;
    }

private:
    // Words and symbols, one space between any two: how many there were says nothing about what a sentence
    // means.
    std::string words(const std::string& line) const {
        std::string text;
        for (const std::string& word : models::text::split_words(line))
            text.append(text.empty() ? "" : " ").append(word);
        if (options_.lower_case)
            text = models::text::lower_case(text);
        return options_.tokenized ? text : models::text::tokenize(text);
    }
    std::string divided(const std::string& line, double dropout = 0,
                        const autograd::Rng& rng = autograd::Rng(0)) const {
        return words_.apply(words(line), dropout, rng);
    }
    std::string decode_bytes(const Sequence& ids) const {
        Sequence bytes;
        for (const int32_t id : ids)
            if (id >= models::kFirstFreeId && id - models::kFirstFreeId < bytes_.end_of_text())
                bytes.push_back(id - models::kFirstFreeId);
        std::string text = bytes_.decode(bytes);
        for (char& c : text)  // a translation is a line of text, whatever a model says
            c = c == '\n' || c == '\r' || c == '\0' ? ' ' : c;
        return text;
    }

    // Of what the text is divided into; with dropout also into what it can be: into characters, and whatever
    // a merge makes of them.
    void make_vocabulary(const ParallelText& text) {
        models::text::WordCounts counts;
        const auto count = [&](double dropout) {
            for (const SentencePair& pair : text.pairs)
                for (const std::string& side : {pair.source, pair.target})
                    counts.add_line(divided(side, dropout));
        };
        count(0);
        if (options_.min_count > 1) {
            words_.allow_only(counts.text(), options_.min_count, "the pieces of the text");
            counts = {};
            count(0);
        }
        if (options_.dropout) {
            count(1);
            for (const std::string& piece : words_.pieces())
                counts.add(piece);
        }
        for (int64_t i = 0; i < counts.size(); ++i)
            if (counts.count(i) >= options_.min_count)
                vocabulary_.add(counts.word(i));
    }
    void allow_only_vocabulary() {
        models::text::WordCounts counts;
        for (int32_t id = models::kFirstFreeId; id < vocabulary_.size(); ++id)
            counts.add(vocabulary_.word(id));
        words_.allow_only(counts.text(), 1, "the vocabulary");
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

}  // namespace plaingrad::translate
