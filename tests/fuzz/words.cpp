// Texts, and what becomes of them: lines, pieces of words, ids, scores.
#include <cmath>
#include <filesystem>
#include <sstream>

#include "models/text/bleu.h"
#include "models/text/characters.h"
#include "models/text/codec.h"
#include "models/text/lines.h"
#include "models/text/pretrained_tokenizer.h"
#include "models/text/reader.h"
#include "models/text/tokenizer.h"
#include "models/text/unicode.h"
#include "nn/checkpoint/json.h"
#include "nn/utf8.h"
#include "tests/fuzz/fuzz_targets.h"

namespace plaingrad::fuzz {
namespace {

using namespace models::text;
using Lines = std::vector<std::string>;

// The parts of an input that stands for several texts.
Lines parts_of(const std::string& bytes, char between) {
    Lines parts(1);
    for (const char c : bytes)
        c == between ? void(parts.emplace_back()) : void(parts.back() += c);
    return parts;
}

// A file is read at once, and standard input line by line: the lines are the same.
void text(const std::string& bytes) {
    int64_t replaced = 0;
    const std::string valid = replace_invalid_utf8(bytes, replaced);
    expect(nn::find_invalid_utf8(valid) == valid.npos, "replaced bytes are not UTF-8");
    expect((replaced == 0) == (valid == bytes), "it counts what it replaces");
    const Lines lines = lines_of(bytes, "f.txt");
    std::istringstream in(bytes);
    std::string line;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const bool more = next_line(in, line, "f.txt", static_cast<int64_t>(i) + 1);
        expect(more && clean_line(line, "f.txt") == lines[i], "line ", i + 1, " is another from a stream");
    }
    expect(!next_line(in, line, "f.txt", std::ssize(lines) + 1), "a stream has more lines");
    for (const std::string& each : lines)
        if (each.find('\t') != each.npos) {
            const SentencePair pair = split_pair(each, "f.txt", 1);
            expect(pair.source + "\t" + pair.target == each, "a pair is another line");
        }
}

std::string with_nuls(const Lines& parts) {
    std::string bytes;
    for (const std::string& part : parts)
        bytes.append(&part == &parts[0] ? 0 : 1, '\0').append(part);
    return bytes;
}

const char* const kSentence = "low lower lowest newer wider e\xcc\x81t\xc3\xa9 \xff x";

// Without "@@", which is the mark of a piece, every line becomes itself again.
void check_pieces(const Bpe& bpe, const std::string& line) {
    if (line.find("@@") == line.npos)
        expect(split_at_spaces(Bpe::undo(bpe.apply(line))) == split_at_spaces(line),
               "the pieces make another line: ", bpe.apply(line));
}

// Codes; behind a NUL a vocabulary with the number of times that each piece was seen; and behind another NUL
// a line.
void codes(const std::string& bytes) {
    const Lines parts = parts_of(bytes, '\0');
    Bpe bpe = Bpe::from_codes(parts[0], "codes");
    // (Version 0.1 has no header: its first line is a rule. One that begins with a byte order mark or with
    // "#version: " is read as a rule only behind a space, and codes() writes none.)
    const std::string written = bpe.codes();
    const bool is_clear = written.starts_with("#version: 0.2\n") ||
                          !(written.starts_with("\xef\xbb\xbf") || written.starts_with("#version: "));
    expect(!is_clear || Bpe::from_codes(written, "codes").codes() == written, "codes are read as others");
    check_pieces(bpe, kSentence);
    if (parts.size() > 1)
        bpe.allow_only(parts[1], 2, "vocabulary");
    check_pieces(bpe, kSentence);
    check_pieces(bpe, parts.back());
}

// Merges of bytes, as ByteBpe and the saved models of `translate` read them.
void byte_merges(const std::string& bytes) {
    const ByteBpe bpe = ByteBpe::from_merges(bytes, "merges");
    for (const std::string& line : {std::string(kSentence), bytes})
        expect(bpe.decode(bpe.encode(line)) == line, "bytes become others");
}

// What a saved model has as text in its metadata: codes and vocabulary, or words of a classifier; and under
// "characters" those of a language model.
void saved_text(const std::string& bytes) {
    const nn::checkpoint::Metadata metadata = [&] {
        nn::checkpoint::Metadata all;
        nn::checkpoint::JsonReader json(bytes, "f.safetensors");
        json.object([&](std::string_view key) { all[std::string(key)] = json.string(); });
        json.end();
        return all;
    }();
    const auto has = [&](const char* name) { return metadata.contains(name); };
    if (has("characters")) {
        const Characters known = Characters::from_description(metadata.at("characters"), "f.safetensors");
        int64_t unknown = 0;
        known.decode(known.encode("a b", "", 1, &unknown));
    }
    if (has("classify.words"))
        Reader::from_metadata(metadata, {}, "f.safetensors")("a word, Another");
    if (!has("translate.codes"))
        return;
    const Codec codec = Codec::from_metadata(metadata, "f.safetensors");
    const std::vector<int32_t> ids = codec.encode(kSentence);
    // (A number that no option can have is not written again.)
    const bool can_be_written = !has("translate.min_count") || codec.options().min_count > 1;
    expect(!can_be_written || Codec::from_metadata(codec.metadata(), "f").encode(kSentence) == ids,
           "read again it is another codec");
    codec.decode(ids);
    codec.words_of(ids);
}

// ---- decode(encode(x)) == x, for each tokenizer that promises it

const std::vector<PretrainedTokenizer>& of_bytes() {
    static const std::vector<PretrainedTokenizer> all = [] {
        std::vector<PretrainedTokenizer> tokenizers;
        for (const char* name : {"gpt2", "llama3", "smollm"})
            tokenizers.push_back(PretrainedTokenizer::open(std::string("tests/golden/tokenizers/") + name));
        return tokenizers;
    }();
    return all;
}
const ByteBpe& learned() {
    static const ByteBpe bpe = ByteBpe::learn(std::string(50, 'a') + kSentence + kSentence, 20);
    return bpe;
}

void round_trip(const std::string& bytes) {
    expect(learned().decode(learned().encode(bytes)) == bytes, "ByteBpe makes another text");
    static const Characters characters = Characters::all_bytes();
    expect(characters.decode(characters.encode(bytes, "")) == bytes, "Characters make another text");
    for (const PretrainedTokenizer& tokenizer : of_bytes()) {
        const std::vector<int32_t> ids = tokenizer.encode(bytes, {.add_special_tokens = false});
        expect(tokenizer.decode(ids, {.invalid = InvalidUtf8::keep}) == bytes, "a pretrained tokenizer of ",
               tokenizer.size(), " pieces makes another text");
        PretrainedTokenizer::Stream stream(tokenizer, false);
        std::string streamed;
        for (const int32_t id : ids)
            streamed += stream.add(id);
        streamed += stream.finish();
        expect(nn::find_invalid_utf8(bytes) != bytes.npos || streamed == bytes,
               "a stream of its ids differs");
    }
    const std::string line = bytes.substr(0, bytes.find('\n'));
    expect(detokenize(tokenize(line)) == line, "words and symbols make another line");
    for (const std::string& token : split_words(tokenize(line)))
        expect(!token.ends_with("@@") && !token.empty(), "a token ends as a piece does");
    const std::string lower = lower_case(bytes);
    expect(lower_case(lower) == lower, "lower case has a lower case");
}

// ---- BLEU

void bleu(const std::string& bytes) {
    constexpr const char* kSmoothing[] = {"exp", "floor", "add-k", "none"};
    const unsigned choice = bytes.empty() ? 0 : static_cast<unsigned char>(bytes[0]);
    const BleuOptions options = {.tokens = choice & 1 ? "none" : "13a",
                                 .smoothing = kSmoothing[choice >> 1 & 3],
                                 .lower_case = (choice & 8) != 0,
                                 .effective_order = (choice & 16) != 0};
    const Lines lines = parts_of(bytes.substr(std::min<std::size_t>(1, bytes.size())), '\n');
    const std::size_t half = lines.size() / 2;
    const Lines hypotheses(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(half));
    const Lines references(lines.begin() + static_cast<std::ptrdiff_t>(half),
                           lines.begin() + static_cast<std::ptrdiff_t>(2 * half));
    const BleuScore score = models::text::bleu(hypotheses, {references, hypotheses}, options);
    const BleuScore other = models::text::bleu(hypotheses, {references}, options);
    for (const BleuScore& s : {score, other}) {
        expect(s.score >= 0 && s.score <= 100 + 1e-9 && s.bp >= 0 && s.bp <= 1, "a score of ", s.score);
        for (std::size_t n = 0; n < 4; ++n)
            expect(s.matches[n] >= 0 && s.matches[n] <= s.totals[n], "more matches than n-grams");
        to_string(s);
        fairseq_line(s);
    }
    expect(score.matches == score.totals && score.hyp_len == score.ref_len,
           "a translation is not its own reference");
    expect(score.totals[3] == 0 || std::abs(score.score - 100) < 1e-9, "its own reference: ", score.score);
}

Lines text_seeds() { return {"\xef\xbb\xbfOne line.\r\nand\tanother\n\nna\xc3\xafve"}; }
Lines codes_seeds() {
    return {"#version: 0.2\nl o\nlo w</w>\ne r</w>\nlo w\n", "l o\nlo w\nlow </w>\ne r\n",
            with_nuls({"#version: 0.2\nl o\nlo w</w>\nw e", "lo@@ 3\nw</w> 1\nlow 2", "low lower"})};
}
Lines byte_merges_seeds() { return {"#version: 0.2\nl o\nlo w\n\xc4\xa0 low\n"}; }
Lines saved_text_seeds() {
    return {
        R"({"characters":"characters:\n ab","classify.words":"the\na","classify.case":"kept"})",
        R"({"characters":"bytes"})",
        R"({"translate.codes":"#version: 0.2\nl o\nlo w</w>\n","translate.vocabulary":"low\nlo@@\nw\n",)"
        R"("translate.min_count":"2","translate.lower_case":"true"})",
        R"({"translate.codes":"#version: 0.2\na b","translate.pieces":"bytes","translate.vocabulary":""})"};
}
Lines round_trip_seeds() {
    return {"He said, \"It's 3.14\" and left  it.",
            " \xef\xbf\xad x@@ \xef\xbc\x85"
            "9\t\xc2\xa0",
            "don't\r\n\n  \xff\xfe"};
}
Lines bleu_seeds() {
    return {"\x01the cat sat on the mat\na b\nthe cat sat on a mat\na c",
            "\x10Hello, world. 1,000 & 2\nHello"};
}

}  // namespace

void add_words(std::vector<Target>& all) {
    all.push_back({"text", text, text_seeds});
    all.push_back({"codes", codes, codes_seeds});
    all.push_back({"byte_merges", byte_merges, byte_merges_seeds});
    all.push_back({"saved_text", saved_text, saved_text_seeds, Form::json});
    all.push_back({"round_trip", round_trip, round_trip_seeds});
    all.push_back({"bleu", bleu, bleu_seeds});
}

}  // namespace plaingrad::fuzz
