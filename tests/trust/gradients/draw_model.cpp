// Layers and models of every kind, with random sizes, masks, dropout and sentences.
#include <memory>

#include "nn/embedding.h"
#include "tests/draw_config.h"
#include "tests/trust/gradients/case.h"

namespace plaingrad::trust {

using namespace nn;  // NOLINT

namespace {

Mode mode(Dice& draw) {
    return draw.one_in(3) ? Mode::eval() : Mode::train(Rng(static_cast<uint64_t>(draw.below(1000))));
}
Rng rng(Dice& draw) { return Rng(static_cast<uint64_t>(draw.below(1'000'000))); }
uint64_t seed(Dice& draw) { return static_cast<uint64_t>(draw.below(1'000'000)); }

// A case of a module, which its function keeps alive. f(module) computes.
template <class Module, class F>
void add_module(Case& c, Module module, const F& f) {
    tests::stir(module, 5);  // otherwise gains are 1, and biases 0
    const std::vector<NamedParameter> all = parameters(module);
    c.leaves.insert(c.leaves.end(), all.begin(), all.end());
    c.f = [kept = std::make_shared<Module>(std::move(module)), f] { return f(*kept); };
}

Case layer(Dice& draw) {
    const int64_t B = 1 + draw.below(3), T = 1 + draw.below(5), D = 1 + draw.below(9), N = 1 + draw.below(9);
    const bool bias = draw.one_in(2);
    const Mode m = mode(draw);
    Case c;
    const Tensor x = c.leaf(numbers(draw, {B, T, D}));
    switch (draw.below(4)) {
        case 0:
            c.name = "Linear";
            add_module(c, Linear(D, N, rng(draw), {.bias = bias}), [=](const Linear& l) { return l(x); });
            break;
        case 1: {
            const auto kind = static_cast<NormKind>(draw.below(std::ssize(kNormKindNames)));
            c.name = "Norm";
            c.may_be_zero = D == 1;
            add_module(c, Norm(D, {.kind = kind, .eps = Real(0.01)}), [=](const Norm& l) { return l(x); });
            break;
        }
        case 2: {
            const auto kind = static_cast<Positions>(draw.below(static_cast<int64_t>(Positions::count)));
            c.name = "PositionalEncoding";
            c.may_be_zero = true;  // a table's later rows
            add_module(c, PositionalEncoding(kind, T + 2, 2 * D, rng(draw)),
                       [=](const PositionalEncoding& l) {
                           return l(autograd::concat({x, x}, 2), Mode::eval(), 1);
                       });
            break;
        }
        default: {
            FeedForwardOptions o;
            o.activation =
                draw.one_of<Activation>({Activation::gelu, Activation::gelu_tanh, Activation::silu});
            o.gated = draw.one_in(2), o.bias = bias, o.dropout = draw.one_in(2) ? Real(0.3) : 0;
            c.name = "FeedForward";
            c.may_be_zero = true;  // everything may be dropped
            add_module(c, FeedForward(D, N, rng(draw), o), [=](const FeedForward& l) { return l(x, m); });
        }
    }
    return c;
}

Case attention_layer(Dice& draw) {
    const int64_t B = 1 + draw.below(3), T = 1 + draw.below(5), S = 1 + draw.below(5), G = 1 + draw.below(2);
    const int64_t H = G * (1 + draw.below(2)), D = H * (1 + draw.below(3));
    const bool cross = draw.one_in(2);
    std::vector<int32_t> counts;
    for (int64_t b = 0; b < B; ++b)
        counts.push_back(static_cast<int32_t>(draw.below((cross ? S : T) + 1)));
    Mask mask = draw.one_in(2) ? Mask::none() : Mask::key_counts(counts);
    if ((!cross || S >= T) && draw.one_in(2))
        mask = mask.and_causal();
    const Pass pass = {.mask = mask, .mode = mode(draw)};
    Case c(cross ? "CrossAttention" : "MultiHeadAttention", true);
    const Tensor x = c.leaf(numbers(draw, {B, T, D}));
    const Tensor memory = cross ? c.leaf(numbers(draw, {B, S, D})) : Tensor();
    const Rng of_layer = rng(draw);
    const MultiHeadOptions options = {.n_kv_heads = G,
                                      .head_dim = draw.one_in(3) ? 1 + draw.below(4) : 0,
                                      .dropout = draw.one_in(3) ? Real(0.3) : Real(0),
                                      .bias = draw.one_in(2)};
    if (cross)
        add_module(c, CrossAttention(D, H, of_layer, options),
                   [=](const CrossAttention& l) { return l(x, memory, pass); });
    else
        add_module(c, MultiHeadAttention(D, H, of_layer, options),
                   [=](const MultiHeadAttention& l) { return l(x, pass); });
    return c;
}

// Of a few numbers each: every element is checked.
models::Config draw_tiny(Dice& draw, models::Kind kind) {
    for (;;) {
        models::Config c = tests::draw_any_config(draw, kind);
        models::BlockConfig& block = c.block;
        c.vocabulary = c.src_vocabulary = 7;
        c.max_length = 8;
        c.n_layers = 1 + draw.below(2), c.n_decoder_layers = 1 + draw.below(2);
        c.classes = 3;
        block.n_heads = 2, block.n_kv_heads = draw.below(3);
        block.d_model = 2 * (2 + draw.below(2));  // (a norm of two numbers leaves only their order)
        block.d_ff = 1 + draw.below(7);
        block.head_dim = draw.one_in(2) ? 0 : 2 + draw.below(2);
        block.rotary.width = 2;
        block.norm_eps = Real(1e-2);
        block.precision = autograd::Precision::float32;
        if (block.activation == Activation::relu)  // whose kink a step could reach
            block.activation = Activation::gelu;
        if (tests::error_of([&] { check_config(c); }).empty())
            return c;
    }
}

template <class Model>
Case model(Dice& draw) {
    Model drawn(draw_tiny(draw, Model::kKind), rng(draw));
    std::vector<int> lengths;
    for (int64_t count = 1 + draw.below(3); count > 0; --count)
        lengths.push_back(static_cast<int>(1 + draw.below(5)));
    const tests::Example e =
        tests::example_of(drawn, tests::sentences(lengths, seed(draw), drawn.config.vocabulary), rng(draw));
    Case c(models::name_of(Model::kKind), true);
    add_module(c, std::move(drawn), [=, m = mode(draw)](const Model& it) {
        return loss_of(it, e, m, {.label_smoothing = Real(0.1)});
    });
    return c;
}

}  // namespace

Case draw_model(int64_t number, Dice& draw) {
    constexpr Case (*kKinds[])(Dice&) = {layer,
                                         attention_layer,
                                         model<models::LanguageModel>,
                                         model<models::Transformer>,
                                         model<models::MaskedLanguageModel>,
                                         model<models::Classifier>};
    return kKinds[static_cast<std::size_t>(number) % std::size(kKinds)](draw);
}

}  // namespace plaingrad::trust
