// Each preset is as the table says. (What the fields make of a model: test_config.cpp, test_bits.cpp; GPT-2,
// BERT and Llama: hugging_face/test_config.cpp.)
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
        const DropoutRates& p = b.dropout;
        CHECK((p.embeddings == Real(e.embeddings) && p.sublayers == Real(e.sublayers)));
        CHECK((p.feed_forward == Real(e.feed_forward) && p.attention == Real(e.attention)));
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
