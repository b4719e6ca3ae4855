// The errors of every operation for arguments that do not fit: one line with its name and the arguments.
#include <functional>

#include "autograd/ops.h"
#include "tests/autograd/values.h"
#include "tests/catch.h"

using namespace plaingrad;  // NOLINT
using namespace autograd;   // NOLINT
using namespace tests;      // NOLINT

namespace {

struct Failing {
    std::function<Tensor()> call;
    std::vector<std::string> parts;  // the first begins the line
};

Tensor t(const Shape& shape) { return Tensor::full(shape, 1); }

const Rng kRng(1);

#define CALL(...) [] { return __VA_ARGS__; }
const std::vector<Failing> kCalls = {
    {CALL(add(t({2, 3}), t({4}))), {"[add] ", "(2, 3)", "(4)"}},
    {CALL(sub(t({2, 3}), t({3, 3}))), {"[sub] ", "(2, 3)", "(3, 3)"}},
    {CALL(mul(t({2, 3}), t({2}))), {"[mul] ", "(2, 3)", "(2)"}},
    {CALL(div(t({0}), t({2}))), {"[div] ", "(0)", "(2)"}},
    {CALL(matmul(t({3}), t({3, 2}))), {"[matmul] ", "(3)", "(3, 2)", "two dimensions"}},
    {CALL(matmul(t({2, 3}), t({3}))), {"[matmul] ", "(2, 3)", "(3)"}},
    {CALL(matmul(t({2, 3}), t({4, 5}))),
     {"[matmul] ", "(2, 3)", "(4, 5)", "a's last must equal b's second to last"}},
    {CALL(matmul(t({2, 3}), t({3, 5}), true)),
     {"[matmul] ", "(2, 3)", "(3, 5)", "a's last must equal b's last"}},
    {CALL(matmul(t({2, 2, 3}), t({3, 3, 5}))), {"[matmul] ", "(2, 2, 5)", "(3, 2, 5)"}},
    {CALL(linear(t({2, 3}), t({4, 5}))), {"[linear] ", "(2, 3)", "(4, 5)", "first"}},
    {CALL(linear(t({2, 3}), t({3}))), {"[linear] ", "(2, 3)", "(3)"}},
    {CALL(linear(t({}), t({3, 4}))), {"[linear] ", "()", "(3, 4)"}},
    {CALL(linear(t({2, 3}), t({3, 5}), t({3}))), {"[linear] ", "(3)", "(3, 5)", "bias"}},
    {CALL(embedding({}, Tokens(1, 3, {1, 2, 4}))), {"[embedding] ", "(V, N)"}},
    {CALL(feed_forward(t({2, 3}), t({4, 5}), {}, t({5, 3}), {}, Activation::relu)),
     {"[feed_forward] ", "(2, 3)", "(4, 5)"}},
    {CALL(feed_forward(t({2, 3}), t({3, 5}), {}, t({4, 3}), {}, Activation::relu)),
     {"[feed_forward] ", "(2, 5)", "(4, 3)"}},
    {CALL(residual(t({2, 3}), t({3}), 0, kRng)), {"[residual] ", "(2, 3)", "(3)"}},
    {CALL(residual(t({2}), t({2}), 1, kRng)), {"[residual] ", "[0, 1)", "1"}},
    {CALL(residual_norm(t({2, 3}), t({3}), 0, kRng, t({3}), t({3}))),
     {"[residual_norm] x is (2, 3), y is (3)"}},
    {CALL(residual_norm(t({2, 3}), t({2, 3}), 0, kRng, t({2}), t({2}))),
     {"[residual_norm] ", "(2, 3)", "(2)"}},
    {CALL(linear_cross_entropy(t({2, 3}), t({4, 5}), {}, Tokens(1, 2, {0, 1}))),
     {"[linear_cross_entropy] ", "(2, 3)", "(4, 5)"}},
    {CALL(linear_cross_entropy(t({2, 3}), t({4, 3}), t({3}), Tokens(1, 2, {0, 1}))),
     {"[linear_cross_entropy] ", "(3)", "(4, 3)"}},
    {CALL(linear_cross_entropy(t({2, 3}), t({4, 3}), {}, Tokens(1, 2, {0, 4}))),
     {"[cross_entropy] ", "4", "vocabulary"}},
    {CALL(linear_transposed(t({2, 3}), t({3, 5}))), {"[linear_transposed] ", "(2, 3)", "(3, 5)", "second"}},
    {CALL(linear_transposed(t({2, 3}), t({5, 3}), t({1, 5}))), {"[linear_transposed] ", "(1, 5)", "(5, 3)"}},
    {CALL(sum(t({2, 3}), {0, -2})), {"[sum] ", "(2, 3)", "-2", "twice"}},
    {CALL(sum(t({2, 3}), {2})), {"[shape] no dimension 2 in (2, 3)"}},
    {CALL(mean(t({2, 3}), {1, 1})), {"[mean] ", "(2, 3)", "twice"}},
    {CALL(mean(t({0, 3}))), {"[mean] ", "(0, 3)"}},
    {CALL(mean(t({2, 0}), {1})), {"[mean] ", "(2, 0)"}},
    {CALL(max(t({2, 0}), 1)), {"[max] ", "(2, 0)", "dimension 1"}},
    {CALL(max(t({2, 3}), -3)), {"[shape] no dimension -3 in (2, 3)"}},
    {CALL(add(Tensor(), t({2}))), {"[Tensor] this tensor is empty"}},
    {CALL((Tensor().mutable_data(), Tensor())), {"[Tensor] an empty tensor cannot be written to"}},
    {CALL(gradient_to_bf16(Tensor())), {"[reshape] this tensor is empty"}},
    {CALL(reshape(t({2, 3}), {-1, int64_t(1) << 40, int64_t(1) << 40})), {"[shape] too many"}},
    {CALL(reshape(t({2, 3}), {4})), {"[reshape] ", "(2, 3)", "(4)"}},
    {CALL(reshape(t({2, 3}), {-1, 4})), {"[reshape] ", "(2, 3)", "4 equal parts"}},
    {CALL(reshape(t({2, 3}), {-1, -1})), {"[shape] a size must not be negative", "in dimension 1"}},
    {CALL(reshape(t({2, 3}), {-2, 3})), {"[shape] a size must not be negative", "got -2"}},
    {CALL(reshape(t({0, 3}), {-1, 0})), {"[reshape] ", "(0, 3)"}},
    {CALL(reshape(t({2, 3}), {1, 1, 1, 1, 6})), {"[shape] at most 4"}},
    {CALL(permute(t({2, 3}), {0})), {"[permute] ", "(2, 3)", "got 1"}},
    {CALL(permute(t({2, 3}), {0, -2})), {"[permute] ", "(2, 3)", "twice"}},
    {CALL(permute(t({2, 3}), {0, 2})), {"[shape] no dimension 2 in (2, 3)"}},
    {CALL(transpose(t({2, 3}), 0, 2)), {"[shape] no dimension 2 in (2, 3)"}},
    {CALL(slice(t({2, 3}), 1, 2, 4)), {"[slice] ", "[2, 4)", "(2, 3)", "dimension 1"}},
    {CALL(slice(t({2, 3}), 0, -1, 1)), {"[slice] ", "[-1, 1)", "(2, 3)"}},
    {CALL(slice(t({2, 3}), 0, 2, 1)), {"[slice] ", "[2, 1)", "(2, 3)"}},
    {CALL(concat({}, 0)), {"[concat] ", "at least one"}},
    {CALL(concat({t({2, 3}), t({2, 4})}, 0)), {"[concat] ", "(2, 3)", "(2, 4)", "dimension 0"}},
    {CALL(concat({t({2, 3}), t({3})}, 0)), {"[concat] ", "(2, 3)", "(3)"}},
    {CALL(softmax(t({2, 3}), 2)), {"[shape] no dimension 2 in (2, 3)"}},
    {CALL(log_softmax(t({}), -1)), {"[shape] no dimension -1 in ()"}},
    {CALL(cross_entropy(t({2, 3}), Tokens(1, 3, {0, 1, 2}))), {"[cross_entropy] ", "(2, 3)", "got 3"}},
    {CALL(cross_entropy(t({2, 3}), Tokens(1, 2, {0, 3}))),
     {"[cross_entropy] ", "id 3", "row 0", "position 1", "vocabulary of 3"}},
    {CALL(cross_entropy(t({2, 2, 3}), Tokens(2, 2, {0, 1, 7, 0}))),
     {"[cross_entropy] ", "id 7", "row 1, position 0"}},
    {CALL(cross_entropy(t({2, 3}), Tokens(1, 2, {1, 1}), {.ignore = 1})),
     {"[cross_entropy] no target is counted", "all 2", "id 1"}},
    {CALL(cross_entropy(t({2, 3}), Tokens(1, 2, {1, 1}), {.label_smoothing = 1})),
     {"[cross_entropy] ", "got 1"}},
    {CALL(cross_entropy(t({2, 3}), Tokens(1, 2, {1, 1}), {.label_smoothing = kNan})),
     {"[cross_entropy] ", "nan"}},
    {CALL(gather(t({2, 3}), Tokens(1, 3, {0, 1, 2}))), {"[gather] ", "(2, 3)", "2 rows", "got 3"}},
    {CALL(gather(t({2, 3}), Tokens(1, 2, {0, 3}))), {"[gather] ", "id 3", "row 0, position 1", "of 3"}},
    {CALL(maximum(t({2, 3}), t({2}))), {"[maximum] ", "(2, 3)", "(2)"}},
    {CALL(minimum(t({2, 3}), t({2}))), {"[maximum] ", "(2, 3)", "(2)"}},
    {CALL(where(t({2, 3}), t({2}), t({}))), {"[where] ", "(2, 3)", "(2)"}},
    {CALL(where(t({}), t({4}), t({3}))), {"[where] ", "(4)", "(3)"}},
    {CALL(t({2}) < t({3})), {"[<] ", "(2)", "(3)"}},
    {CALL(t({2}) == t({3})), {"[==] ", "(2)", "(3)"}},
    {CALL(mse_loss(t({2, 3}), t({3}))), {"[mse_loss] ", "(2, 3)", "(3)"}},
    {CALL(bce_with_logits(t({2, 3}), t({3}))), {"[bce_with_logits] ", "(2, 3)", "(3)"}},
    {CALL(stack({t({2, 3}), t({3})}, 0)), {"[stack] ", "(2, 3)", "(3)"}},
    {CALL(stack({t({2, 3})}, 3)), {"[unsqueeze] ", "(2, 3)", "-3 to 2", "got 3"}},
    {CALL(stack({}, 0)), {"[concat] ", "at least one"}},
    {CALL(unsqueeze(t({2, 3}), -4)), {"[unsqueeze] ", "(2, 3)", "got -4"}},
    {CALL(squeeze(t({2, 3}), 2)), {"[shape] no dimension 2 in (2, 3)"}},
    {CALL(split(t({2, 3}), 0, 1)[0]), {"[split] ", "got 0"}},
    {CALL(split(t({2, 3}), 1, 2)[0]), {"[shape] no dimension 2 in (2, 3)"}},
    {CALL(t({2, 3})[2]), {"[Tensor] there is no row 2 in (2, 3)"}},
    {CALL(t({2, 3})[-3]), {"[Tensor] there is no row -3 in (2, 3)"}},
    {CALL(t({})[0]), {"[Tensor] ", "()"}},
    {CALL(Tensor::arange(0, 1, 0)), {"[Tensor::arange] ", "got 0"}},
    {CALL(Tensor::arange(0, 1, kNan)), {"[Tensor::arange] ", "nan"}},
    {CALL(Tensor::arange(0, 1e300)), {"[Tensor::arange] ", "1e+300"}},
    {CALL(argmax(t({2, 0})), t({1})), {"[argmax] ", "(2, 0)"}},
    {CALL(argmax(t({2, 2, 2, 2})), t({1})), {"[argmax] ", "(2, 2, 2, 2)"}},
    {CALL(cross_entropy(t({2, 3, 5}), Tokens(3, 2, {0, 1, 2, 3, 4, 0}))),
     {"[cross_entropy] ", "(2, 3, 5)", "(3, 2)"}},
    {CALL(linear_cross_entropy(t({2, 3, 5}), t({4, 5}), {}, Tokens(3, 2, {0, 1, 2, 3, 3, 0}))),
     {"[cross_entropy] ", "(2, 3, 4)", "(3, 2)"}},
    {CALL(layer_norm(t({2, 3}), t({3}), t({3}), -1)), {"[layer_norm] ", "got -1"}},
    {CALL(layer_norm(t({2, 3}), t({3}), t({3}), kNan)), {"[layer_norm] ", "nan"}},
    {CALL(residual_norm(t({2, 3}), t({2, 3}), 0, kRng, t({3}), t({3}), -1)), {"[residual_norm] ", "got -1"}},
    {CALL(Tensor().require_grad()), {"[require_grad] ", "empty"}},
    {CALL(reshape(Tensor(), {1})), {"[reshape] ", "empty"}},
    {CALL(t({0, int64_t(1) << 62, 4})), {"[shape] too many elements"}},
    {CALL(t({4, int64_t(1) << 62, 0})), {"[shape] too many elements"}},
    {CALL(embedding(t({3}), Tokens(1, 1, {0}))), {"[embedding] ", "(3)"}},
    {CALL(embedding(t({3, 2}), Tokens(2, 2, {0, 1, 2, 3}))),
     {"[embedding] ", "id 3", "row 1, position 1", "vocabulary of 3"}},
    {CALL(dropout(t({3}), 1, kRng)), {"[dropout] ", "got 1"}},
    {CALL(dropout(t({3}), Real(-0.5), kRng)), {"[dropout] ", "got -0.5"}},
    {CALL(dropout(t({3}), kNan, kRng)), {"[dropout] ", "nan"}},
    {CALL(layer_norm(t({2, 3}), t({2}), t({3}))), {"[layer_norm] ", "(2, 3)", "(2)", "(3)"}},
    {CALL(layer_norm(t({2, 3}), t({3}), t({1, 3}))), {"[layer_norm] ", "(2, 3)", "(1, 3)"}},
    {CALL(layer_norm(t({}), t({}), t({}))), {"[layer_norm] ", "()"}},
    {CALL(rotary(t({2, 3}), t({3, 2}), {1, 2})), {"[rotary] ", "(2, 3)", "(B, T, N)"}},
    {CALL(rotary(t({1, 2, 6}), t({3, 3}), {1, 4})), {"[rotary] ", "(3, 3)", "R even"}},
    {CALL(rotary(t({1, 2, 6}), t({3, 4}), {2, 3})), {"[rotary] ", "(3, 4)", "2 heads of 3"}},
    {CALL(rotary(t({1, 2, 6}), t({3, 4}), {2, 4})), {"[rotary] ", "(1, 2, 6)", "2 heads of 4"}},
    {CALL(rotary(t({1, 2, 6}), t({3, 4}), {0, 4})), {"[rotary] ", "0 heads"}},
    {CALL(rotary(t({1, 2, 6}), t({3, 4}), {1, 6, 2})), {"[rotary] ", "(3, 4)", "2 positions from 2"}},
    {CALL(rotary(t({1, 2, 6}), t({3, 4}), {1, 6, -1})), {"[rotary] ", "from -1"}},
    {CALL(glu(t({2, 3}), Activation::silu)), {"[glu] ", "(2, 3)", "(..., 2*N)"}},
    {CALL(feed_forward(t({2, 3}), t({3, 5}), {}, t({5, 3}), {}, Activation::silu, true)),
     {"[feed_forward] ", "(3, 5)", "(K, 2*N)"}},
    {CALL(feed_forward(t({2, 3}), t({3, 10}), {}, t({10, 3}), {}, Activation::silu, true)),
     {"[feed_forward] ", "(2, 5)", "(10, 3)"}},
    {CALL(rms_norm(t({2, 3}), t({2}))), {"[rms_norm] ", "(2, 3)", "(2)"}},
    {CALL(rms_norm(t({2, 3}), t({3}), kNan)), {"[rms_norm] ", "nan"}},
    {CALL(residual_norm(t({2, 3}), t({2, 3}), 1, kRng, t({3}), {})), {"[residual_norm] ", "got 1"}},
    {CALL(attention(t({2, 3}), t({2, 3}), t({2, 3}))), {"[attention] ", "(2, 3)", "(B, T, H*D)"}},
    {CALL(attention(t({2, 3, 4}), t({2, 5, 4}), t({2, 6, 4}))),
     {"[attention] ", "(2, 3, 4)", "(2, 5, 4)", "(2, 6, 4)"}},
    {CALL(attention(t({2, 3, 4}), t({1, 5, 4}), t({1, 5, 4}))), {"[attention] ", "(1, 5, 4)"}},
    {CALL(attention(t({2, 3, 4}), t({2, 5, 6}), t({2, 5, 6}))), {"[attention] ", "(2, 5, 6)"}},
    {CALL(attention(t({2, 3, 4}), t({2, 3, 4}), t({2, 3, 4}), {.n_heads = 3})),
     {"[attention] ", "4 columns", "3 heads"}},
    {CALL(attention(t({2, 3, 4}), t({2, 3, 4}), t({2, 3, 4}), {.n_heads = 0})), {"[attention] ", "0 heads"}},
    {CALL(attention(t({1, 1, 2}), t({1, 1, 2}), t({1, 1, 2}), {.dropout = 1, .rng = &kRng})),
     {"[attention] ", "got 1"}},
    {CALL(attention(t({1, 1, 2}), t({1, 1, 2}), t({1, 1, 2}), {.dropout = kNan, .rng = &kRng})),
     {"[attention] ", "nan"}},
    {CALL(attention(t({1, 1, 2}), t({1, 1, 2}), t({1, 1, 2}), {.dropout = Real(0.1)})),
     {"[attention] ", "Rng"}},
    {CALL(attention(t({2, 3, 4}), t({2, 5, 4}), t({2, 5, 4}), {.mask = Mask::key_counts({1})})),
     {"[Mask] ", "batch of 2"}},
    {CALL(attention(t({1, 3, 4}), t({1, 2, 4}), t({1, 2, 4}), {.mask = Mask::causal()})),
     {"[Mask] causal", "(2)", "(3)"}},
    {CALL(self_attention(t({2, 3, 4}))), {"[self_attention] ", "(2, 3, 4)", "(H + 2*G)*D", "H = 1"}},
    {CALL(self_attention(t({2, 3}))), {"[self_attention] ", "(2, 3)"}},
    {CALL(self_attention(t({2, 3, 12}), {.n_heads = 3})), {"[self_attention] ", "(2, 3, 12)", "H = 3"}},
    {CALL(self_attention(t({2, 3, 12}), {.n_heads = -1})), {"[self_attention] ", "H = -1"}},
    {CALL(self_attention(t({2, 3, 12}), {.n_heads = 3, .n_kv_heads = 2})),
     {"[self_attention] ", "H = 3", "G = 2"}},
    {CALL(self_attention(t({2, 3, 14}), {.n_heads = 3, .n_kv_heads = 2})),
     {"[attention] ", "multiple", "3 and 2"}},
    {CALL(attention(t({2, 3, 6}), t({2, 3, 6}), t({2, 3, 6}), {.n_heads = 3, .n_kv_heads = 1})),
     {"[attention] ", "(2, 3, 6)", "G*D", "H = 3 and G = 1"}},
    {CALL(attention(t({2, 3, 6}), t({2, 3, 6}), t({2, 3, 6}), {.n_heads = 3, .n_kv_heads = -1})),
     {"[attention] ", "3 and -1"}},
    {CALL(cross_attention(t({2, 3, 4}), t({2, 5, 4}))), {"[cross_attention] ", "(2, 5, 4)", "2*G*D"}},
    {CALL(cross_attention(t({2, 3, 4}), t({1, 5, 8}))), {"[cross_attention] ", "(1, 5, 8)"}},
    {CALL(cross_attention(t({2, 3, 4}), t({2, 8}))), {"[cross_attention] ", "(2, 8)"}},
};
#undef CALL

}  // namespace

TEST_CASE("ops: errors are one line with the name and the arguments", "[ops][errors]") {
    for (const Failing& c : kCalls) {
        const std::string error = error_of(c.call);
        INFO("'" << error << "' for " << c.parts[0] << c.parts.back());
        CHECK(error.rfind(c.parts[0], 0) == 0);
        CHECK(!contains(error, "\n"));
        for (const std::string& part : c.parts) {
            INFO("expected: " << part);
            CHECK(contains(error, part));
        }
    }
}

TEST_CASE("ops: sizes of 0 are allowed", "[ops]") {
    storage_poison(true);
    const Tensor none = leaf(Tensor::zeros({0, 3}));
    CHECK(mul(none, none).shape() == Shape{0, 3});
    CHECK(sum(none).item() == 0);
    CHECK(sum(none, {0}).to_vector() == std::vector<Real>(3, 0));
    CHECK(softmax(none).numel() == 0);
    CHECK(softmax(none, 0).numel() == 0);
    CHECK(transpose(none, 0, 1).shape() == Shape{3, 0});
    CHECK(slice(t({2, 3}), 0, 1, 1).shape() == Shape{0, 3});
    CHECK(linear(none, t({3, 5}), t({5})).shape() == Shape{0, 5});
    CHECK(layer_norm(none, t({3}), t({3})).numel() == 0);
    CHECK(embedding(t({3, 2}), Tokens()).shape() == Shape{0, 0, 2});
    // Without keys, attention gives zeros. An empty sum is 0, plus the bias.
    CHECK(attention(t({1, 2, 3}), t({1, 0, 3}), t({1, 0, 3})).to_vector() == std::vector<Real>(6, 0));
    CHECK(matmul(t({2, 0}), t({0, 3})).to_vector() == std::vector<Real>(6, 0));
    CHECK(matmul(t({2, 2, 0}), t({2, 0, 3})).to_vector() == std::vector<Real>(12, 0));
    CHECK(linear(t({2, 0}), t({0, 3}), t({3})).to_vector() == std::vector<Real>(6, 1));
    const Tensor weight = leaf(t({3, 5})), bias = leaf(t({5}));
    sum(linear(none, weight, bias)).backward();
    CHECK(weight.grad().to_vector() == std::vector<Real>(15, 0));
    CHECK(bias.grad().to_vector() == std::vector<Real>(5, 0));
    CHECK(none.grad().numel() == 0);
    storage_poison(false);
}
