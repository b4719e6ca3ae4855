// The rows of op_table.h for reductions, ops on shapes, losses, look-up and fused operations.
#include "tests/autograd/op_table.h"

using namespace plaingrad;  // NOLINT
using namespace tests;      // NOLINT
using namespace autograd;   // NOLINT

void OpTable::reductions() {
    for (const Shape& shape : {Shape{}, Shape{1}, Shape{23}, Shape{3, 5}, Shape{2, 3, 5, 7}}) {
        row("sum", "all", {in(shape)}, [](const Inputs& x) { return sum(x[0]); });
        row("mean", "all", {in(shape)}, [](const Inputs& x) { return mean(x[0]); });
    }
    for (const bool keep : {false, true}) {
        const Shape shape = {2, 3, 5, 7};
        const char* detail = keep ? "kept dims" : "dropped dims";
#define ROW(...)                                                                                         \
    row("sum", detail, {in(shape)}, [keep](const Inputs& x) { return sum(x[0], {__VA_ARGS__}, keep); }); \
    row("mean", detail, {in(shape)}, [keep](const Inputs& x) { return mean(x[0], {__VA_ARGS__}, keep); })
        ROW(0);
        ROW(1);
        ROW(2);
        ROW(-1);
        ROW(0, 1);
        ROW(0, 2);
        ROW(1, 3);
        ROW(0, -1);
        ROW(3, 1, 0);
        ROW(0, 1, 2, 3);
        ROW();
#undef ROW
        for (const int dim : {0, 1, -1})
            row("max", detail, {distinct({3, 5, 7})},
                [keep, dim](const Inputs& x) { return max(x[0], dim, keep); });
    }
    const std::vector<int> dims = {2, 0};  // known at run time only
    row("sum", "a list", {in({2, 3, 5})}, [=](const Inputs& x) { return sum(x[0], dims); });
    row("mean", "a list", {in({2, 3, 5})}, [=](const Inputs& x) { return mean(x[0], dims, true); });
    row("max", "one of one", {distinct({1})}, [](const Inputs& x) { return max(x[0], 0); });
    row("sum", "used three times", {in({3, 5})},
        [](const Inputs& x) { return sum(x[0], {0}) + sum(x[0]) + mean(x[0], {1}, true); });
}

void OpTable::movers() {
    const auto twice = [](const Tensor& y, const Tensor& x) { return mul(y, reshape(mul(x, x), {-1})); };
    row("reshape", "", {in({3, 5, 2})}, [](const Inputs& x) { return reshape(x[0], {5, -1}); });
    row("reshape", "to itself", {in({7})}, [](const Inputs& x) { return reshape(x[0], {1, 7, 1}); });
    row("reshape", "two consumers", {in({3, 5})},
        [twice](const Inputs& x) { return twice(reshape(x[0], {15}), x[0]); });
    for (const std::vector<int>& order : std::vector<std::vector<int>>{{0, 1, 2, 3},
                                                                       {3, 2, 1, 0},
                                                                       {0, 2, 1, 3},
                                                                       {1, 0, 3, 2},
                                                                       {2, 3, 0, 1},
                                                                       {3, 0, 1, 2},
                                                                       {-1, 0, 1, -2}})
        row("permute", "", {in({2, 3, 5, 7})}, [order](const Inputs& x) { return permute(x[0], order); });
    row("permute", "used twice", {in({3, 3})}, [](const Inputs& x) {
        return mul(permute(x[0], {1, 0}), permute(x[0], {0, 1}));
    });
    row("transpose", "", {in({3, 17})}, [](const Inputs& x) { return transpose(x[0], 0, 1); });
    row("transpose", "", {in({2, 3, 5, 7})}, [](const Inputs& x) { return transpose(x[0], 1, -1); });
    row("transpose", "with itself", {in({2, 3})}, [](const Inputs& x) { return transpose(x[0], 1, 1); });
    struct Cut {
        int dim;
        int64_t begin, end;
    };
    for (const Cut c : {Cut{0, 1, 3}, {1, 0, 2}, {-1, 2, 7}, {1, 0, 5}, {2, 6, 7}})
        row("slice", "", {in({3, 5, 7})},
            [c](const Inputs& x) { return slice(x[0], c.dim, c.begin, c.end); });
    row("slice", "overlapping", {in({5, 3})},
        [](const Inputs& x) { return mul(slice(x[0], 0, 0, 3), slice(x[0], 0, 1, 4)); });
    row("slice", "after another consumer", {in({5, 3})},
        [](const Inputs& x) { return add(sum(slice(x[0], 0, 1, 3)), mul(x[0], x[0])); });
    for (const int dim : {0, 1, -1}) {
        const auto shape = [dim](int64_t n) { return Shape({3, 5, 7}).with(dim, n); };
        row("concat", "", {in(shape(2)), in(shape(1)), in(shape(3))},
            [dim](const Inputs& x) { return concat(x, dim); });
    }
    row("concat", "the same twice", {in({3, 5})}, [](const Inputs& x) {
        return concat({x[0], mul(x[0], x[0]), x[0]}, 1);
    });
    for (const int dim : {0, 1, -1})
        row("stack", "", {in({3, 5}), in({3, 5})}, [dim](const Inputs& x) { return stack(x, dim); });
    row("squeeze", "", {in({3, 1, 5})}, [](const Inputs& x) { return squeeze(x[0], 1); });
    row("unsqueeze", "", {in({3, 5})}, [](const Inputs& x) { return unsqueeze(x[0], -1); });
    row("concat", "with an empty one", {in({3, 5})}, [](const Inputs& x) {
        return concat({Tensor::zeros({3, 0}), x[0]}, 1);
    });
}

void OpTable::softmax_and_loss() {
    struct Along {
        Shape shape;
        int dim;
    };
    for (const Along& a :
         {Along{{7}, -1}, {{3, 5}, -1}, {{2, 3, 17}, 2}, {{2, 3, 5}, 1}, {{5, 3}, 0}, {{2, 3, 2, 5}, -3}}) {
        row("softmax", join(a.shape, " dim ", a.dim), {in(a.shape)},
            [a](const Inputs& x) { return softmax(x[0], a.dim); });
        row("log_softmax", join(a.shape, " dim ", a.dim), {in(a.shape)},
            [a](const Inputs& x) { return log_softmax(x[0], a.dim); });
    }
    row(
        "softmax", "one element", {in({5, 1})}, [](const Inputs& x) { return softmax(x[0]); }, true);
    row("softmax", "used twice", {in({3, 7})}, [](const Inputs& x) { return mul(softmax(x[0]), x[0]); });
    const Tokens targets(2, 3, {4, 0, 6, 2, 2, 0}), one(1, 1, {3});
    for (const Real smoothing : {Real(0), Real(0.1), Real(0.7)}) {
        for (const int32_t ignore : {-1, 0, 2}) {
            const CrossEntropyOptions options = {.ignore = ignore, .label_smoothing = smoothing};
            row("cross_entropy", join("ignore ", ignore, " smoothing ", smoothing), {in({2, 3, 7})},
                [=](const Inputs& x) { return cross_entropy(x[0], targets, options); });
            row("cross_entropy", join("scaled, ignore ", ignore), {in({6, 19})}, [=](const Inputs& x) {
                return mul(cross_entropy(mul(x[0], x[0]), targets, options), sum(x[0]));
            });
        }
    }
    row("mse_loss", "", {in({3, 7}), in({3, 7})}, [](const Inputs& x) { return mse_loss(x[0], x[1]); });
    row("bce_with_logits", "", {in({2, 3, 5}), in({2, 3, 5}, 0, 1)},
        [](const Inputs& x) { return bce_with_logits(x[0], x[1]); });
    row("cross_entropy", "one row", {in({1, 5})}, [=](const Inputs& x) { return cross_entropy(x[0], one); });
}

void OpTable::lookup() {
    const Tokens repeated(2, 3, {1, 4, 1, 1, 0, 4}), padded(2, 3, {2, 4, 0, 1, 0, 0}, 0);
    row("embedding", "repeated ids", {in({5, 3})},
        [=](const Inputs& x) { return embedding(x[0], repeated); });
    row("embedding", "padding", {in({5, 19})}, [=](const Inputs& x) { return embedding(x[0], padded); });
    row("embedding", "and the table itself", {in({5, 3})},
        [=](const Inputs& x) { return add(sum(mul(x[0], x[0])), embedding(x[0], padded)); });
    row("gather", "", {in({2, 3, 5})}, [=](const Inputs& x) { return gather(x[0], repeated); });
    row("gather", "padding", {in({6, 7})}, [=](const Inputs& x) { return gather(x[0], padded); });
    row("gather", "and another consumer", {in({6, 7})},
        [=](const Inputs& x) { return add(sum(mul(x[0], x[0])), gather(x[0], padded)); });
    row("embedding", "70 columns", {in({2, 70})}, [](const Inputs& x) {
        return embedding(x[0], Tokens(1, 3, {1, 1, 0}));
    });
    const Rng rng = Rng(5).fork("dropout");
    for (const Real p : {Real(0), Real(0.1), Real(0.5)})
        row("dropout", join("p ", p), {in({3, 17})}, [=](const Inputs& x) { return dropout(x[0], p, rng); });
    row("dropout", "two masks", {in({3, 17})}, [=](const Inputs& x) {
        const Tensor a = dropout(x[0], Real(0.3), rng.fork(1));
        return mul(a, dropout(x[0], Real(0.3), rng.fork(2)));
    });
}

void OpTable::fused() {
    const Activation kActivations[] = {Activation::relu, Activation::gelu, Activation::gelu_tanh,
                                       Activation::silu};
    for (const Shape& shape : {Shape{5}, Shape{3, 5}, Shape{1, 5}, Shape{2, 3, 5}, Shape{2, 1, 3, 5}}) {
        const std::string detail = join("x ", shape);
        row("linear", detail, {in(shape), in({5, 7}), in({7})},
            [=](const Inputs& x) { return linear(x[0], x[1], x[2]); });
        row("linear_transposed", detail, {in(shape), in({7, 5}), in({7})},
            [=](const Inputs& x) { return linear_transposed(x[0], x[1], x[2]); });
    }
    for (const Activation f : kActivations)
        row("feed_forward", join(static_cast<int>(f)),
            {in({3, 5}), in({5, 17}), in({17}), in({17, 4}), in({4})},
            [=](const Inputs& x) { return feed_forward(x[0], x[1], x[2], x[3], x[4], f); });
    for (const Activation f : kActivations) {
        row("glu", join(static_cast<int>(f)), {in({2, 3, 34})},
            [=](const Inputs& x) { return glu(x[0], f); });
        row("feed_forward", join("gated, ", static_cast<int>(f)),
            {in({3, 5}), in({5, 34}), in({34}), in({17, 4}), in({4})},
            [=](const Inputs& x) { return feed_forward(x[0], x[1], x[2], x[3], x[4], f, true); });
    }
    row("feed_forward", "gated, no biases", {in({2, 3, 5}), in({5, 6}), in({3, 5})},
        [=](const Inputs& x) { return feed_forward(x[0], x[1], {}, x[2], {}, Activation::silu, true); });
    row("glu", "with another consumer", {in({3, 4})},
        [](const Inputs& x) { return add(glu(x[0], Activation::silu), slice(x[0], 1, 0, 2)); });
    row("linear", "no bias", {in({3, 5}), in({5, 17})}, [=](const Inputs& x) { return linear(x[0], x[1]); });
    row("linear_transposed", "no bias", {in({3, 5}), in({17, 5})},
        [=](const Inputs& x) { return linear_transposed(x[0], x[1]); });
    row("linear", "all the same", {in({5, 5})}, [=](const Inputs& x) { return linear(x[0], x[0]); });
    row("linear_transposed", "an embedding's table", {in({7, 5})}, [=](const Inputs& x) {
        return linear_transposed(embedding(x[0], Tokens(1, 3, {6, 2, 6})), x[0]);
    });
    for (const Shape& shape : {Shape{7}, Shape{3, 5}, Shape{2, 3, 19}, Shape{70, 3}})
        row("layer_norm", join(shape), {in(shape), in({shape[-1]}, 0.5, 2), in({shape[-1]})},
            [](const Inputs& x) { return layer_norm(x[0], x[1], x[2]); });
    row("layer_norm", "no bias", {in({3, 5}), in({5}, 0.5, 2)},
        [](const Inputs& x) { return layer_norm(x[0], x[1], {}); });
    for (const Shape& shape : {Shape{7}, Shape{3, 5}, Shape{2, 3, 19}, Shape{70, 3}, Shape{3, 261}})
        row("rms_norm", join(shape), {in(shape), in({shape[-1]}, 0.5, 2)},
            [](const Inputs& x) { return rms_norm(x[0], x[1], Real(0.1)); });
    for (const Real rate : {Real(0), Real(0.4)}) {
        const Rng rng = Rng(6).fork("residual");
        row("residual", join("p ", rate), {in({3, 17}), in({3, 17})},
            [=](const Inputs& x) { return residual(x[0], x[1], rate, rng); });
        row("residual_norm", join("p ", rate), {in({3, 17}), in({3, 17}), in({17}, 0.5, 2), in({17})},
            [=](const Inputs& x) { return residual_norm(x[0], x[1], rate, rng, x[2], x[3]); });
    }
    const Tensor turns = in({9, 4});
    for (const RotaryHeads o : {RotaryHeads{.n_heads = 2, .head_dim = 5}, {1, 4}, {3, 4, 2}, {1, 13, 6}})
        row("rotary", join(o.n_heads, " heads of ", o.head_dim, " from ", o.first), {in({2, 3, 13})},
            [=](const Inputs& x) { return rotary(x[0], turns, o); });
    row("rotary", "of a sum, in its memory", {in({2, 3, 13})},
        [=](const Inputs& x) { return rotary(x[0] + x[0], turns, {.n_heads = 2, .head_dim = 6}); });
    row("rotary", "of a product that backward needs", {in({2, 3, 40})},
        [turns = in({9, 38})](const Inputs& x) {
            const Tensor y = x[0] * x[0];
            return rotary(tanh(y), turns, {.head_dim = 39}) * y;
        });
    const Tokens targets(2, 3, {2, 0, 6, 0, 1, 1});
    for (const Real smoothing : {Real(0), Real(0.1)})
        row("linear_cross_entropy", join("smoothing ", smoothing), {in({2, 3, 5}), in({7, 5}), in({7})},
            [=](const Inputs& x) {
                return linear_cross_entropy(x[0], x[1], x[2], targets,
                                            {.ignore = 0, .label_smoothing = smoothing});
            });
    if (p_ == Precision::float32)  // with bf16 only powers of two as factors of the loss change no rounding
        row("linear_cross_entropy", "scaled, no bias", {in({2, 3, 5}), in({7, 5})},
            [=](const Inputs& x) { return mul(linear_cross_entropy(x[0], x[1], {}, targets), sum(x[0])); });
    row("layer_norm", "eps 0.1", {in({3, 5}), in({5}), in({5})},
        [](const Inputs& x) { return layer_norm(x[0], x[1], x[2], Real(0.1)); });
    row("layer_norm", "residual", {in({3, 5}), in({5})},
        [](const Inputs& x) { return add(x[0], layer_norm(x[0], x[1], x[1])); });
}

void OpTable::attentions() {
    seed_ = 1224;                                     // so that a new row above changes nothing here
    static const Rng rng = Rng(7).fork("attention");  // options point to it
    const int64_t B = 2, T = 3, S = 5, H = 2, D = 3;
    std::vector<uint8_t> pairs(static_cast<std::size_t>(B * T * S));
    for (std::size_t i = 0; i < pairs.size(); ++i)
        pairs[i] = i / static_cast<std::size_t>(S) != 1 && i % 3 != 1;  // the second query sees nothing
    const std::pair<const char*, Mask> masks[] = {
        {"no mask", Mask::none()},
        {"key counts", Mask::key_counts({3, 5})},
        {"key counts, one empty", Mask::key_counts({4, 0})},
        {"causal", Mask::causal()},
        {"key counts and causal", Mask::key_counts({2, 4}).and_causal()},
        {"allowed", Mask::allowed(B, T, S, pairs)},
        {"allowed and causal", Mask::allowed(B, T, S, pairs).and_causal()},
    };
    for (const auto& [name, mask] : masks) {
        for (const Real rate : {Real(0), Real(0.4)}) {
            const AttentionOptions options = {.n_heads = H, .mask = mask, .dropout = rate, .rng = &rng};
            row("attention", join(name, ", dropout ", rate),
                {in({B, T, H * D}), in({B, S, H * D}), in({B, S, H * D})},
                [=](const Inputs& x) { return attention(x[0], x[1], x[2], options); });
            row("cross_attention", join(name, ", dropout ", rate), {in({B, T, H * D}), in({B, S, 2 * H * D})},
                [=](const Inputs& x) { return cross_attention(x[0], x[1], options); });
        }
    }
    for (const Real rate : {Real(0), Real(0.4)})
        row("self_attention", join("key counts and causal, dropout ", rate), {in({B, S, 3 * H * D})},
            [=](const Inputs& x) {
                return self_attention(x[0], {.n_heads = H,
                                             .mask = Mask::key_counts({2, 5}).and_causal(),
                                             .dropout = rate,
                                             .rng = &rng});
            });
    // Two heads of keys and values for six of queries.
    for (const auto& [name, mask] : masks)
        for (const Real rate : {Real(0), Real(0.4)}) {
            const AttentionOptions options = {
                .n_heads = 6, .n_kv_heads = 2, .mask = mask, .dropout = rate, .rng = &rng};
            row("attention", join("grouped, ", name, ", dropout ", rate),
                {in({B, T, 6 * D}), in({B, S, 2 * D}), in({B, S, 2 * D})},
                [=](const Inputs& x) { return attention(x[0], x[1], x[2], options); });
        }
    row("cross_attention", "one head of keys for three", {in({B, T, 3 * D}), in({B, S, 2 * D})},
        [=](const Inputs& x) {
            return cross_attention(x[0], x[1], {.n_heads = 3, .n_kv_heads = 1, .mask = Mask::causal()});
        });
    row("self_attention", "grouped, 66 positions", {in({1, 66, 8 * 2})}, [=](const Inputs& x) {
        return self_attention(x[0], {.n_heads = 4, .n_kv_heads = 2, .mask = Mask::causal()});
    });
    row("attention", "grouped, k = v", {in({1, 66, 4}), in({1, 66, 2})},
        [=](const Inputs& x) { return attention(x[0], x[1], x[1], {.n_heads = 2, .n_kv_heads = 1}); });
    row("self_attention", "with another consumer", {in({B, T, 3 * D})},
        [=](const Inputs& x) { return add(self_attention(x[0]), slice(x[0], 2, 1, 4)); });
    // Backward takes 64 queries at a time. With more, it matters which inputs are the same tensor (no mask
    // may hide this).
    row("attention", "q = k = v, 66 positions", {in({1, 66, 2})},
        [=](const Inputs& x) { return attention(x[0], x[0], x[0], {.n_heads = 2}); });
    row("attention", "q = v, 66 positions", {in({1, 66, 2}), in({1, 66, 2})},
        [=](const Inputs& x) { return attention(x[0], x[1], x[0]); });
    row("attention", "q = k, 66 positions", {in({1, 66, 2}), in({1, 66, 2})},
        [=](const Inputs& x) { return attention(x[0], x[0], x[1]); });
    row("cross_attention", "of one tensor, 66 positions", {in({1, 33, 4})}, [=](const Inputs& x) {
        return cross_attention(reshape(x[0], {1, 66, 2}), x[0]);
    });
    // In bf16 what is rounded depends on the largest score so far, which changes twice here.
    row("attention", "1,030 keys, scores that grow", {in({1, 2, 2}), in({1, 1030, 2}), in({1, 1030, 2})},
        [=](const Inputs& x) {
            std::vector<Real> growth(1030);
            for (std::size_t s = 0; s < growth.size(); ++s)
                growth[s] = static_cast<Real>(1 + s / 512);
            const Tensor keys = x[1] * Tensor::from({1030, 1}, growth);
            return attention(x[0], keys, x[2], {.dropout = Real(0.4), .rng = &rng});
        });
    row("attention", "keys are values", {in({2, 3, 5}), in({2, 2, 5})},
        [=](const Inputs& x) { return attention(x[0], x[1], x[1], {}); });
    row(
        "attention", "one key: no gradient for q and k", {in({1, 3, 5}), in({1, 1, 5}), in({1, 1, 5})},
        [=](const Inputs& x) { return attention(x[0], x[1], x[2], {}); }, true);
}
