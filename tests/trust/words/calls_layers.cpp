// Layers: sizes and options that cannot be built, tensors that do not fit.
#include <limits>

#include "nn/attention.h"
#include "nn/dropout.h"
#include "nn/embedding.h"
#include "nn/feed_forward.h"
#include "nn/key_value_cache.h"
#include "nn/linear.h"
#include "nn/norm.h"
#include "nn/positional_encoding.h"
#include "nn/probe.h"
#include "tests/packed.h"
#include "tests/trust/words/calls.h"

namespace plaingrad::trust::words {
namespace {

using namespace nn;  // NOLINT

Tensor t(const Shape& shape) { return Tensor::full(shape, 1); }
const Tensor kNone;
const Rng kRng(1);
constexpr Real kNan = std::numeric_limits<Real>::quiet_NaN();
constexpr Real kInfinite = std::numeric_limits<Real>::infinity();
const Mode kEval = Mode::eval();

// Two members of one name.
struct Twins {
    Linear one{2, 2, kRng}, other{2, 2, kRng};
    void visit(Visitor& v) const {
        v("layer", one);
        v("layer", other);
    }
};

MultiHeadAttention attention(const MultiHeadOptions& options = {}) { return {8, 2, kRng, options}; }
CrossAttention cross() { return {8, 2, kRng}; }
Rotary rotary(const RotaryOptions& options, int64_t head_dim = 4) { return {10, head_dim, options}; }
KeyValueCache cache(int64_t batch) { return KeyValueCache(t({batch, 3, 8})); }
void select(const std::vector<int32_t>& rows) {
    KeyValueCache two = cache(2);
    two.select(rows);
}
void attend_with_gradient() {
    KeyValueCache none;
    attention()(t({1, 1, 8}), {.mode = kEval, .cache = &none});
}
void append(const Tensor& next) {
    KeyValueCache two = cache(2);
    two.append(next);
}
void pack_twice() {
    Linear layer(3, 4, kRng);
    tests::pack_weights(layer);
    const autograd::UsePrecision bf16(autograd::Precision::bf16);
    tests::pack_weights(layer);
}
void use_packed() {
    Linear layer(3, 4, kRng);
    tests::pack_weights(layer);
    const autograd::UsePrecision bf16(autograd::Precision::bf16);
    layer(t({2, 3}));
}
void train_packed() {
    Linear layer(3, 4, kRng);
    tests::pack_weights(layer);
    freeze(layer, false);
}

}  // namespace

Calls calls_of_layers() {
    return {
        CALL(Parameter(Tensor())),
        CALL(Linear(-1, 2, kRng)),
        CALL(Linear(2, -1, kRng)),
        CALL(Linear(int64_t{1} << 40, int64_t{1} << 40, kRng)),
        CALL(Linear(3, 4, kRng)(t({2, 4}))),
        CALL(Linear(3, 4, kRng)(kNone)),
        CALL(Linear(Parameter(), Parameter())(t({2, 3}))),
        CALL(side_by_side(3, {{"a", -4}}, kRng, {})),
        CALL(KeyValueCache(t({2, 3}))),
        CALL(attend_with_gradient()),
        CALL(PositionalEncoding(Positions::sinusoidal, 5, 8, kRng)(t({2, 3, 1}), kEval)),
        CALL(PositionalEncoding(Positions::learned, 5, 8, kRng)(t({2, 3, 1}), kEval)),
        CALL(PositionalEncoding(Positions::sinusoidal, 5, 4, kRng)(t({1, 4}), kEval)),
        CALL(Embedding(-1, 4, kRng)),
        CALL(Embedding(4, -1, kRng)),
        CALL(Embedding(4, 2, kRng)(Tokens(1, 1, {4}))),
        CALL(uniform({-1}, 1, kRng)),
        CALL(normal({2, -1}, 1, kRng)),
        CALL(Norm(-1)),
        CALL(Norm(4, {.eps = 0})),
        CALL(Norm(4, {.eps = -1})),
        CALL(Norm(4, {.eps = kNan})),
        CALL(Norm(4, {.eps = kInfinite})),
        CALL(Norm(4)(t({2, 3}))),
        CALL(Norm(4)(kNone)),
        CALL(Norm(4, {.kind = NormKind::rms})(t({2, 3}))),
        CALL(Norm(4).of_residual(t({2, 4}), t({2, 3}), 0, kRng)),
        CALL(Norm(4).of_residual(t({2, 4}), t({2, 4}), 1, kRng)),
        CALL(Dropout(1, kRng)),
        CALL(Dropout(Real(-0.1), kRng)),
        CALL(Dropout(kNan, kRng)),
        CALL(Dropout(Real(0.5), kRng)(kNone, Mode::train(kRng))),
        CALL(FeedForward(4, -1, kRng)),
        CALL(FeedForward(-4, 8, kRng)),
        CALL(FeedForward(4, 8, kRng, {.dropout = 1})),
        CALL(FeedForward(4, 8, kRng)(t({2, 3}), kEval)),
        CALL(FeedForward(4, 8, kRng, {.gated = true})(t({2, 3}), kEval)),

        CALL(PositionalEncoding(Positions::learned, -1, 4, kRng)),
        CALL(PositionalEncoding(Positions::sinusoidal, 10, -4, kRng)),
        CALL(PositionalEncoding(Positions::sinusoidal, 10, 4, kRng)(t({1, 11, 4}), kEval)),
        CALL(PositionalEncoding(Positions::sinusoidal, 10, 4, kRng)(t({1, 1, 4}), kEval, 10)),
        CALL(PositionalEncoding(Positions::sinusoidal, 10, 4, kRng)(t({1, 1, 4}), kEval, -1)),
        CALL(PositionalEncoding(Positions::learned, 10, 4, kRng)(t({1, 11, 4}), kEval)),
        CALL(PositionalEncoding(Positions::learned, 10, 4, kRng)(t({1, 3, 5}), kEval)),
        CALL(PositionalEncoding(Positions::learned, 10, 4, kRng)(kNone, kEval)),

        CALL(check_options({.width = 3}, 4)),
        CALL(check_options({.width = 6}, 4)),
        CALL(check_options({.width = -2}, 4)),
        CALL(check_options({}, 5)),
        CALL(check_options({.base = 0}, 4)),
        CALL(check_options({.base = kNan}, 4)),
        CALL(check_options({.base = kInfinite}, 4)),
        CALL(check_options({.scaling = RotaryScaling::linear, .factor = 0}, 4)),
        CALL(check_options({.scaling = RotaryScaling::linear, .factor = kNan}, 4)),
        CALL(check_options({.scaling = RotaryScaling::llama3, .low_frequency_factor = 0}, 4)),
        CALL(check_options({.scaling = RotaryScaling::llama3, .high_frequency_factor = 1}, 4)),
        CALL(check_options({.scaling = RotaryScaling::llama3, .original_length = 0}, 4)),
        CALL(rotary({.width = 3})),
        CALL(Rotary(-1, 4, {})),
        CALL(rotary({})(t({1, 11, 4}), 1, 0)),
        CALL(rotary({})(t({1, 2, 4}), 1, 9)),
        CALL(rotary({})(t({1, 2, 4}), 2, 0)),
        CALL(rotary({})(t({1, 2, 4}), 0, 0)),
        CALL(rotary({})(kNone, 1, 0)),

        CALL(MultiHeadAttention(8, 0, kRng)),
        CALL(MultiHeadAttention(8, -2, kRng)),
        CALL(MultiHeadAttention(8, 3, kRng)),
        CALL(MultiHeadAttention(-8, 2, kRng)),
        CALL(CrossAttention(8, 3, kRng)),
        CALL(attention({.n_kv_heads = 3})),
        CALL(attention({.n_kv_heads = -1})),
        CALL(attention({.head_dim = -1})),
        CALL(attention({.dropout = 1})),
        CALL(attention({.dropout = kNan})),
        CALL(attention()(kNone, {.mode = kEval})),
        CALL(attention()(t({1, 2, 7}), {.mode = kEval})),
        CALL(attention()(t({2, 8}), {.mode = kEval})),
        CALL(attention()(t({1, 2, 8}), {.mask = Mask::key_counts({3}), .mode = kEval})),
        CALL(cross()(t({1, 2, 8}), t({1, 2, 7}), {.mode = kEval})),
        CALL(cross()(t({1, 2, 8}), t({2, 2, 8}), {.mode = kEval})),
        CALL(KeyValueCache(Tensor())),
        CALL(KeyValueCache(t({3}))),
        CALL(append(t({3, 1, 8}))),
        CALL(append(t({2, 1, 6}))),
        CALL(append(t({2, 8}))),
        CALL(append(kNone)),
        CALL(select({0, 2})),
        CALL(select({-1})),

        CALL(all_parameters(Twins())),
        CALL(copy_values(parameters(Linear(2, 3, kRng)), parameters(Linear(3, 2, kRng)))),
        CALL(copy_values(parameters(Linear(2, 3, kRng)), parameters(Linear(2, 3, kRng, {.bias = false})))),
        CALL(copy_values(parameters(Norm(3)), parameters(Linear(3, 3, kRng)))),
        CALL(Probe().of(Linear(2, 2, kRng))),
        CALL(pack_twice()),
        CALL(use_packed()),
        CALL(train_packed()),
    };
}

}  // namespace plaingrad::trust::words
