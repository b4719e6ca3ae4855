// What every operation says of arguments that do not fit: one line, its name, and what was given.
#include <functional>

#include "autograd/ops.h"
#include "tests/autograd/values.h"
#include "tests/catch.h"

using namespace autograd;  // NOLINT
using namespace tests;     // NOLINT

namespace {

struct Failing {
    std::function<void()> call;
    std::vector<std::string> parts;  // the first begins the line
};

Tensor t(const Shape& shape) { return Tensor::full(shape, 1); }

const Rng kRng(1);

const std::vector<Failing> kCalls = {
    {[] {
         add(t({2, 3}), t({4}));
     },
     {"[add] ", "(2, 3)", "(4)"}},
    {[] {
         sub(t({2, 3}), t({3, 3}));
     },
     {"[sub] ", "(2, 3)", "(3, 3)"}},
    {[] {
         mul(t({2, 3}), t({2}));
     },
     {"[mul] ", "(2, 3)", "(2)"}},
    {[] { div(t({0}), t({2})); }, {"[div] ", "(0)", "(2)"}},
    {[] {
         matmul(t({3}), t({3, 2}));
     },
     {"[matmul] ", "(3)", "(3, 2)", "two dimensions"}},
    {[] {
         matmul(t({2, 3}), t({3}));
     },
     {"[matmul] ", "(2, 3)", "(3)"}},
    {[] {
         matmul(t({2, 3}), t({4, 5}));
     },
     {"[matmul] ", "(2, 3)", "(4, 5)", "a's last must equal b's last but one"}},
    {[] {
         matmul(t({2, 3}), t({3, 5}), true);
     },
     {"[matmul] ", "(2, 3)", "(3, 5)", "a's last must equal b's last"}},
    {[] {
         matmul(t({2, 2, 3}), t({3, 3, 5}));
     },
     {"[matmul] ", "(2)", "(3)"}},
    {[] {
         linear(t({2, 3}), t({4, 5}));
     },
     {"[linear] ", "(2, 3)", "(4, 5)", "first"}},
    {[] {
         linear(t({2, 3}), t({3}));
     },
     {"[linear] ", "(2, 3)", "(3)"}},
    {[] {
         linear(t({}), t({3, 4}));
     },
     {"[linear] ", "()", "(3, 4)"}},
    {[] {
         linear(t({2, 3}), t({3, 5}), t({3}));
     },
     {"[linear] ", "(3)", "(3, 5)", "bias"}},
    {[] {
         linear_transposed(t({2, 3}), t({3, 5}));
     },
     {"[linear_transposed] ", "(2, 3)", "(3, 5)", "second"}},
    {[] {
         linear_transposed(t({2, 3}), t({5, 3}), t({1, 5}));
     },
     {"[linear_transposed] ", "(1, 5)", "(5, 3)"}},
    {[] {
         sum(t({2, 3}), {0, -2});
     },
     {"[sum] ", "(2, 3)", "-2", "twice"}},
    {[] {
         sum(t({2, 3}), {2});
     },
     {"[shape] no dimension 2 in (2, 3)"}},
    {[] {
         mean(t({2, 3}), {1, 1});
     },
     {"[mean] ", "(2, 3)", "twice"}},
    {[] {
         mean(t({0, 3}));
     },
     {"[mean] ", "(0, 3)"}},
    {[] {
         mean(t({2, 0}), {1});
     },
     {"[mean] ", "(2, 0)"}},
    {[] {
         max(t({2, 0}), 1);
     },
     {"[max] ", "(2, 0)", "dimension 1"}},
    {[] {
         max(t({2, 3}), -3);
     },
     {"[shape] no dimension -3 in (2, 3)"}},
    {[] {
         reshape(t({2, 3}), {4});
     },
     {"[reshape] ", "(2, 3)", "(4)"}},
    {[] {
         reshape(t({2, 3}), {-1, 4});
     },
     {"[reshape] ", "(2, 3)", "4 equal parts"}},
    {[] {
         reshape(t({2, 3}), {-1, -1});
     },
     {"[reshape] ", "one at most -1"}},
    {[] {
         reshape(t({2, 3}), {-2, 3});
     },
     {"[reshape] "}},
    {[] {
         reshape(t({0, 3}), {-1, 0});
     },
     {"[reshape] ", "(0, 3)"}},
    {[] {
         reshape(t({2, 3}), {1, 1, 1, 1, 6});
     },
     {"[shape] at most 4"}},
    {[] {
         permute(t({2, 3}), {0});
     },
     {"[permute] ", "(2, 3)", "got 1"}},
    {[] {
         permute(t({2, 3}), {0, -2});
     },
     {"[permute] ", "(2, 3)", "twice"}},
    {[] {
         permute(t({2, 3}), {0, 2});
     },
     {"[shape] no dimension 2 in (2, 3)"}},
    {[] {
         transpose(t({2, 3}), 0, 2);
     },
     {"[shape] no dimension 2 in (2, 3)"}},
    {[] {
         slice(t({2, 3}), 1, 2, 4);
     },
     {"[slice] ", "[2, 4)", "(2, 3)", "dimension 1"}},
    {[] {
         slice(t({2, 3}), 0, -1, 1);
     },
     {"[slice] ", "[-1, 1)", "(2, 3)"}},
    {[] {
         slice(t({2, 3}), 0, 2, 1);
     },
     {"[slice] ", "[2, 1)", "(2, 3)"}},
    {[] { concat({}, 0); }, {"[concat] ", "at least one"}},
    {[] {
         concat({t({2, 3}), t({2, 4})}, 0);
     },
     {"[concat] ", "(2, 3)", "(2, 4)", "dimension 0"}},
    {[] {
         concat({t({2, 3}), t({3})}, 0);
     },
     {"[concat] ", "(2, 3)", "(3)"}},
    {[] {
         softmax(t({2, 3}), 2);
     },
     {"[shape] no dimension 2 in (2, 3)"}},
    {[] { log_softmax(t({}), -1); }, {"[shape] no dimension -1 in ()"}},
    {[] {
         cross_entropy(t({2, 3}), Tokens(1, 3, {0, 1, 2}));
     },
     {"[cross_entropy] ", "(2, 3)", "got 3"}},
    {[] {
         cross_entropy(t({2, 3}), Tokens(1, 2, {0, 3}));
     },
     {"[cross_entropy] ", "id 3", "row 0", "position 1", "vocabulary of 3"}},
    {[] {
         cross_entropy(t({2, 2, 3}), Tokens(2, 2, {0, 1, 7, 0}));
     },
     {"[cross_entropy] ", "id 7", "row 1, position 0"}},
    {[] {
         cross_entropy(t({2, 3}), Tokens(1, 2, {1, 1}), {.ignore = 1});
     },
     {"[cross_entropy] no target is counted", "all 2", "id 1"}},
    {[] {
         cross_entropy(t({2, 3}), Tokens(1, 2, {1, 1}), {.label_smoothing = 1});
     },
     {"[cross_entropy] ", "got 1"}},
    {[] {
         cross_entropy(t({2, 3}), Tokens(1, 2, {1, 1}), {.label_smoothing = kNan});
     },
     {"[cross_entropy] ", "nan"}},
    {[] { embedding(t({3}), Tokens(1, 1, {0})); }, {"[embedding] ", "(3)"}},
    {[] {
         embedding(t({3, 2}), Tokens(2, 2, {0, 1, 2, 3}));
     },
     {"[embedding] ", "id 3", "row 1, position 1", "vocabulary of 3"}},
    {[] { dropout(t({3}), 1, kRng); }, {"[dropout] ", "got 1"}},
    {[] { dropout(t({3}), Real(-0.5), kRng); }, {"[dropout] ", "got -0.5"}},
    {[] { dropout(t({3}), kNan, kRng); }, {"[dropout] ", "nan"}},
    {[] {
         layer_norm(t({2, 3}), t({2}), t({3}));
     },
     {"[layer_norm] ", "(2, 3)", "(2)", "(3)"}},
    {[] {
         layer_norm(t({2, 3}), t({3}), t({1, 3}));
     },
     {"[layer_norm] ", "(2, 3)", "(1, 3)"}},
    {[] { layer_norm(t({}), t({}), t({})); }, {"[layer_norm] ", "()"}},
    {[] {
         attention(t({2, 3}), t({2, 3}), t({2, 3}));
     },
     {"[attention] ", "(2, 3)", "(B, T, H*D)"}},
    {[] {
         attention(t({2, 3, 4}), t({2, 5, 4}), t({2, 6, 4}));
     },
     {"[attention] ", "(2, 3, 4)", "(2, 5, 4)", "(2, 6, 4)"}},
    {[] {
         attention(t({2, 3, 4}), t({1, 5, 4}), t({1, 5, 4}));
     },
     {"[attention] ", "(1, 5, 4)"}},
    {[] {
         attention(t({2, 3, 4}), t({2, 5, 6}), t({2, 5, 6}));
     },
     {"[attention] ", "(2, 5, 6)"}},
    {[] {
         attention(t({2, 3, 4}), t({2, 3, 4}), t({2, 3, 4}), {.n_heads = 3});
     },
     {"[attention] ", "4 columns", "3 heads"}},
    {[] {
         attention(t({2, 3, 4}), t({2, 3, 4}), t({2, 3, 4}), {.n_heads = 0});
     },
     {"[attention] ", "0 heads"}},
    {[] {
         attention(t({1, 1, 2}), t({1, 1, 2}), t({1, 1, 2}), {.dropout = 1, .rng = &kRng});
     },
     {"[attention] ", "got 1"}},
    {[] {
         attention(t({1, 1, 2}), t({1, 1, 2}), t({1, 1, 2}), {.dropout = kNan, .rng = &kRng});
     },
     {"[attention] ", "nan"}},
    {[] {
         attention(t({1, 1, 2}), t({1, 1, 2}), t({1, 1, 2}), {.dropout = Real(0.1)});
     },
     {"[attention] ", "Rng"}},
    {[] {
         attention(t({2, 3, 4}), t({2, 5, 4}), t({2, 5, 4}), {.mask = Mask::key_counts({1})});
     },
     {"[Mask] ", "batch of 2"}},
    {[] {
         attention(t({1, 3, 4}), t({1, 2, 4}), t({1, 2, 4}), {.mask = Mask::causal()});
     },
     {"[Mask] causal", "(2)", "(3)"}},
};

}  // namespace

TEST_CASE("ops: errors are one line with the name and what was given", "[ops][errors]") {
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

TEST_CASE("ops: sizes of 0 are sizes", "[ops]") {
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
    // No keys: nothing to see. An empty sum: 0, and the bias.
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
