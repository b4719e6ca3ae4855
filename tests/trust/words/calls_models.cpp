// Models: each field of a configuration out of range, token ids that do not fit.
#include <limits>

#include "models/batch.h"
#include "models/families/one_stack.h"
#include "models/families/transformer.h"
#include "models/presets.h"
#include "tests/trust/words/calls.h"
#include "tests/trust/words/small.h"

namespace plaingrad::trust::words {
namespace {

using namespace models;  // NOLINT

const Rng kRng(1);
const Mode kEval = Mode::eval();
constexpr Real kNan = std::numeric_limits<Real>::quiet_NaN();
constexpr int64_t kHuge = (int64_t{1} << 62) + 2;  // twice this is no number of 64 bits
const Tensor kNone;

template <class Change>
LanguageModel built(const Change& change) {
    Config c = small();
    change(c);
    return {c, kRng};
}
#define STACK(...) CALL(built([](Config& c) { __VA_ARGS__; }))

Config small_pair() {
    Config c;
    c.src_vocabulary = 9;
    c.vocabulary = 8;
    c.max_length = 6;
    c.n_layers = c.n_decoder_layers = 1;
    c.block = small().block;
    return c;
}
template <class Change>
Transformer built_pair(const Change& change) {
    Config c = small_pair();
    change(c);
    return {c, kRng};
}
#define PAIR(...) CALL(built_pair([](Config& c) { __VA_ARGS__; }))

template <class Change>
Classifier built_classifier(const Change& change) {
    Config c = with_classes(small(), 2);
    change(c);
    return {c, kRng};
}
#define CLASSES(...) CALL(built_classifier([](Config& c) { __VA_ARGS__; }))

LanguageModel writer() { return {small(), kRng}; }
MaskedLanguageModel filler() { return {small(), kRng}; }
Classifier classifier() { return {with_classes(small(), 2), kRng}; }
TextEncoder encoder() { return {small(), kRng}; }
Transformer translator() { return {small_pair(), kRng}; }

Tokens ids(const std::vector<int32_t>& sentence) { return Tokens::padded({sentence}, kPad); }
const Tokens kIds = ids({4, 5, 6}), kLong = ids({4, 5, 6, 7, 4, 5, 6}), kUnknown = ids({4, 9});
const Tokens kEmpty(1, 2, {0, 0}, 0);

}  // namespace

Calls calls_of_models() {
    return {
        STACK(c.vocabulary = 0), STACK(c.vocabulary = -1), STACK(c.vocabulary = 3), STACK(c.max_length = 0),
            STACK(c.max_length = -1), STACK(c.n_layers = -1), STACK(c.token_types = -1),
            STACK(c.specials.start = 9), STACK(c.specials.start = -2), STACK(c.specials.ends = {9}),
            STACK(c.specials.pad = 9), STACK(c.specials.never = {-3}), STACK(c.block.d_model = 0),
            STACK(c.block.d_model = -4), STACK(c.block.d_model = 5), STACK(c.block.d_ff = 0),
            STACK(c.block.d_ff = -1), STACK(c.block.n_heads = 0), STACK(c.block.n_heads = -1),
            STACK(c.block.n_heads = 3), STACK(c.block.n_kv_heads = -1), STACK(c.block.n_kv_heads = 3),
            STACK(c.block.head_dim = -1), STACK(c.block.norm_eps = 0), STACK(c.block.norm_eps = -1),
            STACK(c.block.norm_eps = kNan), STACK(c.block.dropout.embeddings = 1),
            STACK(c.block.dropout.sublayers = Real(-0.1)), STACK(c.block.dropout.feed_forward = kNan),
            STACK(c.block.dropout.attention = 2),
            STACK(c.block.positions = nn::Positions::rotary; c.block.head_dim = 3),
            STACK(c.block.positions = nn::Positions::rotary; c.block.rotary.base = 0),
            STACK(c.vocabulary = int64_t{1} << 40), STACK(c.block.head_dim = kHuge),
            STACK(c.block.d_ff = kHuge), STACK(c.n_layers = kHuge), STACK(c.block.rotary.base = kNan),
            PAIR(c.src_vocabulary = 0), PAIR(c.vocabulary = 0), PAIR(c.max_length = 0), PAIR(c.n_layers = -1),
            PAIR(c.n_decoder_layers = -1), PAIR(c.embeddings_tied = c.tied = true),
            PAIR(c.embeddings_tied = true), PAIR(c.specials.start = 8), PAIR(c.block.n_heads = 3),
            CLASSES(c.classes = 1), CLASSES(c.classes = -2), CLASSES(c.pooled_dropout = 1),
            CLASSES(c.pooled_dropout = Real(-0.5)), CLASSES(c.pooled_dropout = kNan),
            CLASSES(c.vocabulary = 0), CALL(preset("nonsense")), CALL(preset("")),

            CALL(writer()(kUnknown, kEval)), CALL(writer()(kLong, kEval)),
            CALL(writer().loss(kIds, kIds.slice(0, 2), kEval)),
            CALL(writer().loss(kIds, ids({4, 5, 9}), kEval)),
            CALL(writer().loss(kIds, Tokens(1, 3, {0, 0, 0}, 0), kEval)), CALL(filler()(kUnknown, kEval)),
            CALL(filler()(kLong, kEval)), CALL(filler()(kEmpty, kEval)), CALL(filler()(kIds, kEval, kIds)),
            CALL(filler().logits_at(kIds, {3}, kEval)), CALL(filler().logits_at(kIds, {-1}, kEval)),
            CALL(filler().loss(kIds, kIds.slice(0, 2), kEval)),
            CALL(filler().loss(kIds, Tokens(1, 3, {0, 0, 0}, 0), kEval)), CALL(classifier()(kUnknown, kEval)),
            CALL(classifier()(kLong, kEval)), CALL(classifier()(kEmpty, kEval)),
            CALL(classifier()(kIds, kEval, kIds)), CALL(encoder()(kUnknown, kEval)),
            CALL(encoder()(kEmpty, kEval)), CALL(encoder().pooled(Tensor::zeros({1, 4}))),
            CALL(encoder().pooled(kNone)), CALL(translator()(kUnknown, kIds, kEval)),
            CALL(translator()(kIds, ids({8}), kEval)), CALL(translator()(kLong, kIds, kEval)),
            CALL(translator()(kIds, kLong, kEval)), CALL(translator()(kEmpty, kIds, kEval)),
            CALL(translator()(Tokens(2, 1, {4, 4}, 0), kIds, kEval)),
            CALL(translator().decode(kIds, kNone, Mask::none(), kEval)),
            CALL(translator().decode(kIds, Tensor::zeros({1, 3, 5}), Mask::none(), kEval)),
            CALL(translator().decode(kIds, Tensor::zeros({1, 3, 4}), Mask::key_counts({4}), kEval)),
            CALL(translator().loss(kIds, kIds, kIds.slice(0, 2), kEval)),
            CALL(writer().backbone(kIds, Mask::key_counts({4}), kEval)),
            CALL(writer().backbone(kIds, Mask::none(), kEval, kIds)), CALL(make_batch({{{4}, {0}}})),
            CALL(make_batch({{{0}, {4}}})), CALL(make_batch({{{4}, {4}}}, {.ends = {}})),
            CALL(teacher_forcing(translator(), make_batch({{{9}, {4}}}), kEval)),
            CALL(teacher_forcing(translator(), make_batch({{{4}, {4}}}), kEval, 1)),
    };
}

}  // namespace plaingrad::trust::words
