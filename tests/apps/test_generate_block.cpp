// What generate train --config NAME means.
#include "apps/programs/generate/generate.h"
#include "models/families/one_stack.h"
#include "models/hugging_face/config.h"
#include "tests/catch.h"

using namespace plaingrad;  // NOLINT
using models::Config;

TEST_CASE("generate train --config: the paper's layer, today's, and changes one at a time",
          "[apps][generate]") {
    const auto config_of = [](const std::string& name) { return generate::named_config(name, 48, 8); };
    const Config paper = config_of("2017");
    CHECK(paper.block.norm == models::NormPlacement::post);
    CHECK_FALSE(paper.final_norm);
    CHECK(paper.block.norm_kind == nn::NormKind::layer);
    CHECK(paper.block.positions == nn::Positions::sinusoidal);
    CHECK(paper.block.scale_embeddings);
    CHECK(paper.block.activation == nn::Activation::relu);
    CHECK_FALSE(paper.block.gated);
    CHECK(paper.block.n_kv_heads == 0);
    CHECK(paper.block.attention_bias);
    CHECK(paper.tied);
    CHECK(paper.block.d_ff == 192);

    // Each change, made by hand in the paper's configuration.
    const std::pair<const char*, void (*)(Config&)> changes[] = {
        {"pre-norm", [](Config& c) { c.final_norm = true, c.block.norm = models::NormPlacement::pre; }},
        {"rms-norm", [](Config& c) { c.block.norm_kind = nn::NormKind::rms; }},
        {"rotary", [](Config& c) { c.block.positions = nn::Positions::rotary; }},
        {"gelu", [](Config& c) { c.block.activation = nn::Activation::gelu; }},
        {"swiglu",
         [](Config& c) {
             c.block.activation = nn::Activation::silu, c.block.gated = true;
             c.block.d_ff = 128;  // 2/3 of 192
         }},
        {"grouped", [](Config& c) { c.block.n_kv_heads = 2, c.block.d_ff = 232; }},  // 9.5/2 · 48 = 228
        {"no-bias", [](Config& c) {
             c.block.attention_bias = c.block.feed_forward_bias = c.block.norm_bias = c.block.output_bias =
                 false;
         }}};
    const auto text_of = [](const Config& c) { return models::hugging_face::fields_of(c); };
    Config all = paper;
    for (const auto& [name, change] : changes) {
        INFO(name);
        Config one = paper;
        change(one);
        CHECK(text_of(one) != text_of(paper));
        CHECK(text_of(config_of("2017+" + std::string(name))) == text_of(one));
        if (std::string(name) != "gelu")
            change(all);
    }
    all.block.d_ff = 152;  // 9.5/3 · 48
    CHECK(text_of(config_of("modern")) == text_of(all));
    CHECK(text_of(config_of("2017+pre-norm+rms-norm+rotary+swiglu+grouped+no-bias")) == text_of(all));
    all.block.activation = nn::Activation::gelu;
    CHECK(text_of(config_of("modern+gelu")) == text_of(all));

    // Four heads share if the number of heads allows it, else two, else none.
    for (const auto& [heads, kv_heads] : {std::pair(12, 3), std::pair(6, 3), std::pair(3, 3)})
        CHECK(generate::named_config("2017+grouped", 48, heads).block.n_kv_heads == kv_heads);
}

TEST_CASE("generate train: the configurations have as many parameters as each other, up to a hundredth",
          "[apps][generate]") {
    for (const int64_t heads : {4, 6, 8}) {
        const auto count = [&](const std::string& config) {
            Config c = generate::named_config(config, 48 * heads, heads);
            c.vocabulary = 100, c.max_length = 64, c.n_layers = 4;
            c.specials = {};
            return static_cast<double>(nn::parameter_count(models::LanguageModel(c, models::Rng(1))));
        };
        for (const char* const config : {"modern", "2017+swiglu", "2017+grouped", "2017+no-bias", "gpt2"}) {
            CAPTURE(heads, config);
            CHECK(count(config) == Approx(count("2017")).epsilon(0.01));
        }
    }
}
