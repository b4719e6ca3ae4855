#include "models/presets.h"

#include "autograd/base/list.h"
#include "nn/checkpoint/json.h"

namespace plaingrad::models {

static Config blog(int64_t d_ff, nn::Positions positions) {
    return {.src_vocabulary = 20,
            .vocabulary = 20,
            .n_layers = 2,
            .n_decoder_layers = 2,
            .block = {.d_model = 64,
                      .n_heads = 4,
                      .d_ff = d_ff,
                      .positions = positions,
                      .scale_embeddings = false,
                      .dropout = {.embeddings = 0, .feed_forward = Real(0.1), .attention = Real(0.1)}}};
}

const std::vector<Preset>& presets() {
    static const std::vector<Preset> all = {
        // The paper itself: sinusoids, embeddings times √d_model, one matrix for both embeddings and the
        // output.
        {"paper", {.embeddings_tied = true, .tied = true}},

        // Scaled embeddings and three separate matrices; dropout also inside the feed-forward. Toy size.
        {"article",
         {.n_layers = 2,
          .n_decoder_layers = 2,
          .block = {.d_model = 128, .n_heads = 4, .d_ff = 256, .dropout = {.feed_forward = Real(0.1)}}}},

        // Source and target share one embedding, the output is separate; no scaling, no dropout at all.
        {"notebook",
         {.src_vocabulary = 1000,
          .vocabulary = 1000,
          .n_layers = 2,
          .n_decoder_layers = 2,
          .embeddings_tied = true,
          .block = {.d_model = 128,
                    .n_heads = 8,
                    .d_ff = 512,
                    .scale_embeddings = false,
                    .dropout = {.embeddings = 0, .sublayers = 0}}}},

        // Learned positions, separate tables for source and target; dropout on attention weights, inside the
        // feed-forward and on sub-layers, but not on embeddings. Made for reversing sequences.
        {"blog", blog(128, nn::Positions::learned)},
        // The same task in the blog's version from scratch: sinusoids, and a wider feed-forward.
        {"blog-scratch", blog(256, nn::Positions::sinusoidal)},

        // The paper's sizes without scaling or sharing. The tutorial masks padded *queries* of the target; we
        // hide padded keys, as everywhere in this library, and the loss ignores padded queries.
        {"summary", {.src_vocabulary = 5000, .vocabulary = 5000, .block = {.scale_embeddings = false}}},

        // Everything shared, no bias in attention and output, no dropout; short sentences.
        {"chapter",
         {.max_length = 20,
          .embeddings_tied = true,
          .tied = true,
          .block = {.attention_bias = false,
                    .output_bias = false,
                    .dropout = {.embeddings = 0, .sublayers = 0}}}},

        // The paper's model with the norm before each sub-layer, and a final one.
        {"prenorm",
         {.final_norm = true, .embeddings_tied = true, .tied = true, .block = {.norm = NormPlacement::pre}}},
    };
    return all;
}

Config gpt2() {
    return {.kind = Kind::causal,
            .vocabulary = 50257,
            .max_length = 1024,
            .specials = {.start = 50256, .ends = {50256}, .pad = Tokens::kNoPadding, .never = {}},
            .n_layers = 12,
            .final_norm = true,
            .tied = true,
            .block = {.d_model = 768,
                      .n_heads = 12,
                      .d_ff = 3072,
                      .activation = nn::Activation::gelu_tanh,
                      .norm = NormPlacement::pre,
                      .positions = nn::Positions::learned,
                      .scale_embeddings = false,
                      .output_bias = false,
                      .dropout = {.attention = Real(0.1)},
                      .init = nn::Init::gpt2}};
}

Config llama() {
    return {.kind = Kind::causal,
            .vocabulary = 128256,
            .max_length = 131072,
            .specials = {.start = 128000, .ends = {128001}, .pad = Tokens::kNoPadding, .never = {}},
            .n_layers = 16,
            .final_norm = true,
            .tied = true,
            .block = {.d_model = 2048,
                      .n_heads = 32,
                      .n_kv_heads = 8,
                      .d_ff = 8192,
                      .activation = nn::Activation::silu,
                      .gated = true,
                      .norm = NormPlacement::pre,
                      .norm_kind = nn::NormKind::rms,
                      .positions = nn::Positions::rotary,
                      .rotary = {.base = 500000, .scaling = nn::RotaryScaling::llama3, .factor = 32},
                      .scale_embeddings = false,
                      .attention_bias = false,
                      .feed_forward_bias = false,
                      .output_bias = false,
                      .dropout = {.embeddings = 0, .sublayers = 0},
                      .init = nn::Init::bert}};
}

Config bert() {  // the same size, except for the vocabulary
    Config config = gpt2().as(Kind::masked);
    config.vocabulary = 30522;
    config.max_length = 512;
    config.specials = {.start = 101, .ends = {102}, .pad = 0, .never = {0}};  // [CLS], [SEP], [PAD]
    config.block.activation = nn::Activation::gelu;
    config.block.norm = NormPlacement::post;
    config.final_norm = false;
    config.block.norm_eps = Real(1e-12);
    config.embedding_norm = config.block.output_bias = true;
    config.token_types = 2;
    config.block.init = nn::Init::bert;
    return config;
}

const Config& preset(std::string_view name) {
    for (const Preset& p : presets())
        if (p.name == name)
            return p.config;
    throw autograd::Error(autograd::join("[preset] there is no preset '", name, "'; there are ",
                                         nn::checkpoint::listed(autograd::mapped(presets(), &Preset::name))));
}

}  // namespace plaingrad::models
