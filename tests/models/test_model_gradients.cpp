// The gradients of whole models, for every parameter, with dropout and label smoothing, against finite
// differences.
#include "tests/models/small.h"
#include "tests/nn/gradients.h"

using namespace plaingrad;  // NOLINT
using namespace models;     // NOLINT
using namespace tests;      // NOLINT

static Config tiny(const std::string& preset, nn::Activation activation) {
    Config c = small(preset, 7);
    c.max_length = 5;
    c.block.d_model = 6;
    c.block.n_heads = 2;
    c.block.d_ff = 7;
    c.n_layers = c.n_decoder_layers = 1;
    c.block.activation = activation;
    c.block.dropout = {
        .embeddings = Real(0.1), .sublayers = Real(0.15), .feed_forward = Real(0.2), .attention = Real(0.25)};
    return c;
}

static void check_model(const Config& c, const std::string& what) {
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
    Config c = tiny("prenorm", nn::Activation::gelu);
    c.n_layers = c.n_decoder_layers = 2;
    check_model(c, "prenorm");
}

TEST_CASE("gradients: no biases, source and target tied", "[models][gradcheck]") {
    Config c = tiny("chapter", nn::Activation::relu);
    c.embeddings_tied = true;
    check_model(c, "chapter");
}

TEST_CASE("gradients: target and output tied", "[models][gradcheck]") {
    Config c = tiny("summary", nn::Activation::gelu);
    c.embeddings_tied = false, c.tied = true;
    check_model(c, "target and output tied");
}

// ---- Models with one stack.

static Config tiny_stack(const std::string& kind) {
    Config c = small_stack(kind, 7);
    c.max_length = 6;
    c.block.d_model = 6;
    c.block.n_heads = 2;
    c.block.d_ff = 7;
    c.n_layers = kind == "gpt2" ? 2 : 1;
    c.block.rotary.width = 2;  // of 3 numbers of a head, or of 6 in "llama"
    c.block.dropout = {
        .embeddings = Real(0.1), .sublayers = Real(0.15), .feed_forward = Real(0.2), .attention = Real(0.25)};
    return c;
}

TEST_CASE("gradients: language models of every kind", "[models][lm][gradcheck]") {
    std::vector<std::string> kinds = kStacks;
    kinds.insert(kinds.end(), kAlone.begin(), kAlone.end());
    for (const std::string& kind : kinds) {
        const LanguageModel model(tiny_stack(kind), Rng(21));
        stir(model);
        const autograd::Tokens text = framed({{6, 5, 4, 3}, {3, 5}});
        check_gradients("language model, " + kind, nn::parameters(model),
                        [&] { return next_token_loss(model, text, Mode::train(Rng(22))); });
    }
}

TEST_CASE("gradients: masked language models of every kind", "[models][mlm][gradcheck]") {
    for (const std::string& kind : kStacks) {
        const MaskedLanguageModel model(tiny_stack(kind), Rng(21));
        stir(model);
        const text::MaskedTokens masked =
            text::mask_tokens(padded({{6, 5, 4, 4, 6}, {4, 5, 6}}), {.end_id = 7, .rate = 0.6}, Rng(23));
        check_gradients("masked language model, " + kind, nn::parameters(model), [&] {
            return autograd::cross_entropy(model(masked.ids, Mode::train(Rng(22))), masked.targets);
        });
    }
}

TEST_CASE("gradients: classifiers of every kind, pooled by the mean and by the first position",
          "[models][classifier][gradcheck]") {
    for (const std::string& kind : kStacks)
        for (const Pooling pooling : {Pooling::mean, Pooling::first}) {
            const Classifier model(with_classes(tiny_stack(kind), 3, pooling), Rng(21));
            stir(model);
            const autograd::Tokens text = padded({{6, 5, 4, 4, 6, 5}, {4, 5, 6}});
            const autograd::Tokens answers(2, 1, {2, 0});
            check_gradients("classifier, " + kind, nn::parameters(model), [&] {
                return autograd::cross_entropy(model(text, Mode::train(Rng(22))), answers);
            });
        }
}
