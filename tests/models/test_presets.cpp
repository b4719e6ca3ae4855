// Each preset is as the table says, in its configuration and in the model made from it.
#include "models/decoding/decoding.h"
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

}  // namespace

TEST_CASE("presets: there is one for each row of the table, and no other", "[models][presets]") {
    REQUIRE(presets().size() == kTable.size());
    for (std::size_t i = 0; i < kTable.size(); ++i) {
        CHECK(presets()[i].name == kTable[i].name);
        CHECK(&preset(kTable[i].name) == &presets()[i].config);
    }
}

TEST_CASE("presets: sizes and dropout", "[models][presets]") {
    for (const Expected& e : kTable) {
        INFO(e.name);
        const Config& c = preset(e.name);
        CHECK(c.block.d_model == e.d);
        CHECK(c.block.n_heads == e.heads);
        CHECK(c.block.d_ff == e.ff);
        CHECK((c.n_layers == e.layers && c.n_decoder_layers == e.layers));
        CHECK((c.src_vocabulary == e.src_vocabulary && c.vocabulary == e.vocabulary));
        CHECK(c.max_length == e.max_length);
        CHECK(equal(c.block.dropout.embeddings, e.embeddings));
        CHECK(equal(c.block.dropout.sublayers, e.sublayers));
        CHECK(equal(c.block.dropout.feed_forward, e.feed_forward));
        CHECK(equal(c.block.dropout.attention, e.attention));
        CHECK(c.block.activation == nn::Activation::relu);
        CHECK(c.block.feed_forward_bias);
    }
}

TEST_CASE("presets: the properties of each are those of the model", "[models][presets]") {
    for (const Expected& e : kTable) {
        INFO(e.name);
        Config c = preset(e.name);  // everything but the sizes
        c.src_vocabulary = c.vocabulary = 11;
        c.block.d_model = 16;
        c.block.n_heads = 4;
        c.block.d_ff = 20;
        c.n_layers = c.n_decoder_layers = 2;
        const Transformer m(c, Rng(1));

        const Tensor& src = m.src_embedding.tokens.table;
        const Tensor& tgt = m.tgt_embedding.tokens.table;
        CHECK(src.same_memory(tgt) == e.one_embedding);
        CHECK(m.output.table->same_memory(tgt) == e.output_is_embedding);
        CHECK(m.output.table->same_memory(src) == (e.one_embedding && e.output_is_embedding));
        CHECK(m.output.bias->defined() == e.output_bias);

        CHECK(m.src_embedding.positions.table->defined() == e.learned);
        CHECK(m.src_embedding.positions.sinusoids.defined() == !e.learned);
        CHECK(m.tgt_embedding.positions.table->defined() == e.learned);
        if (e.learned)  // tables of their own
            CHECK_FALSE(m.src_embedding.positions.table->same_memory(m.tgt_embedding.positions.table));
        CHECK(m.src_embedding.positions.max_length == e.max_length);
        CHECK(m.src_embedding.scale == (e.scaled ? 4 : 1));
        CHECK(m.tgt_embedding.scale == (e.scaled ? 4 : 1));
        CHECK(equal(m.src_embedding.dropout.rate, e.embeddings));
        CHECK(equal(m.tgt_embedding.dropout.rate, e.embeddings));

        CHECK(m.encoder.final_norm.has_value() == e.pre_norm);
        CHECK(m.decoder.final_norm.has_value() == e.pre_norm);
        REQUIRE(m.encoder.layers.size() == 2);
        REQUIRE(m.decoder.layers.size() == 2);
        for (std::size_t i = 0; i < 2; ++i) {
            const EncoderLayer& enc = m.encoder.layers[i];
            const DecoderLayer& dec = m.decoder.layers[i];
            const nn::CrossAttention& cross = dec.cross_attention;
            CHECK(equal(cross.dropout.rate, e.attention));
            for (const nn::Linear* l : {&cross.q_proj, &cross.kv_proj, &cross.out_proj})
                CHECK(l->bias->defined() == e.attention_bias);
            for (const nn::MultiHeadAttention* a : {&enc.self_attention, &dec.self_attention}) {
                CHECK(equal(a->dropout.rate, e.attention));
                for (const nn::Linear* l : {&a->in_proj, &a->out_proj})
                    CHECK(l->bias->defined() == e.attention_bias);
            }
            for (const nn::FeedForward* f : {&enc.feed_forward, &dec.feed_forward}) {
                CHECK(equal(f->dropout.rate, e.feed_forward));
                CHECK((f->linear1.bias->defined() && f->linear2.bias->defined()));
            }
            for (const Residual* r :
                 {&enc.residual1, &enc.residual2, &dec.residual1, &dec.residual2, &dec.residual3}) {
                CHECK(equal(r->dropout.rate, e.sublayers));
                CHECK((r->placement == NormPlacement::pre) == e.pre_norm);
                CHECK(r->norm.eps == Real(1e-5));
            }
        }
    }
}

TEST_CASE("presets: at full size, the number of parameters equals the formula", "[models][presets]") {
    for (const Expected& e : kTable) {
        INFO(e.name);
        Config c = preset(e.name);
        if (c.src_vocabulary == 0)
            c.src_vocabulary = c.vocabulary = 53;
        const Transformer m(c, Rng(1));
        CHECK(nn::parameter_count(m) == expected_parameter_count(c));

        // The formula once more, by hand.
        const int64_t d = e.d, v = c.src_vocabulary;
        const int64_t attention = 4 * d * (d + (e.attention_bias ? 1 : 0));
        const int64_t ff = d * e.ff + e.ff + e.ff * d + d;
        const int64_t encoder = attention + ff + 2 * 2 * d, decoder = 2 * attention + ff + 3 * 2 * d;
        const int64_t tables = 3 - (e.one_embedding ? 1 : 0) - (e.output_is_embedding ? 1 : 0);
        CHECK(nn::parameter_count(m) == e.layers * (encoder + decoder) + tables * v * d +
                                            (e.output_bias ? v : 0) + (e.learned ? 2 * e.max_length * d : 0) +
                                            (e.pre_norm ? 4 * d : 0));
    }
}

TEST_CASE("presets: an unknown name is an error that lists the names", "[models][presets]") {
    const std::string error = error_of([] { preset("nonsense"); });
    CHECK(contains(error, "nonsense"));
    for (const Expected& e : kTable)
        CHECK(contains(error, e.name));
    CHECK(error_of([] { preset(""); }) != "");
}

TEST_CASE("presets: each trains and translates", "[models][presets]") {
    for (const Expected& e : kTable) {
        INFO(e.name);
        const Transformer m(small(e.name), Rng(2));
        const std::vector<Real> losses = train(m, 30, 4, 3);
        REQUIRE(losses.size() == 30);
        CHECK(losses[28] + losses[29] < losses[0] + losses[1]);
        const std::unique_ptr<Stepper> stepper = m.start(padded({{4, 5, 6}, {7}}));
        CHECK(greedy(*stepper, 5).size() == 2);
    }
}

TEST_CASE("presets: GPT-2 and BERT are as they were published", "[models][presets]") {
    const Config g = gpt2(), b = bert();
    for (const Config& c : {g, b}) {
        CHECK((c.block.d_model == 768 && c.block.n_heads == 12 && c.block.d_ff == 3072 && c.n_layers == 12));
        CHECK((c.block.positions == nn::Positions::learned && c.tied && !c.block.scale_embeddings));
        CHECK((c.block.attention_bias && c.block.feed_forward_bias && c.block.norm_bias));
        CHECK((equal(c.block.dropout.embeddings, .1) && equal(c.block.dropout.sublayers, .1)));
        CHECK((equal(c.block.dropout.feed_forward, 0) && equal(c.block.dropout.attention, .1)));
    }
    CHECK((g.vocabulary == 50257 && g.max_length == 1024 && b.vocabulary == 30522 && b.max_length == 512));
    CHECK((g.block.norm == NormPlacement::pre && g.final_norm && !g.embedding_norm && !g.block.output_bias));
    CHECK((b.block.norm == NormPlacement::post && !b.final_norm && b.embedding_norm && b.block.output_bias));
    CHECK((g.block.activation == nn::Activation::gelu_tanh && b.block.activation == nn::Activation::gelu));
    CHECK((g.block.norm_eps == Real(1e-5) && b.block.norm_eps == Real(1e-12)));
    CHECK((g.block.init == nn::Init::gpt2 && b.block.init == nn::Init::bert));

    // As many as GPT-2's own file has; test_config.cpp holds this formula against models.
    const int64_t d = g.block.d_model, attention = 4 * d * (d + 1),
                  feed_forward = 2 * d * g.block.d_ff + g.block.d_ff + d;
    CHECK((g.vocabulary + g.max_length) * d + g.n_layers * (attention + feed_forward + 4 * d) + 2 * d ==
          124439808);
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

TEST_CASE("presets: the properties of GPT-2 and BERT are those of the model", "[models][presets]") {
    for (const char* kind : {"gpt2", "bert"}) {
        INFO(kind);
        const LanguageModel m(small_stack(kind), Rng(1));
        const bool pre = m.config.block.norm == NormPlacement::pre;
        const Backbone& backbone = m.backbone;
        CHECK(m.output.bias->defined() == m.config.block.output_bias);
        CHECK(backbone.embedding.scale == 1);
        CHECK(backbone.embedding.positions.table->defined());
        CHECK(backbone.embedding.norm.has_value() == m.config.embedding_norm);
        CHECK(backbone.encoder.final_norm.has_value() == m.config.final_norm);
        CHECK(equal(backbone.embedding.dropout.rate, .1));
        REQUIRE(backbone.encoder.layers.size() == 2);
        for (const EncoderLayer& l : backbone.encoder.layers) {
            CHECK((l.residual1.placement == NormPlacement::pre) == pre);
            CHECK((l.residual1.norm.eps == m.config.block.norm_eps &&
                   l.residual2.norm.eps == m.config.block.norm_eps));
            CHECK(l.feed_forward.activation == m.config.block.activation);
            CHECK((equal(l.residual1.dropout.rate, .1) && equal(l.residual2.dropout.rate, .1)));
            CHECK((equal(l.self_attention.dropout.rate, .1) && equal(l.feed_forward.dropout.rate, 0)));
        }
        if (backbone.embedding.norm)
            CHECK(backbone.embedding.norm->eps == m.config.block.norm_eps);
    }
}
