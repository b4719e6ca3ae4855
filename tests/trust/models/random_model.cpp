#include "tests/trust/models/random_model.h"

namespace plaingrad::trust {
namespace {

using models::BlockConfig;
using models::Config;
using models::Real;

template <class Enum>
Enum any_of(Dice& dice, Enum count) {
    return static_cast<Enum>(dice.below(static_cast<int64_t>(count)));
}

nn::RotaryOptions draw_rotary(Dice& dice) {
    nn::RotaryOptions r = {.base = dice.one_of<Real>({10000, 500, 500000}), .width = 2 * dice.below(4)};
    r.scaling = any_of(dice, nn::RotaryScaling::count);
    r.factor = dice.one_of<Real>({1, 2, 8});
    r.low_frequency_factor = 1;
    r.high_frequency_factor = dice.one_of<Real>({2, 4});
    r.original_length = dice.one_of<int64_t>({4, 16, 64});
    return r;
}

models::DropoutRates draw_rates(Dice& dice) {
    const auto rate = [&] { return dice.chance(0.5) ? Real(0) : dice.one_of<Real>({Real(0.1), Real(0.5)}); };
    models::DropoutRates rates;
    rates.embeddings = rate();
    rates.sublayers = rate();
    rates.feed_forward = rate();
    rates.attention = rate();
    return rates;
}

BlockConfig draw_block(Dice& dice) {
    BlockConfig b;
    b.n_heads = dice.one_of<int64_t>({1, 2, 3, 4, 6});
    b.n_kv_heads = dice.chance(0.6) ? 0 : 1 + dice.below(b.n_heads);
    b.head_dim = dice.chance(0.6) ? 0 : dice.one_of<int64_t>({1, 2, 4, 6, 8, 15, 16, 17});
    b.d_model = dice.one_of<int64_t>({2, 4, 6, 8, 12, 15, 16, 17, 18, 24, 32, 33, 48, 64, 66});
    b.d_ff = dice.one_of<int64_t>({1, 3, 8, 15, 16, 17, 20, 33, 64, 65, 130});
    b.activation = any_of(dice, nn::Activation::count);
    b.gated = dice.chance(0.35);
    b.norm = any_of(dice, models::NormPlacement::count);
    b.norm_kind = any_of(dice, nn::NormKind::count);
    b.norm_eps = dice.one_of<Real>({Real(1e-5), Real(1e-6), Real(1e-2)});
    b.positions = any_of(dice, nn::Positions::count);
    if (b.positions == nn::Positions::rotary)
        b.rotary = draw_rotary(dice);
    b.scale_embeddings = dice.chance(0.5);
    b.attention_bias = dice.chance(0.6);
    b.attention_out_bias = dice.chance(0.7);
    b.feed_forward_bias = dice.chance(0.7);
    b.norm_bias = dice.chance(0.7);
    b.output_bias = dice.chance(0.6);
    b.dropout = draw_rates(dice);
    do
        b.init = any_of(dice, nn::Init::count);
    while (b.init == nn::Init::none);
    if (dice.chance(0.15))
        b.precision = models::Precision::bf16;
    return b;
}

int64_t draw_vocabulary(Dice& dice) {
    return dice.chance(0.1) ? dice.one_of<int64_t>({255, 256, 257, 513}) : 6 + dice.below(40);
}

int64_t draw_length(Dice& dice) { return dice.chance(0.8) ? 20 + dice.below(30) : 60 + dice.below(80); }

bool can_be_built(const Config& config) {
    try {
        check_config(config);
        return true;
    } catch (const autograd::Error&) {
        return false;
    }
}

template <class Once>
Config draw_until_built(const Once& once) {
    for (;;)
        if (Config config = once(); can_be_built(config))
            return config;
}

models::Config stack_once(Dice& dice) {
    models::Config c = {
        .kind = models::Kind::masked, .vocabulary = draw_vocabulary(dice), .max_length = draw_length(dice)};
    c.n_layers = dice.below(4);
    c.final_norm = dice.chance(0.5);
    c.embedding_norm = dice.chance(0.3);
    c.tied = dice.chance(0.5);
    c.token_types = dice.chance(0.3) ? 2 : 0;
    c.block = draw_block(dice);
    return c;
}

}  // namespace

models::Config draw_stack(Dice& dice) {
    return draw_until_built([&] { return stack_once(dice); });
}

models::Config draw_classifier(Dice& dice) {
    return draw_until_built([&] {
        models::Config c = stack_once(dice);
        c.kind = models::Kind::classifier;
        c.classes = 2 + dice.below(4);
        c.pooling = any_of(dice, models::Pooling::count);
        c.pooled_dropout = dice.one_of<Real>({-1, 0, Real(0.3)});
        return c;
    });
}

models::Config draw_transformer(Dice& dice) {
    return draw_until_built([&] {
        models::Config c = {.src_vocabulary = draw_vocabulary(dice), .max_length = draw_length(dice)};
        c.vocabulary = dice.chance(0.6) ? c.src_vocabulary : draw_vocabulary(dice);
        c.n_layers = dice.below(3);
        c.n_decoder_layers = dice.below(3);
        c.final_norm = dice.chance(0.5);
        const int64_t tying = dice.below(4);
        c.embeddings_tied = tying % 2 == 1, c.tied = tying >= 2;
        c.block = draw_block(dice);
        return c;
    });
}

}  // namespace plaingrad::trust
