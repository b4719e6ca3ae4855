// Models: each field of a configuration out of range, token ids that do not fit. Decoding: steps, searches,
// sampling, and the objects that write and translate.
#include "models/batch.h"
#include "models/decoding/decoding.h"
#include "models/families/one_stack.h"
#include "models/families/transformer.h"
#include "models/presets.h"
#include "models/text/learn_tokenizer.h"
#include "models/translator.h"
#include "models/writer.h"
#include "tests/trust/words/calls.h"
#include "tests/trust/words/small.h"

namespace plaingrad::trust::words {
namespace {

using namespace models;  // NOLINT

Config small_pair() {
    Config c = small();
    c.kind = Kind::encoder_decoder;
    c.src_vocabulary = 9;
    c.vocabulary = 8;
    c.n_decoder_layers = 1;
    c.specials = {};
    return c;
}
template <class Model, class Change>
Model changed(Config c, const Change& change) {
    change(c);
    return {c, kRng};
}
#define STACK(...) CALL(changed<LanguageModel>(small(), [](Config& c) { __VA_ARGS__; }))
#define PAIR(...) CALL(changed<Transformer>(small_pair(), [](Config& c) { __VA_ARGS__; }))
#define CLASSES(...) CALL(changed<Classifier>(with_classes(small(), 2), [](Config& c) { __VA_ARGS__; }))

LanguageModel model() { return {small(), kRng}; }
MaskedLanguageModel filler() { return {small(), kRng}; }
Transformer translator() { return {small_pair(), kRng}; }
Writer writer(bool lines = false) {
    return {.model = model(), .tokenizer = text::learn_characters({"abcde"}, lines), .lines = lines};
}

Tokens ids(const std::vector<int32_t>& sentence) { return Tokens::padded({sentence}, kPad); }
const Tokens kIds = ids({4, 5, 6}), kEmpty(1, 2, {0, 0}, 0);

std::unique_ptr<Stepper> begun(const Tokens& prompts = Tokens(2, 1, {1, 1})) {
    static const LanguageModel one = model();
    return one.start(prompts);
}
int32_t drawn(const SamplingOptions& options, const std::vector<int32_t>& text = {}) {
    const Real logits[] = {1, 2, 3, 4};
    return sample(logits, 4, 0.5, options, text);
}
auto searched(const BeamOptions& options) { return beam_search(*begun(), options); }
auto translated(const TranslationOptions& options) {
    return translate(translator(), text::learn_pieces({"a b", "c d"}, {.merges = 0}), {"a b"}, options);
}

}  // namespace

Calls calls_of_models() {
    return {
        STACK(c.vocabulary = 0),
        STACK(c.vocabulary = 3),
        STACK(c.max_length = 0),
        STACK(c.n_layers = -1),
        STACK(c.token_types = -1),
        STACK(c.specials.start = 9),
        STACK(c.specials.ends = {9}),
        STACK(c.specials.pad = 9),
        STACK(c.block.d_model = 0),
        STACK(c.block.d_model = 5),
        STACK(c.block.d_ff = 0),
        STACK(c.block.n_heads = 0),
        STACK(c.block.n_kv_heads = -1),
        STACK(c.block.n_kv_heads = 3),
        STACK(c.block.head_dim = -1),
        STACK(c.block.norm_eps = 0),
        STACK(c.block.dropout.embeddings = 1),
        STACK(c.block.dropout.sublayers = Real(-0.1)),
        STACK(c.block.dropout.feed_forward = kNan),
        STACK(c.block.dropout.attention = 2),
        PAIR(c.src_vocabulary = 0),
        PAIR(c.n_decoder_layers = -1),
        PAIR(c.embeddings_tied = c.tied = true),
        CLASSES(c.classes = 1),
        CLASSES(c.pooled_dropout = 1),
        CALL(preset("nonsense")),
        CALL(model().loss(kIds, kIds.slice(0, 2), kEval)),
        CALL(model().loss(kIds, ids({4, 5, 9}), kEval)),
        CALL(model().loss(kIds, Tokens(1, 3, {0, 0, 0}, 0), kEval)),
        CALL(filler()(kEmpty, kEval)),
        CALL(filler()(kIds, kEval, kIds)),
        CALL(filler().logits_at(kIds, {-1}, kEval)),
        CALL(filler().loss(kIds, kIds.slice(0, 2), kEval)),
        CALL(make_batch({{{4}, {0}}})),
        CALL(make_batch({{{4}, {4}}}, {.ends = {}})),
        CALL(teacher_forcing(translator(), make_batch({{{4}, {4}}}), kEval, 1)),
    };
}

Calls calls_of_decoding() {
    return {
        CALL(greedy(*begun(Tokens(2, 2, {1, 0, 1, 1}, 0)), 3)),
        CALL(greedy(*begun(Tokens()), 3)),
        CALL(greedy(*begun(Tokens(1, 7, {1, 4, 4, 4, 4, 4, 4})), 3)),
        CALL(greedy(*begun(), -1)),
        CALL(begun()->step(Tokens(3, 1, {4, 4, 4}))),
        CALL(begun()->select({2})),
        CALL(translator().start(Tokens(2, 1, {4, 4}), Tokens(1, 1, {1}))),
        CALL(drawn({.temperature = -1})),
        CALL(drawn({.repetition_penalty = 0})),
        CALL(drawn({.repetition_penalty = 2}, {4})),
        CALL(drawn({.never = {0, 1, 2, 3}})),
        CALL(generate(*begun(), kRng, {.max_tokens = -1})),
        CALL(searched({.beam = 0})),
        CALL(searched({.n_best = 0})),
        CALL(searched({.alpha = -1})),
        CALL(searched({.max_tokens_of = {1}})),
        CALL(translated({.batch = 0})),
        CALL(writer().encode("xyz")),
        CALL(writer().encode("\xff")),
        CALL(writer(true).encode("abcdeabcde")),
        CALL(writer()("a", {.stop = {""}})),
        CALL(writer()("abc", {.max_length = 2})),
        CALL(writer()(*begun(), WritingOptions(), kRng)),
    };
}

}  // namespace plaingrad::trust::words
