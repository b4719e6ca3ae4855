// Texts, and what becomes of them: lines, pieces of words, ids, scores.
#include <algorithm>
#include <cmath>
#include <sstream>

#include "models/text/bleu.h"
#include "models/text/learn_tokenizer.h"
#include "models/text/lines.h"
#include "models/text/tokenizer/learn_merges.h"
#include "models/text/tokenizer/steps.h"
#include "models/text/training_data.h"
#include "models/text/unicode.h"
#include "nn/checkpoint/utf8.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/models/text/tokenizers.h"

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
    expect(nn::checkpoint::find_invalid_utf8(valid) == valid.npos, "replaced bytes are not UTF-8");
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
            const SentencePair pair = pairs_of("\xef\xbb\xbf" + each + "\r\n", "f.txt").at(0);
            expect(pair.source + "\t" + pair.target == each, "a pair is another line");
        }
}

const char* const kSentence = "low lower lowest newer wider e\xcc\x81t\xc3\xa9 \xff x";

// Codes; behind a NUL a text, from which the vocabulary is learned; and behind another NUL a line.
void codes(const std::string& bytes) {
    const Lines parts = parts_of(bytes, '\0');
    const auto rules = tokenizer::read_codes(parts[0], "codes");
    expect(tokenizer::read_codes(tokenizer::codes_of(rules), "codes") == rules, "codes are read as others");
    const std::string text = parts.size() > 1 ? parts[1] : "";
    for (const PieceOptions& options :
         {PieceOptions{.tokenized = true, .min_count = 1}, PieceOptions{.tokenized = true, .min_count = 2},
          PieceOptions{.bytes = true, .min_count = 1}, PieceOptions{.bytes = true, .min_count = 2}}) {
        if (options.bytes && parts[0].find("</w>") != parts[0].npos)
            continue;  // codes of words, which are refused for bytes
        PieceOptions with_codes = options;
        with_codes.codes = parts[0];
        with_codes.codes_file = "codes";
        const Tokenizer t = learn_pieces({text, parts.back()}, with_codes);
        for (const std::string& line : {std::string(kSentence), parts.back()}) {
            const std::vector<int32_t> ids = t.encode(line);
            const std::string again = t.decode(ids, {.invalid = InvalidUtf8::keep});
            const bool known = std::find(ids.begin(), ids.end(), t.unknown()) == ids.end();
            // "</w>" is the mark that ends a word.
            expect(options.bytes
                       ? again == line
                       : !known || line.find("</w>") != line.npos || t.words(again) == t.words(line),
                   "the pieces make another line: ", again);
        }
    }
}

// ---- decode(encode(x)) == x, for each tokenizer that promises it

const std::vector<Tokenizer>& of_bytes() {
    static const std::vector<Tokenizer> all = [] {
        std::vector<Tokenizer> tokenizers = {
            models::text::bytes(), learn_byte_pairs(std::string(50, 'a') + kSentence + kSentence, 20)};
        for (const char* name : {"gpt2", "llama3", "smollm"})
            tokenizers.push_back(Tokenizer::open(std::string("tests/golden/tokenizers/") + name));
        return tokenizers;
    }();
    return all;
}

void round_trip(const std::string& bytes) {
    for (const Tokenizer& tokenizer : of_bytes()) {
        const std::vector<int32_t> ids = tokenizer.encode(bytes, {.add_special_tokens = false});
        expect(tokenizer.decode(ids, {.invalid = InvalidUtf8::keep}) == bytes, "a tokenizer of ",
               tokenizer.size(), " pieces makes another text");
        expect(nn::checkpoint::find_invalid_utf8(bytes) != bytes.npos ||
                   tests::streamed(tokenizer, ids) == bytes,
               "a stream of its ids differs");
    }
    const std::string line = bytes.substr(0, bytes.find('\n'));
    expect(tokenizer::detokenize(tokenizer::tokenize(line)) == line, "words and symbols make another line");
    for (const std::string& token : split_words(tokenizer::tokenize(line)))
        expect(!token.ends_with("@@") && !token.empty(), "a token ends as a piece does");
    const std::string lower = lower_case(bytes);
    expect(lower_case(lower) == lower, "lower case has a lower case");
}

// ---- BLEU

void bleu(const std::string& bytes) {
    const unsigned choice = bytes.empty() ? 0 : static_cast<unsigned char>(bytes[0]);
    const BleuOptions options = {.tokenized = (choice & 1) != 0, .lower_case = (choice & 8) != 0};
    const Lines lines = parts_of(bytes.substr(std::min<std::size_t>(1, bytes.size())), '\n');
    const auto half = std::ssize(lines) / 2;
    const Lines hypotheses(lines.begin(), lines.begin() + half),
        references(lines.begin() + half, lines.begin() + 2 * half);
    const BleuScore score = models::text::bleu(hypotheses, hypotheses, options);
    const BleuScore other = models::text::bleu(hypotheses, references, options);
    for (const BleuScore& s : {score, other}) {
        expect(s.score >= 0 && s.score <= 100 + 1e-9 && s.bp >= 0 && s.bp <= 1, "a score of ", s.score);
        for (std::size_t n = 0; n < 4; ++n)
            expect(s.matches[n] >= 0 && s.matches[n] <= s.totals[n], "more matches than n-grams");
        to_string(s, options);
    }
    expect(score.matches == score.totals && score.hyp_len == score.ref_len,
           "a translation is not its own reference");
    expect(score.totals[3] == 0 || std::abs(score.score - 100) < 1e-9, "its own reference: ", score.score);
}

}  // namespace

void add_words(std::vector<Target>& all) {
    const auto text_seeds = [] { return Lines{"\xef\xbb\xbfOne line.\r\nand\tanother\n\nna\xc3\xafve"}; };
    const auto codes_seeds = [] {
        const std::string nul(1, '\0');
        return Lines{"#version: 0.2\nl o\nlo w</w>\ne r</w>\nlo w\n",
                     "#version: 0.2\nl o\nlo w</w>\nw e" + nul + "low low slow" + nul + "low lower"};
    };
    const auto round_trip_seeds = [] {
        return Lines{"He said, \"It's 3.14\" and left  it.", " \uffed x@@ \uff059\t\u00a0",
                     "don't\r\n\n  \xff\xfe"};
    };
    const auto bleu_seeds = [] {
        return Lines{"\x01the cat sat on the mat\na b\nthe cat sat on a mat\na c",
                     "\x10Hello, world. 1,000 & 2\nHello"};
    };
    all.push_back({"text", text, text_seeds});
    all.push_back({"codes", codes, codes_seeds});
    all.push_back({"round_trip", round_trip, round_trip_seeds});
    all.push_back({"bleu", bleu, bleu_seeds});
}

}  // namespace plaingrad::fuzz
