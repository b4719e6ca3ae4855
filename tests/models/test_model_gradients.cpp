// The gradients of whole models, for every parameter, with dropout and label smoothing, against finite
// differences.
#include "tests/models/small.h"
#include "tests/nn/gradients.h"

using namespace plaingrad;  // NOLINT
using namespace models;     // NOLINT
using namespace tests;      // NOLINT

static Config tiny(Config c, int64_t max_length, int64_t layers = 1) {
    c = sized(c, {7, max_length, 6, 2, 7, layers});
    c.block.rotary.width = 2;  // of 3 numbers of a head, or of 6 in "llama"
    c.block.dropout = {
        .embeddings = Real(0.1), .sublayers = Real(0.15), .feed_forward = Real(0.2), .attention = Real(0.25)};
    return c;
}

static Config tiny_stack(const std::string& kind) {
    return tiny(small_stack(kind), 6, kind == "gpt2" ? 2 : 1);
}

TEST_CASE("gradients: translators, with each way to tie their matrices", "[models][gradcheck]") {
    struct Row {
        const char* preset;
        nn::Activation activation;
        bool embeddings_tied, tied;
        int64_t layers;
    };
    using enum nn::Activation;
    for (const Row& r : {Row{"paper", gelu_tanh, true, true, 1},  // post-norm, sinusoids
                         Row{"blog", relu, false, false, 1},      // learned positions
                         Row{"prenorm", gelu, true, true, 2},     // pre-norm with final norms
                         Row{"chapter", relu, true, true, 1},     // no biases
                         Row{"summary", gelu, false, true, 1}}) {
        Config c = tiny(small(r.preset), 5, r.layers);
        c.block.activation = r.activation;
        c.embeddings_tied = r.embeddings_tied, c.tied = r.tied;
        const Transformer model(c, Rng(21));
        const autograd::Tokens src = padded({{4, 5, 6}, {6}}), tgt = framed({{6, 5}, {3, 4, 5}});
        const std::vector<nn::NamedParameter> parameters = nn::parameters(model);
        CHECK(nn::parameter_count(parameters) == expected_parameter_count(c));
        check_gradients(r.preset, parameters, [&] {
            return teacher_forced_loss(model, src, tgt, Mode::train(Rng(22)), Real(0.1));
        });
    }
}

TEST_CASE("gradients: language models of every kind", "[models][lm][gradcheck]") {
    for (const std::string& kind : all_stacks()) {
        const LanguageModel model(tiny_stack(kind), Rng(21));
        stir(model);
        const autograd::Tokens text = framed({{6, 5, 4, 3}, {3, 5}});
        check_gradients("language model, " + kind, nn::parameters(model),
                        [&] { return next_token_loss(model, text, Mode::train(Rng(22))); });
    }
}

TEST_CASE("gradients: masked language models, and classifiers that pool the mean or the first position",
          "[models][mlm][classifier][gradcheck]") {
    const auto check = [](const std::string& what, const auto& model, const Example& e) {
        stir(model);
        check_gradients(what, nn::parameters(model), [&] {
            return autograd::cross_entropy(logits_of(model, e, Mode::train(Rng(22))), e.targets);
        });
    };
    const text::MaskedTokens masked =
        text::mask_tokens(padded({{6, 5, 4, 4, 6}, {4, 5, 6}}), {.end_id = 7, .rate = 0.6}, Rng(23));
    for (const std::string& kind : kStacks) {
        check("masked language model, " + kind, MaskedLanguageModel(tiny_stack(kind), Rng(21)),
              {{}, masked.ids, masked.targets});
        for (const Pooling pooling : {Pooling::mean, Pooling::first})
            check("classifier, " + kind, Classifier(with_classes(tiny_stack(kind), 3, pooling), Rng(21)),
                  {{}, padded({{6, 5, 4, 4, 6, 5}, {4, 5, 6}}), Tokens(2, 1, {2, 0})});
    }
}
