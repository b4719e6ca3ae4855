// Decoding: steps, searches, sampling, and the objects that write, translate and label.
#include <limits>

#include "models/decoding/decoding.h"
#include "models/families/one_stack.h"
#include "models/families/transformer.h"
#include "models/text/learn_tokenizer.h"
#include "models/translator.h"
#include "models/writer.h"
#include "tests/trust/words/calls.h"
#include "tests/trust/words/small.h"

namespace plaingrad::trust::words {
namespace {

using namespace models;  // NOLINT

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
const Rng kRng(1);

Config small_pair() {
    Config c;
    c.src_vocabulary = c.vocabulary = 9;
    c.max_length = 6;
    c.n_layers = c.n_decoder_layers = 1;
    c.block = small().block;
    return c;
}
const LanguageModel& model() {
    static const LanguageModel one(small(), kRng);
    return one;
}
const Transformer& pair() {
    static const Transformer one(small_pair(), kRng);
    return one;
}
using Stepping = std::unique_ptr<Stepper>;
Stepping begun(const Tokens& prompts = Tokens(2, 1, {1, 1})) { return model().start(prompts); }
void step(const Tokens& tokens) { begun()->step(tokens); }
void step_twice(const Tokens& tokens) {
    const Stepping one = begun();
    one->step(tokens);
    one->step(tokens);
}
void rewind(int64_t length) {
    const Stepping one = begun();
    one->step(Tokens(2, 2, {4, 5, 6, 7}));
    one->rewind(length);
}
template <class Change>
void changed(const Change& change) {
    const Stepping one = begun();
    change(*one);
    greedy(*one, 3);
}
void kept(int32_t row) {
    const Stepping one = begun();
    Rows rows(*one);
    rows.step();
    rows.keep(row, 4);
    rows.step();
}
void broken_weights() {
    Config c = small();
    const LanguageModel broken(c, kRng);
    for (const nn::NamedParameter& p : nn::parameters(broken))
        p.tensor.mutable_data()[0] = std::numeric_limits<Real>::quiet_NaN();
    generate(*broken.start(Tokens(1, 1, {1})), kRng);
}
void broken_beam() {
    const LanguageModel broken(small(), kRng);
    for (const nn::NamedParameter& p : nn::parameters(broken))
        p.tensor.mutable_data()[0] = std::numeric_limits<Real>::quiet_NaN();
    beam_search(*broken.start(Tokens(1, 1, {1})));
}

const Real kLogits[] = {1, 2, 3, 4};
const Real kNoNumbers[] = {1, std::numeric_limits<Real>::quiet_NaN(), 3, 4};
int32_t drawn(const SamplingOptions& options, const std::vector<int32_t>& text = {}) {
    return sample(kLogits, 4, 0.5, options, text);
}
std::vector<std::vector<int32_t>> generated(const GenerationOptions& options) {
    return generate(*begun(), kRng, options);
}
std::vector<std::vector<Hypothesis>> searched(const BeamOptions& options) {
    return beam_search(*begun(), options);
}

std::vector<Translation> translated(const TranslationOptions& options) {
    return translate(pair(), text::learn_pieces({"a b", "c d"}, {.merges = 0}), {"a b"}, options);
}
Writer writer(bool lines = false) {
    return {.model = LanguageModel(small(), kRng),
            .tokenizer = text::learn_characters({"abcde"}, lines),
            .lines = lines};
}

}  // namespace

Calls calls_of_decoding() {
    return {
        CALL(greedy(*begun(Tokens(2, 2, {1, 0, 1, 1}, 0)), 3)),
        CALL(greedy(*begun(Tokens()), 3)),
        CALL(greedy(*begun(Tokens(1, 0, {})), 3)),
        CALL(greedy(*begun(Tokens(1, 1, {9})), 3)),
        CALL(greedy(*begun(Tokens(1, 7, {1, 4, 4, 4, 4, 4, 4})), 3)),
        CALL(greedy(*begun(), -1)),
        CALL(step(Tokens(3, 1, {4, 4, 4}))),
        CALL(step(Tokens(2, 0, {}))),
        CALL(step(Tokens(2, 1, {4, 9}))),
        CALL(step(Tokens(2, 2, {4, 0, 4, 4}, 0))),
        CALL(step(Tokens(2, 7, {4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4}))),
        CALL(step_twice(Tokens(2, 4, {4, 4, 4, 4, 4, 4, 4, 4}))),
        CALL(begun()->select({2})),
        CALL(begun()->select({-1, 0})),
        CALL(rewind(3)),
        CALL(rewind(-1)),
        CALL(pair().start(Tokens(2, 1, {4, 4}), Tokens(1, 1, {1}))),
        CALL(pair().start(Tokens(1, 1, {9}))),
        CALL(pair().start(Tokens(1, 2, {0, 0}, 0))),
        CALL(pair().start(Tokens(1, 7, {4, 4, 4, 4, 4, 4, 4}))),
        CALL(changed([](Stepper& s) { s.max_length = 0; })),
        CALL(broken_weights()),
        CALL(broken_beam()),
        CALL(kept(2)),
        CALL(kept(-1)),
        CALL(room_for(*begun(), -1)),

        CALL(drawn({.temperature = -1})),
        CALL(drawn({.temperature = kNan})),
        CALL(drawn({.top_k = -1})),
        CALL(drawn({.top_p = 0})),
        CALL(drawn({.top_p = 1.5})),
        CALL(drawn({.top_p = kNan})),
        CALL(drawn({.repetition_penalty = 0})),
        CALL(drawn({.repetition_penalty = -1})),
        CALL(drawn({.repetition_penalty = kNan})),
        CALL(drawn({.repetition_penalty = 2}, {4})),
        CALL(drawn({.repetition_penalty = 2}, {-1})),
        CALL(drawn({.never = {0, 1, 2, 3}})),
        CALL(sample(kNoNumbers, 4, 0.5)),
        CALL(sample(kNoNumbers, 4, 0.5, {.temperature = 0})),
        CALL(sample(kLogits, 0, 0.5)),
        CALL(generated({.max_tokens = -1})),
        CALL(generated({.sampling = {.temperature = -1}})),
        CALL(generated({.sampling = {.top_p = 2}})),
        CALL(generated({.sampling = {.never = {0, 1, 2, 3, 4, 5, 6, 7, 8}}})),
        CALL(searched({.beam = 0})),
        CALL(searched({.beam = -1})),
        CALL(searched({.n_best = 0})),
        CALL(searched({.beam = 2, .n_best = 3})),
        CALL(searched({.alpha = -1})),
        CALL(searched({.alpha = kNan})),
        CALL(searched({.k = -1})),
        CALL(searched({.k = kNan})),
        CALL(searched({.max_tokens = -1})),
        CALL(searched({.max_tokens_of = {1}})),
        CALL(translated({.beam = 0})),
        CALL(translated({.beam = 2, .n_best = 3})),
        CALL(translated({.alpha = -1})),
        CALL(translated({.batch = 0})),
        CALL(translated({.batch = -1})),
        CALL(attention_to_source(pair(), {{4}}, {{4}, {4}})),
        CALL(attention_to_source(pair(), {{9}}, {{4}})),
        CALL(writer().encode("xyz")),
        CALL(writer().encode("\xff")),
        CALL(writer(true).encode("abcdeabcde")),
        CALL(writer()("a", {.max_tokens = -1})),
        CALL(writer()("a", {.sampling = {.temperature = -1}})),
        CALL(writer()("a", {.stop = {""}})),
        CALL(writer()("abc", {.max_length = 2})),
        CALL(writer()(*begun(), WritingOptions(), kRng)),
    };
}

}  // namespace plaingrad::trust::words
