// Random configurations of models, and what is read by one: small, with every option that there is.
#pragma once

#include "tests/dice.h"
#include "tests/models/small.h"

namespace plaingrad::tests {

using models::Real;

template <class Enum>
Enum any_of(Dice& dice, Enum count) {
    return static_cast<Enum>(dice.below(static_cast<int64_t>(count)));
}

inline nn::RotaryOptions draw_rotary(Dice& dice) {
    nn::RotaryOptions r = {.base = dice.one_of<Real>({10000, 500, 500000}), .width = 2 * dice.below(4)};
    r.scaling = any_of(dice, nn::RotaryScaling::count);
    r.factor = dice.one_of<Real>({1, 2, 8});
    r.low_frequency_factor = 1;
    r.high_frequency_factor = dice.one_of<Real>({2, 4});
    r.original_length = dice.one_of<int64_t>({4, 16, 64});
    return r;
}

inline models::DropoutRates draw_rates(Dice& dice) {
    const auto rate = [&] { return dice.chance(0.5) ? Real(0) : dice.one_of<Real>({Real(0.1), Real(0.5)}); };
    return {.embeddings = rate(), .sublayers = rate(), .feed_forward = rate(), .attention = rate()};
}

inline models::BlockConfig draw_block(Dice& dice) {
    models::BlockConfig b;
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

inline int64_t draw_vocabulary(Dice& dice) {
    return dice.chance(0.1) ? dice.one_of<int64_t>({255, 256, 257, 513}) : 6 + dice.below(40);
}

inline int64_t draw_length(Dice& dice) {
    return dice.chance(0.8) ? 20 + dice.below(30) : 60 + dice.below(80);
}

inline models::Config draw_any_config(Dice& dice, models::Kind kind) {
    models::Config c = {.kind = kind, .vocabulary = draw_vocabulary(dice), .max_length = draw_length(dice)};
    const bool translates = kind == models::Kind::encoder_decoder;
    c.n_layers = dice.below(translates ? 3 : 4);
    c.n_decoder_layers = dice.below(3);
    c.final_norm = dice.chance(0.5);
    c.tied = dice.chance(0.5);
    c.block = draw_block(dice);
    if (translates) {
        c.src_vocabulary = dice.chance(0.6) ? c.vocabulary : draw_vocabulary(dice);
        c.embeddings_tied = dice.chance(0.5);
        return c;
    }
    c.embedding_norm = dice.chance(0.3);
    c.token_types = kind != models::Kind::causal && dice.chance(0.3) ? 2 : 0;
    if (kind == models::Kind::classifier) {
        c.classes = 2 + dice.below(4);
        c.pooling = any_of(dice, models::Pooling::count);
        c.pooled_dropout = dice.one_of<Real>({-1, 0, Real(0.3)});
    }
    return c;
}

// It can be built: what check_config refuses is drawn again.
inline models::Config draw_config(Dice& dice, models::Kind kind) {
    for (;;) {
        const models::Config config = draw_any_config(dice, kind);
        if (error_of([&] { check_config(config); }).empty())
            return config;
    }
}

// 1 to 5 sentences of 1 to 9 data symbols. For some seeds many, which several threads divide among them; for
// some long ones, which fill several blocks of an attention's kernel.
template <class Model>
Sentences draw_batch(const Model& model, uint64_t seed, uint64_t step) {
    const models::Config& c = model.config;
    Dice dice(autograd::Rng(seed).fork("batch").fork(step));
    const int64_t special = static_cast<int64_t>(autograd::Rng(seed).fork("special").below(0, 16));
    const int64_t count = special == 0 ? 24 + dice.below(20) : 1 + dice.below(5);
    std::vector<int> lengths;
    for (int64_t b = 0; b < count; ++b)
        lengths.push_back(static_cast<int>(1 + dice.below(special == 1 ? c.max_length - 3 : 9)));
    return sentences(lengths, seed + step,
                     c.src_vocabulary > 0 ? std::min(c.src_vocabulary, c.vocabulary) : c.vocabulary);
}

}  // namespace plaingrad::tests
