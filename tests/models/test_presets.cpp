// Each preset is as the table says. (What the fields make of a model: test_config.cpp, test_bits.cpp.)
#include "tests/catch.h"
#include "tests/models/small.h"

using namespace plaingrad;  // NOLINT
using namespace models;     // NOLINT
using namespace tests;      // NOLINT

namespace {

struct Expected {
    const char* name;
    int64_t d, heads, ff, layers, src_vocabulary, vocabulary, max_length;  // vocabulary 0: the data's
    bool learned, scaled, pre_norm;
    bool one_embedding, output_is_embedding;
    bool attention_bias, output_bias;
    double embeddings, sublayers, feed_forward, attention;  // dropout
};

// The rows of the table, read from it and not from the code.
const std::vector<Expected> kTable = {
    {"paper", 512, 8, 2048, 6, 0, 0, 512, false, true, false, true, true, true, true, .1, .1, 0, 0},
    {"article", 128, 4, 256, 2, 0, 0, 512, false, true, false, false, false, true, true, .1, .1, .1, 0},
    {"notebook", 128, 8, 512, 2, 1000, 1000, 512, false, false, false, true, false, true, true, 0, 0, 0, 0},
    {"blog", 64, 4, 128, 2, 20, 20, 512, true, false, false, false, false, true, true, 0, .1, .1, .1},
    {"blog-scratch", 64, 4, 256, 2, 20, 20, 512, false, false, false, false, false, true, true, 0, .1, .1,
     .1},
    {"summary", 512, 8, 2048, 6, 5000, 5000, 512, false, false, false, false, false, true, true, .1, .1, 0,
     0},
    {"chapter", 512, 8, 2048, 6, 0, 0, 20, false, true, false, true, true, false, false, 0, 0, 0, 0},
    {"prenorm", 512, 8, 2048, 6, 0, 0, 512, false, true, true, true, true, true, true, .1, .1, 0, 0},
};

bool equal(Real rate, double expected) { return std::abs(static_cast<double>(rate) - expected) < 1e-7; }

bool has_rates(const DropoutRates& p, const std::vector<double>& expected) {
    return equal(p.embeddings, expected[0]) && equal(p.sublayers, expected[1]) &&
           equal(p.feed_forward, expected[2]) && equal(p.attention, expected[3]);
}

}  // namespace

TEST_CASE("presets: there is one for each row of the table, and no other", "[models][presets]") {
    REQUIRE(presets().size() == kTable.size());
    for (std::size_t i = 0; i < kTable.size(); ++i) {
        const Expected& e = kTable[i];
        INFO(e.name);
        CHECK(presets()[i].name == e.name);
        CHECK(&preset(e.name) == &presets()[i].config);
        const Config& c = preset(e.name);
        const BlockConfig& b = c.block;
        CHECK((b.d_model == e.d && b.n_heads == e.heads && b.d_ff == e.ff));
        CHECK((c.n_layers == e.layers && c.n_decoder_layers == e.layers));
        CHECK((c.src_vocabulary == e.src_vocabulary && c.vocabulary == e.vocabulary));
        CHECK(c.max_length == e.max_length);
        CHECK(has_rates(b.dropout, {e.embeddings, e.sublayers, e.feed_forward, e.attention}));
        CHECK((b.activation == nn::Activation::relu && b.norm_eps == Real(1e-5)));
        CHECK((b.positions == nn::Positions::learned) == e.learned);
        CHECK((b.positions == nn::Positions::sinusoidal) == !e.learned);
        CHECK(b.scale_embeddings == e.scaled);
        CHECK((b.norm == NormPlacement::pre) == e.pre_norm);
        CHECK(c.final_norm == e.pre_norm);
        CHECK((c.embeddings_tied == e.one_embedding && c.tied == e.output_is_embedding));
        CHECK((b.attention_bias == e.attention_bias && b.output_bias == e.output_bias));
        CHECK((b.feed_forward_bias && b.norm_bias && b.attention_out_bias && !c.embedding_norm));
        CHECK(b.init == nn::Init::xavier);
    }
    for (const char* name : {"nonsense", ""}) {
        const std::string error = error_of([&] { preset(name); });
        CHECK(contains(error, name));
        for (const Expected& e : kTable)
            CHECK(contains(error, e.name));
    }
}

TEST_CASE("presets: GPT-2 and BERT are as they were published", "[models][presets]") {
    const Config g = gpt2(), b = bert();
    for (const Config& c : {g, b}) {
        CHECK((c.block.d_model == 768 && c.block.n_heads == 12 && c.block.d_ff == 3072 && c.n_layers == 12));
        CHECK((c.block.positions == nn::Positions::learned && c.tied && !c.block.scale_embeddings));
        CHECK((c.block.attention_bias && c.block.feed_forward_bias && c.block.norm_bias));
        CHECK(has_rates(c.block.dropout, {.1, .1, 0, .1}));
    }
    CHECK((g.vocabulary == 50257 && g.max_length == 1024 && b.vocabulary == 30522 && b.max_length == 512));
    CHECK((g.block.norm == NormPlacement::pre && g.final_norm && !g.embedding_norm && !g.block.output_bias));
    CHECK((b.block.norm == NormPlacement::post && !b.final_norm && b.embedding_norm && b.block.output_bias));
    CHECK((g.block.activation == nn::Activation::gelu_tanh && b.block.activation == nn::Activation::gelu));
    CHECK((g.block.norm_eps == Real(1e-5) && b.block.norm_eps == Real(1e-12)));
    CHECK((g.block.init == nn::Init::gpt2 && b.block.init == nn::Init::bert));
    CHECK(expected_parameter_count(g) == 124439808);  // as many as its own file has
}

TEST_CASE("presets: Llama is as it was published", "[models][presets]") {
    const Config c = llama();
    const BlockConfig& b = c.block;
    CHECK(error_of([&] { check_config(c); }) == "");
    CHECK((c.vocabulary == 128256 && c.max_length == 131072 && c.n_layers == 16 && c.tied && c.final_norm));
    CHECK(
        (b.d_model == 2048 && b.n_heads == 32 && b.n_kv_heads == 8 && head_size(b) == 64 && b.d_ff == 8192));
    CHECK((b.activation == nn::Activation::silu && b.gated && b.norm == NormPlacement::pre));
    CHECK((b.norm_kind == nn::NormKind::rms && b.norm_eps == Real(1e-5) && !b.scale_embeddings));
    CHECK_FALSE((b.attention_bias || b.feed_forward_bias || b.output_bias));
    CHECK((b.positions == nn::Positions::rotary && b.rotary.base == 500000 && b.rotary.width == 0));
    CHECK((b.rotary.scaling == nn::RotaryScaling::llama3 && b.rotary.factor == 32 &&
           b.rotary.low_frequency_factor == 1 && b.rotary.high_frequency_factor == 4 &&
           b.rotary.original_length == 8192));
    CHECK(least_parameters(c) == 1235814400 - 33 * 2048.0);  // as many as its file has, less the norms
}
