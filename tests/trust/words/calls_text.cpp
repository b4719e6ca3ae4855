// Texts: tokenizers, vocabularies, lines, batches, scores, settings.
#include <limits>

#include "apps/kit/options.h"
#include "models/batch.h"
#include "models/text/bleu.h"
#include "models/text/learn_tokenizer.h"
#include "models/text/lines.h"
#include "models/text/tokenizer.h"
#include "models/text/tokenizer/learn_merges.h"
#include "models/text/training_data.h"
#include "models/translator.h"
#include "tests/trust/words/calls.h"

namespace plaingrad::trust::words {
namespace {

using namespace models::text;  // NOLINT
using autograd::Rng;
using autograd::Tokens;
using models::align;
using models::most_attended;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
const Tokens kIds(1, 3, {4, 5, 0}, 0);
const autograd::Tensor kAttention = autograd::Tensor::ones({1, 2, 3, 4});  // (B, H, T, S)

MaskedTokens masked(const MaskingOptions& options, const Tokens& ids = kIds) {
    return mask_tokens(ids, options, Rng(1));
}
Tokenizer words() { return learn_words({"low lower lowest"}); }
Tokenizer pieces(const std::string& codes) {
    return learn_pieces({"low lower"}, {.codes = codes, .codes_file = "codes"});
}
void known(const std::string& text, int64_t line = 1) {
    const Tokenizer tokenizer = learn_characters({"abc\n"});
    check_known(tokenizer, text, tokenizer.encode(text), "text", line);
}
std::string streamed(int32_t id) {
    const Tokenizer tokenizer = words();
    return Tokenizer::Stream(tokenizer).add(id);
}
std::string cleaned(const std::string& line) { return clean_line(line, "file:7"); }
kit::Options& settings() {
    static int64_t steps = 1;
    static double rate = 1;
    static kit::Options all({"p", "learns"});
    static const bool filled = (all.add("--steps", "N", "steps", steps, {.min = 1}),
                                all.add("--rate", "X", "rate", rate, {.max = 1}), true);
    return filled ? all : all;
}

}  // namespace

Calls calls_of_text() {
    return {
        CALL(models::text::Specials{.ends = {}}.end()),
        CALL(Stops({""})),
        CALL(Stops({"a", ""})),
        CALL(models::rows_of_part({1, 2}, 3, 2)),
        CALL(models::rows_of_part({1, 2}, -1, 2)),
        CALL(models::rows_of_part({1, 2}, 0, 0)),
        CALL(most_attended(kAttention, 1, 0, 4)),
        CALL(most_attended(kAttention, -1, 0, 4)),
        CALL(most_attended(kAttention, 0, 3, 4)),
        CALL(most_attended(kAttention, 0, 0, 5)),
        CALL(most_attended(kAttention, 0, 0, 4, {true})),
        CALL(align(kAttention, 0, {0}, {0, 1, 2, 3})),
        CALL(align(autograd::Tensor::ones({2, 3}), 0, {0}, {0})),
        CALL(masked({.end_id = 9}, Tokens(1, 2, {4, 5}))),
        CALL(masked({})),
        CALL(masked({.first_id = 9, .end_id = 9})),
        CALL(masked({.first_id = 0, .end_id = 9})),
        CALL(masked({.mask = 0, .end_id = 9})),
        CALL(masked({.end_id = 9}, Tokens(1, 2, {1, 2}, 0))),
        CALL(masked({.end_id = 9}, Tokens(0, 0, {}, 0))),

        CALL(words().decode({7})),
        CALL(words().piece(-1)),
        CALL(streamed(7)),
        CALL(words().encode("low", {.dropout = -0.1})),
        CALL(words().encode("low", {.dropout = 1.1})),
        CALL(words().encode("low", {.dropout = kNan})),
        CALL(words().encode_texts({})),
        CALL(words().encode_texts({"a", "b", "c"})),
        CALL(words().save("/no/such/folder")),
        CALL(learn_word_piece("abc", 9).encode("abc", {.max_length = 1})),
        CALL(learn_words({"low <unk>"})),
        CALL(learn_pieces({"low"}, {.merges = -1})),
        CALL(learn_byte_pairs("low", -1)),
        CALL(pieces("one\n")),
        CALL(pieces("#version: 0.2\na b c\n")),
        CALL(pieces("#version: 0.2\nabc\n")),
        CALL(pieces("#version: 0.3\na b\n")),
        CALL(pieces("\xff \xfe\n\n\n")),
        CALL(known("abx")),
        CALL(known("ab\nx", 7)),
        CALL(known("\xff")),
        CALL(Tokenizer("", "file")),
        CALL(Tokenizer("{}", "file")),
        CALL(Tokenizer(R"({"model": {"type": "Unigram", "vocab": [["a", -1.5]]}})", "file")),

        CALL(make_batches({{1, 1}}, {.batch_tokens = 0})),
        CALL(make_batches({{1, 1}}, {.bucket = 0})),
        CALL(make_batches({{9, 1}}, {.batch_tokens = 8})),
        CALL(bleu({"a"}, {"a", "b"})),
        CALL(cleaned("a\xff")),
        CALL(cleaned(std::string("a\0b", 3))),
        CALL(cleaned(std::string(kLongestLine + 1, 'a'))),
        CALL(lines_of("", "file")),
        CALL(lines_of("\n", "file")),
        CALL(lines_of("good\nba\xff\n", "file")),
        CALL(pairs_of("no tab", "file")),
        CALL(pairs_of("a\tb\tc", "file")),
        CALL(check_plain("\x1f\x8b\x08", "file")),
        CALL(check_plain("\xff\xfe"
                         "a",
                         "file")),
        CALL(read_file("/no/such/file")),
        CALL(read_file("/")),
        CALL(read_file("/dev/null")),
        CALL(lines_of(read_file("/no/such/file"), "file")),
        CALL(Tokenizer::open("/no/such/folder")),
        CALL(Tokenizer::open("/dev/null")),
        CALL(Tokenizer::open("")),

        CALL(kit::parse_integer("--steps", "x")),
        CALL(kit::parse_integer("--steps", "")),
        CALL(kit::parse_integer("--steps", "1.5")),
        CALL(kit::parse_integer("--steps", "-1")),
        CALL(kit::parse_integer("--steps", "99999999999999999999")),
        CALL(kit::parse_integer("--steps", "11", {.max = 10})),
        CALL(kit::parse_real("--rate", "nan")),
        CALL(kit::parse_real("--rate", "x")),
        CALL(kit::parse_real("--rate", "1e999")),
        CALL(kit::parse_real("--rate", "2", {.max = 1})),
        CALL(settings().resume("--steps=0", "file")),
    };
}

}  // namespace plaingrad::trust::words
