// The errors of every operation, and of tensors, ids and masks, for arguments that do not fit; and that sizes
// of 0 do.
#include <fstream>
#include <map>

#include "autograd/ops.h"
#include "autograd/plain.h"
#include "tests/autograd/values.h"
#include "tests/catch.h"
#include "tests/ops/family.h"

using namespace plaingrad;  // NOLINT
using namespace autograd;   // NOLINT
using namespace tests;      // NOLINT

TEST_CASE("ops, tensors: a wrong call throws one line, which is kept in calls.txt", "[ops][errors]") {
    std::map<std::string, std::string> kept;
    std::ifstream file("tests/trust/words/calls.txt");  // call<TAB>Error: text
    for (std::string line; std::getline(file, line);)
        kept[line.substr(0, line.find('\t'))] = line.substr(line.find('\t') + 1);
    std::string all;
    for (const auto calls : {trust::words::calls_of_ops, trust::words::calls_of_tensors})
        for (const trust::words::Call& call : calls()) {
            if (contains(kept[call.text], "[storage] out of memory"))
                continue;  // which the address sanitizer does not survive
            INFO(call.text);
            CHECK("Error: " + error_of(call.run) == kept[call.text]);
            all += std::string("\n") + call.text;
        }
    for (const std::string& op : declared_ops()) {
        INFO(op << " has no wrong call");
        CHECK((op.starts_with("operator") || contains(all, "\n" + op + "(")));
    }
}

static void check_sizes_of_0() {
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
    const Tensor narrow = leaf(t({3, 0}));
    embedding(narrow, Tokens(1, 2, {0, 2})).backward(t({1, 2, 0}));
    CHECK(narrow.has_grad());
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
    for (const Mask& mask : {Mask::none(), Mask::causal()}) {  // without queries, no gradient
        const Tensor kv = leaf(t({1, 3, 4}));
        attention(t({1, 0, 4}), kv, kv, {.mask = mask}).backward(t({1, 0, 4}));
        CHECK(kv.grad().to_vector() == std::vector<Real>(12, 0));
    }
    const Tensor many = leaf(t({1, 100, 1}));  // queries: several blocks, all without a key that counts
    sum(attention(many, t({1, 3, 1}), t({1, 3, 1}), {.mask = Mask::key_counts({0})})).backward();
    CHECK(many.grad().to_vector() == std::vector<Real>(100, 0));
    // No columns; and no columns of attention, queries or keys.
    const Tensor rows = leaf(t({2, 3, 0})), gain = leaf(t({0}));
    sum(layer_norm(rows, gain, gain) + rms_norm(rows, gain)).backward();
    CHECK((rows.has_grad() && gain.has_grad()));
    for (const Shape& q : {Shape{2, 0, 4}, Shape{2, 3, 4}, Shape{2, 3, 0}})
        for (const int64_t keys : {0, 2}) {
            const Tensor x = leaf(t(q)), kv = leaf(t({2, keys, q[2]})),
                         y = attention(x, kv, kv, {.n_heads = 2});
            CHECK(y.to_vector() == std::vector<Real>(static_cast<std::size_t>(q.numel()), keys > 0));
            sum(y).backward();
            CHECK((x.has_grad() && kv.has_grad()));
        }
}

TEST_CASE("ops: sizes of 0 are allowed", "[ops][plain]") {
    storage_poison(true);
    for (const Precision p : {Precision::float32, Precision::bf16}) {
        const UsePrecision precision(p);
        check_sizes_of_0();
        const Plain plain;
        check_sizes_of_0();
    }
    storage_poison(false);
}
