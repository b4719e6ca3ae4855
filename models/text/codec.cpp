#include "models/text/codec.h"

#include <algorithm>

#include "models/text/tokenizer.h"
#include "models/text/unicode.h"
#include "nn/checkpoint/json.h"
#include "nn/checkpoint/metadata.h"

namespace plaingrad::models::text {

using autograd::Rng;
using Ids = std::vector<int32_t>;
using Sides = std::vector<const std::string*>;

// All sentences, the source of each pair before its target.
static Sides sides(const ParallelText& text) {
    Sides all;
    for (const SentencePair& pair : text.pairs)
        all.insert(all.end(), {&pair.source, &pair.target});
    return all;
}

static void check_pieces(const CodecOptions& options, const std::string& where) {
    nn::checkpoint::check_file(options.pieces == "words" || options.pieces == "bytes", where,
                               " pieces are words or bytes: got ", nn::checkpoint::shown(options.pieces));
}

Codec Codec::learn(const ParallelText& text, const CodecOptions& options, const std::string& codes,
                   const std::string& codes_file) {
    check_pieces(options, "[Codec]");
    Codec codec;
    codec.options_ = options;
    if (codec.is_bytes()) {
        std::string lines;
        for (const std::string* side : sides(text))
            lines.append(options.lower_case ? lower_case(*side) : *side).append("\n");
        codec.bytes_ =
            codes.empty() ? ByteBpe::learn(lines, options.merges) : ByteBpe::from_merges(codes, codes_file);
        return codec;
    }
    WordCounts counts;
    for (const std::string* side : sides(text))
        counts.add_line(codec.words(*side));
    codec.words_ = codes.empty() ? Bpe::learn(counts, options.merges) : Bpe::from_codes(codes, codes_file);
    codec.make_vocabulary(text);
    return codec;
}

// The vocabulary has the pieces that the text is split into. With dropout, also those that it may be split
// into: characters, and all that a merge can make.
void Codec::make_vocabulary(const ParallelText& text) {
    WordCounts counts;
    const auto count = [&](double dropout) {
        for (const std::string* side : sides(text))
            counts.add_line(divided(*side, dropout));
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

void Codec::allow_only_vocabulary() {
    WordCounts counts;
    for (int32_t id = kFirstFreeId; id < vocabulary_.size(); ++id)
        counts.add(vocabulary_.word(id));
    words_.allow_only(counts.text(), 1, "the vocabulary");
}

nn::checkpoint::Metadata Codec::metadata() const {
    std::string words;
    for (int32_t id = kFirstFreeId; !is_bytes() && id < vocabulary_.size(); ++id)
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

Codec Codec::from_metadata(const nn::checkpoint::Metadata& metadata, const std::string& path) {
    const nn::checkpoint::FieldReader field{metadata, "translate.", path};
    nn::checkpoint::check_file(field.has("codes") && field.has("vocabulary"), path,
                               ": this model was not trained by translate: it has no text");
    Codec codec;
    field("pieces", codec.options_.pieces);
    field("tokenized", codec.options_.tokenized);
    field("lower_case", codec.options_.lower_case);
    check_pieces(codec.options_, path + ":");
    if (codec.is_bytes()) {
        codec.bytes_ = ByteBpe::from_merges(field.required("codes"), path);
        return codec;
    }
    codec.words_ = Bpe::from_codes(field.required("codes"), path);
    const std::string& words = field.required("vocabulary");
    for (std::size_t begin = 0, end; begin < words.size(); begin = end + 1) {
        end = std::min(words.find('\n', begin), words.size());
        const std::string word = words.substr(begin, end - begin);
        const int64_t before = codec.vocabulary_.size();
        nn::checkpoint::check_file(codec.vocabulary_.add(word) == before, path, ": its vocabulary has '",
                                   word, "' twice");
    }
    field("min_count", codec.options_.min_count);
    if (field.has("min_count"))
        codec.allow_only_vocabulary();
    return codec;
}

// Words and symbols, separated by one space: the number of spaces does not change a sentence's meaning.
std::string Codec::words(const std::string& line) const {
    std::string text;
    for (const std::string& word : split_words(line))
        text.append(text.empty() ? "" : " ").append(word);
    if (options_.lower_case)
        text = lower_case(text);
    return options_.tokenized ? text : tokenize(text);
}

std::string Codec::divided(const std::string& line, double dropout, const Rng& rng) const {
    return words_.apply(words(line), dropout, rng);
}

Ids Codec::encode(const std::string& line, double dropout, const Rng& rng) const {
    if (!is_bytes())
        return vocabulary_.encode(divided(line, dropout, rng));
    Ids ids = bytes_.encode(options_.lower_case ? lower_case(line) : line);
    for (int32_t& id : ids)
        id += kFirstFreeId;
    return ids;
}

std::vector<std::string> Codec::pieces(const std::string& line) const { return split_words(divided(line)); }

std::string Codec::decode(const Ids& ids, const std::vector<std::string>& unknown) const {
    if (is_bytes())
        return decode_bytes(ids);
    std::string pieces;
    for (std::size_t i = 0; i < ids.size(); ++i)
        pieces.append(i == 0 ? "" : " ")
            .append(ids[i] == kUnk && i < unknown.size() ? unknown[i] : vocabulary_.word(ids[i]));
    const std::string words = Bpe::undo(pieces);
    return options_.tokenized ? words : detokenize(words);
}

std::string Codec::decode_bytes(const Ids& ids) const {
    Ids bytes;
    for (const int32_t id : ids)
        if (id >= kFirstFreeId && id - kFirstFreeId < bytes_.end_of_text())
            bytes.push_back(id - kFirstFreeId);
    std::string text = bytes_.decode(bytes);
    for (char& c : text)  // whatever a model writes, the result is one line
        c = c == '\n' || c == '\r' || c == '\0' ? ' ' : c;
    return text;
}

std::vector<int64_t> Codec::words_of(const Ids& ids, const std::vector<std::string>& unknown) const {
    std::vector<int64_t> words;
    for (auto end = ids.begin(); end != ids.end(); ++end) {
        const std::string text = decode(Ids(ids.begin(), end + 1), unknown);
        words.push_back(std::max<int64_t>(std::ssize(split_words(text)) - 1, 0));
    }
    return words;
}

int64_t Codec::merges() const {
    const std::string lines = codes();
    // Codes of version 0.1 begin without a line that says so.
    return std::count(lines.begin(), lines.end(), '\n') - (lines.starts_with("#version: ") ? 1 : 0);
}

}  // namespace plaingrad::models::text
