// The gradient of every layer, with respect to its inputs and parameters, against finite differences.
#include <algorithm>

#include "nn/attention.h"
#include "nn/embedding.h"
#include "nn/feed_forward.h"
#include "nn/norm.h"
#include "nn/positional_encoding.h"
#include "tests/nn/gradients.h"

using namespace plaingrad;  // NOLINT
using namespace nn;         // NOLINT
using namespace tests;      // NOLINT

TEST_CASE("gradients: Linear, with bias and without", "[nn][gradcheck]") {
    struct Row {
        Shape x;
        int64_t in, out;
    };
    for (const Row& r :
         {Row{{5, 3}, 3, 7}, Row{{2, 3, 17}, 17, 5}, Row{{1, 1, 1}, 1, 1}, Row{{19, 33}, 33, 2}}) {
        for (const bool bias : {true, false}) {
            const Linear layer(r.in, r.out, Rng(1), {.bias = bias, .init = Init::pytorch});
            const auto all = leaves(layer, {random(r.x, 2)});
            CHECK(all.size() == (bias ? 3 : 2));
            check_gradients(bias ? "Linear" : "Linear without bias", all,
                            [&] { return layer(all.back().tensor); });
        }
    }
}

TEST_CASE("gradients: each kind of norm", "[nn][gradcheck]") {
    for (std::size_t kind = 0; kind < std::size(kNormKindNames); ++kind)
        for (const Shape& shape : {Shape{4, 5}, Shape{2, 3, 17}, Shape{1, 1, 2}, Shape{3, 33}}) {
            const Norm layer(shape[-1], {.kind = static_cast<NormKind>(kind)});
            for (const NamedParameter& p : parameters(layer)) {  // at the start gains are 1, biases 0
                Real* const values = Tensor(p.tensor).mutable_data();
                for (int64_t i = 0; i < p.tensor.numel(); ++i)
                    values[i] += static_cast<Real>(i % 4) * Real(0.25);
            }
            const auto all = leaves(layer, {random(shape, 3)});
            check_gradients(kNormKindNames[kind], all, [&] { return layer(all.back().tensor); });
        }
}

TEST_CASE("gradients: Embedding, ids repeated and absent, padding among them", "[nn][gradcheck]") {
    for (const int64_t d : {1, 7, 18}) {
        const Embedding layer(9, d, Rng(4));
        const Tokens ids(2, 5, {4, 5, 4, 8, 4, 7, 5, 0, 0, 0}, 0);
        check_gradients("Embedding", parameters(layer), [&] { return layer(ids); });
        const std::vector<Real> grad = layer.table->grad().to_vector();
        for (int64_t i = 0; i < d; ++i) {
            CHECK(grad[static_cast<std::size_t>(0 * d + i)] == 0);  // <pad>
            CHECK(grad[static_cast<std::size_t>(6 * d + i)] == 0);  // not there
        }
    }
}

TEST_CASE("gradients: positions, sinusoidal and learned, from any first", "[nn][gradcheck]") {
    for (const Positions kind : {Positions::sinusoidal, Positions::learned, Positions::none}) {
        for (const int64_t first : {0, 2}) {
            const PositionalEncoding layer(kind, 7, 5, Rng(5));
            const auto all = leaves(layer, {random({3, 4, 5}, 6)});
            CHECK(all.size() == (kind == Positions::learned ? 2 : 1));
            check_gradients("PositionalEncoding", all,
                            [&] { return layer(all.back().tensor, Mode::eval(), first); });
        }
    }
}

TEST_CASE("gradients: FeedForward, each activation, with bias and without, dropout on", "[nn][gradcheck]") {
    const Mode train = Mode::train(Rng(7));
    for (const Activation f : {Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu})
        for (const bool gated : {true, false})
            for (const bool bias : {true, false})
                for (const Real dropout : {Real(0), Real(0.3)}) {
                    const FeedForward layer(5, 13, Rng(8),
                                            {.activation = f,
                                             .gated = gated,
                                             .dropout = dropout,
                                             .bias = bias,
                                             .init = Init::pytorch});
                    const auto all = leaves(layer, {random({2, 3, 5}, 9)});
                    CHECK(all.size() == (bias ? 5 : 3));
                    check_gradients(gated ? "gated FeedForward" : "FeedForward", all,
                                    [&] { return layer(all.back().tensor, train); });
                }
}

TEST_CASE("gradients: attention, self and cross, every mask, dropout, no bias", "[nn][gradcheck]") {
    struct Row {
        const char* what;
        int64_t batch, queries, keys, d_model, heads;
        Mask mask;
        Real dropout;
        bool bias;
        int64_t kv_heads = 0, head_dim = 0;
        bool turned = false;
    };
    const Rotary turns(9, 4, {.width = 2});
    const std::vector<uint8_t> pairs = {1, 0, 1, 0, 0, 0, 1, 1, 1, 0, 1, 0};  // query 1 sees nothing
    const std::vector<Row> rows = {
        {"cross", 2, 3, 5, 6, 2, Mask::none(), 0, true},
        {"cross, padding", 2, 3, 5, 6, 3, Mask::key_counts({5, 2}), 0, true},
        {"cross, all padding in one sentence", 2, 3, 5, 6, 3, Mask::key_counts({0, 4}), 0, true},
        {"cross, dropout", 2, 2, 5, 6, 2, Mask::key_counts({5, 3}), Real(0.3), true},
        {"cross, no bias", 2, 2, 5, 6, 1, Mask::none(), 0, false},
        {"cross, any pattern", 1, 4, 3, 4, 2, Mask::allowed(1, 4, 3, pairs), 0, true},
        {"self", 2, 5, 0, 9, 3, Mask::none(), 0, true},
        {"self, causal", 2, 5, 0, 9, 3, Mask::causal(), 0, true},
        {"self, causal and padding", 2, 5, 0, 9, 3, Mask::key_counts({2, 5}).and_causal(), Real(0.2), true},
        {"one of everything", 1, 1, 0, 1, 1, Mask::none(), 0, true},
        {"longer than a vector", 1, 19, 21, 6, 2, Mask::none(), 0, true},
        {"self, grouped", 2, 5, 0, 8, 4, Mask::key_counts({2, 5}).and_causal(), Real(0.2), false, 2},
        {"self, one head of keys, wide heads", 2, 5, 0, 5, 3, Mask::causal(), 0, false, 1, 4},
        {"cross, grouped, wide heads", 2, 3, 5, 6, 4, Mask::key_counts({5, 2}), 0, false, 2, 3},
        {"self, turned", 2, 5, 0, 5, 4, Mask::key_counts({5, 3}).and_causal(), 0, false, 2, 4, true},
    };
    for (const Row& r : rows) {
        const MultiHeadOptions options = {.n_kv_heads = r.kv_heads,
                                          .head_dim = r.head_dim,
                                          .dropout = r.dropout,
                                          .bias = r.bias,
                                          .init = Init::pytorch};
        const Pass pass = {
            .mask = r.mask, .mode = Mode::train(Rng(14)), .rotary = r.turned ? &turns : nullptr};
        const Tensor x = random({r.batch, r.queries, r.d_model}, 15);
        if (r.keys > 0) {
            const CrossAttention layer(r.d_model, r.heads, Rng(13), options);
            const auto all = leaves(layer, {x, random({r.batch, r.keys, r.d_model}, 16)});
            const Tensor query = all[all.size() - 2].tensor, memory = all.back().tensor;
            check_gradients(r.what, all, [&] { return layer(query, memory, pass); });
        } else {
            const MultiHeadAttention layer(r.d_model, r.heads, Rng(13), options);
            const auto all = leaves(layer, {x});
            check_gradients(r.what, all, [&] { return layer(all.back().tensor, pass); });
        }
    }
}
