// Texts: tokenizers, vocabularies, lines, batches, scores, settings.
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
#include "tests/trust/words/small.h"

namespace plaingrad::trust::words {
namespace {

using namespace models::text;  // NOLINT
using autograd::Tokens;
using models::align;
using models::most_attended;

const Tokens kIds(1, 3, {4, 5, 0}, 0);
const autograd::Tensor kAttention = autograd::Tensor::ones({1, 2, 3, 4});  // (B, H, T, S)

MaskedTokens masked(const MaskingOptions& options, const Tokens& ids = kIds) {
    return mask_tokens(ids, options, kRng);
}
Tokenizer words() { return learn_words({"low lower lowest"}); }
Tokenizer pieces(const std::string& codes) {
    return learn_pieces({"low lower"}, {.codes = codes, .codes_file = "codes"});
}

}  // namespace

Calls calls_of_text() {
    return {
        CALL(models::rows_of_part({1, 2}, 3, 2)),
        CALL(most_attended(kAttention, 1, 0, 4)),
        CALL(masked({.end_id = 9}, Tokens(1, 2, {4, 5}))),
        CALL(masked({})),
        CALL(masked({.first_id = 0, .end_id = 9})),
        CALL(masked({.mask = 0, .end_id = 9})),
        CALL(masked({.end_id = 9}, Tokens(1, 2, {1, 2}, 0))),
        CALL(words().decode({7})),
        CALL(words().encode("low", {.dropout = -0.1})),
        CALL(words().encode_texts({})),
        CALL(words().save("/no/such/folder")),
        CALL(learn_word_piece("abc", 9).encode("abc", {.max_length = 1})),
        CALL(learn_words({"low <unk>"})),
        CALL(learn_pieces({"low"}, {.merges = -1})),
        CALL(pieces("one\n")),
        CALL(pieces("#version: 0.2\na b c\n")),
        CALL(pieces("\xff \xfe\n\n\n")),
        CALL(Tokenizer("", "file")),
        CALL(Tokenizer("{}", "file")),
        CALL(Tokenizer(R"({"model": {"type": "Unigram", "vocab": [["a", -1.5]]}})", "file")),
        CALL(make_batches({{1, 1}}, {.batch_tokens = 0})),
        CALL(make_batches({{9, 1}}, {.batch_tokens = 8})),
        CALL(bleu({"a"}, {"a", "b"})),
        CALL(clean_line("a\xff", "file:7")),
        CALL(clean_line(std::string("a\0b", 3), "file:7")),
        CALL(clean_line(std::string(kLongestLine + 1, 'a'), "file:7")),
        CALL(lines_of("", "file")),
        CALL(pairs_of("no tab", "file")),
        CALL(pairs_of("a\tb\tc", "file")),
        CALL(check_plain("\x1f\x8b\x08", "file")),
        CALL(check_plain("\xff\xfe", "file")),
        CALL(read_file("/no/such/file")),
        CALL(read_file("/")),
        CALL(read_file("/dev/null")),
        CALL(Tokenizer::open("/no/such/folder")),
        CALL(kit::parse_integer("--steps", "")),
        CALL(kit::parse_integer("--steps", "99999999999999999999")),
        CALL(kit::parse_real("--rate", "x")),
        CALL(kit::parse_real("--rate", "2", {.max = 1})),
    };
}

}  // namespace plaingrad::trust::words
