// The gradient of every layer, with each of its options, with respect to its inputs and parameters, against
// finite differences.
#include "nn/attention.h"
#include "nn/embedding.h"
#include "nn/feed_forward.h"
#include "nn/norm.h"
#include "nn/positional_encoding.h"
#include "tests/nn/gradients.h"

using namespace plaingrad;  // NOLINT
using namespace nn;         // NOLINT
using namespace tests;      // NOLINT

namespace {

using Inputs = std::vector<Tensor>;

// call(inputs) is what the layer makes of inputs of these shapes.
template <class Layer, class Call>
void check_layer(const std::string& what, const Layer& layer, const std::vector<Shape>& shapes,
                 const Call& call) {
    std::vector<NamedParameter> leaves = parameters(layer);
    for (const NamedParameter& p : leaves)  // at the start gains are 1, biases 0
        for (int64_t i = 0; i < p.tensor.numel(); ++i)
            p.tensor.mutable_data()[i] += static_cast<Real>(i % 4) * Real(0.1);
    Inputs inputs;
    for (const Shape& shape : shapes) {
        inputs.push_back(leaf(random(shape, 2 + inputs.size())));
        leaves.push_back({"input", inputs.back()});
    }
    check_gradients(what, leaves, [&] { return call(inputs); });
}

}  // namespace

TEST_CASE("gradients: Linear, norms, embeddings and positions, with each option", "[nn][gradcheck]") {
    for (const Shape& shape : {Shape{5, 3}, Shape{2, 3, 17}, Shape{1, 1, 2}, Shape{19, 33}}) {
        for (const bool bias : {true, false}) {
            const Linear layer(shape[-1], 7, Rng(1), {.bias = bias, .init = Init::pytorch});
            check_layer("Linear", layer, {shape}, [&](const Inputs& x) { return layer(x[0]); });
        }
        for (std::size_t kind = 0; kind < std::size(kNormKindNames); ++kind) {
            const Norm layer(shape[-1], {.kind = static_cast<NormKind>(kind)});
            check_layer(kNormKindNames[kind], layer, {shape}, [&](const Inputs& x) { return layer(x[0]); });
        }
    }
    for (const int64_t d : {1, 7, 18}) {
        const Embedding layer(9, d, Rng(4));
        const Tokens ids(2, 5, {4, 5, 4, 8, 4, 7, 5, 0, 0, 0}, 0);
        check_layer("Embedding", layer, {}, [&](const Inputs&) { return layer(ids); });
        for (int64_t i = 0; i < d; ++i)
            for (const int64_t id : {0, 6})  // padding, and an id that is not there
                CHECK(layer.table->grad().data()[id * d + i] == 0);
    }
    for (const Positions kind : {Positions::sinusoidal, Positions::learned, Positions::none})
        for (const int64_t first : {0, 2}) {
            const PositionalEncoding layer(kind, 7, 5, Rng(5));
            check_layer("PositionalEncoding", layer, {{3, 4, 5}},
                        [&](const Inputs& x) { return layer(x[0], Mode::eval(), first); });
        }
}

TEST_CASE("gradients: FeedForward, each activation, with bias and without, dropout on", "[nn][gradcheck]") {
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
                    check_layer(gated ? "gated FeedForward" : "FeedForward", layer, {{2, 3, 5}},
                                [&](const Inputs& x) { return layer(x[0], Mode::train(Rng(7))); });
                }
}

// Every mask at every size: the ops' own gradients (tests/autograd/test_op_gradients.cpp).
TEST_CASE("gradients: attention, self and cross, masks, dropout, each option", "[nn][gradcheck]") {
    struct Row {
        const char* what;
        std::vector<Shape> inputs;  // of two, the second one is the memory
        int64_t heads;
        Mask mask;
        MultiHeadOptions options = {};
        bool turned = false;
    };
    const Rotary turns(9, 4, {.width = 2});
    const Mask causal = Mask::causal(), both = Mask::key_counts({2, 5}).and_causal();
    const std::vector<uint8_t> pairs = {1, 0, 1, 0, 0, 0, 1, 1, 1, 0, 1, 0};  // query 1 sees nothing
    for (Row& r : std::vector<Row>{
             {"cross", {{2, 3, 6}, {2, 5, 6}}, 2, Mask::none()},
             {"cross, all padding in one sentence", {{2, 3, 6}, {2, 5, 6}}, 3, Mask::key_counts({0, 4})},
             {"cross, dropout", {{2, 2, 6}, {2, 5, 6}}, 2, Mask::key_counts({5, 3}), {.dropout = Real(0.3)}},
             {"cross, any pattern", {{1, 4, 4}, {1, 3, 4}}, 2, Mask::allowed(1, 4, 3, pairs)},
             {"cross, grouped, wide heads",
              {{2, 3, 6}, {2, 5, 6}},
              4,
              Mask::key_counts({5, 2}),
              {.n_kv_heads = 2, .head_dim = 3, .bias = false}},
             {"self, dropout", {{2, 5, 9}}, 3, both, {.dropout = Real(0.2)}},
             {"self, one of everything", {{1, 1, 1}}, 1, Mask::none()},
             {"self, grouped", {{2, 5, 8}}, 4, both, {.n_kv_heads = 2, .dropout = Real(0.2), .bias = false}},
             {"self, wide heads", {{2, 5, 5}}, 3, causal, {.n_kv_heads = 1, .head_dim = 4, .bias = false}},
             {"self, turned", {{2, 5, 5}}, 4, both, {.n_kv_heads = 2, .head_dim = 4, .bias = false}, true}}) {
        r.options.init = Init::pytorch;
        const Pass pass = {
            .mask = r.mask, .mode = Mode::train(Rng(14)), .rotary = r.turned ? &turns : nullptr};
        const int64_t d_model = r.inputs[0][-1];
        if (r.inputs.size() == 2) {
            const CrossAttention layer(d_model, r.heads, Rng(13), r.options);
            check_layer(r.what, layer, r.inputs, [&](const Inputs& x) { return layer(x[0], x[1], pass); });
        } else {
            const MultiHeadAttention layer(d_model, r.heads, Rng(13), r.options);
            check_layer(r.what, layer, r.inputs, [&](const Inputs& x) { return layer(x[0], pass); });
        }
    }
}
