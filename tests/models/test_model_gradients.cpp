// The gradient of whole models, every parameter, with dropout on and label smoothing, against differences.
#include "tests/models/small.h"
#include "tests/nn/gradients.h"

using namespace models;  // NOLINT
using namespace tests;   // NOLINT

static TransformerConfig tiny(const std::string& preset, nn::Activation activation) {
    TransformerConfig c = small(preset, 7);
    c.max_length = 5;
    c.d_model = 6;
    c.n_heads = 2;
    c.d_ff = 7;
    c.n_encoder_layers = c.n_decoder_layers = 1;
    c.activation = activation;
    c.dropout = {
        .embeddings = Real(0.1), .sublayers = Real(0.15), .feed_forward = Real(0.2), .attention = Real(0.25)};
    return c;
}

static void check_model(const TransformerConfig& c, const std::string& what) {
    const Transformer model(c, Rng(21));
    const autograd::Tokens src = padded({{4, 5, 6}, {6}}), tgt = framed({{6, 5}, {3, 4, 5}});
    const std::vector<nn::NamedParameter> parameters = nn::parameters(model);
    CHECK(nn::parameter_count(parameters) == expected_parameter_count(c));
    check_gradients(what, parameters,
                    [&] { return teacher_forced_loss(model, src, tgt, Mode::train(Rng(22)), Real(0.1)); });
}

TEST_CASE("gradients: post-norm, all matrices tied, sinusoids", "[models][gradcheck]") {
    check_model(tiny("paper", nn::Activation::gelu_tanh), "paper");
}

TEST_CASE("gradients: learned positions, nothing tied", "[models][gradcheck]") {
    check_model(tiny("blog", nn::Activation::relu), "blog");
}

TEST_CASE("gradients: pre-norm with final norms, two layers", "[models][gradcheck]") {
    TransformerConfig c = tiny("prenorm", nn::Activation::gelu_erf);
    c.n_encoder_layers = c.n_decoder_layers = 2;
    check_model(c, "prenorm");
}

TEST_CASE("gradients: no biases, source and target tied", "[models][gradcheck]") {
    TransformerConfig c = tiny("chapter", nn::Activation::relu);
    c.tying = Tying::source_target;
    check_model(c, "chapter");
}

TEST_CASE("gradients: target and output tied", "[models][gradcheck]") {
    TransformerConfig c = tiny("summary", nn::Activation::gelu_erf);
    c.tying = Tying::target_output;
    check_model(c, "target and output tied");
}
