// The whole model: shapes, small and odd sizes, the first loss, evaluation, and errors.
#include "models/families/transformer.h"

#include <algorithm>
#include <cmath>

#include "tests/catch.h"
#include "tests/models/small.h"

using namespace plaingrad;  // NOLINT
using namespace models;     // NOLINT
using namespace tests;      // NOLINT

using autograd::Tokens;

TEST_CASE("transformer: the shapes that the tutorials print", "[models]") {
    const autograd::NoGrad no_grad;
    Config c = preset("summary");
    c.src_vocabulary = 100;
    c.vocabulary = 120;
    c.n_layers = c.n_decoder_layers = 1;
    const Transformer model(c, Rng(1));
    const Tokens src = padded(sentences({10, 10}, 1, 100)), tgt = padded(sentences({9, 9}, 2, 120));
    CHECK(model.src_embedding(src, Mode::eval()).shape() == Shape({2, 10, 512}));
    nn::Probe seen;
    const Tensor memory = model.encode(src, Mode::eval(&seen));
    CHECK(memory.shape() == Shape({2, 10, 512}));
    const Tensor logits = model.decode(tgt, memory, Mask::padding(src), Mode::eval(&seen));
    CHECK(logits.shape() == Shape({2, 9, 120}));
    const DecoderLayer& layer = model.decoder.layers[0];
    CHECK(seen.of(model.encoder.layers[0].self_attention).shape() == Shape({2, 8, 10, 10}));
    CHECK(seen.of(layer.self_attention).shape() == Shape({2, 8, 9, 9}));
    CHECK(seen.of(layer.cross_attention).shape() == Shape({2, 8, 9, 10}));
    CHECK(same_bits(seen.of(model.encoder.layers[0]), memory));  // no norm after the last layer
    CHECK(same_bits(model.output(seen.of(layer)), logits));
    CHECK(same_bits(model(src, tgt, Mode::eval()), logits));
}

TEST_CASE("transformer: a probe sees the weights of every layer, and changes no bit", "[models]") {
    for (const std::string& kind : kKinds) {
        INFO(kind);
        const Transformer model(small(kind), Rng(1));
        const Tokens src = padded(sentences({5, 2}, 1)), tgt = padded(sentences({3, 4}, 2));
        nn::Probe seen;
        const Tensor with = model(src, tgt, Mode::eval(&seen));
        CHECK(same_bits(with, model(src, tgt, Mode::eval())));
        const std::vector<DecoderLayer>& layers = model.decoder.layers;
        CHECK_FALSE(same_bits(seen.of(layers[0].cross_attention), seen.of(layers[1].cross_attention)));
        for (const DecoderLayer& layer : layers) {
            const Tensor& w = seen.of(layer.cross_attention);
            CHECK(w.shape() == Shape({2, 3, 4, 5}));
            CHECK(worst_error(autograd::sum(w, {3}), Tensor::full({2, 3, 4}, 1)) < 1e-5);
            for (int64_t i = 60; i < 120; ++i)  // sentence 1 has two source tokens
                CHECK((w.data()[i] == 0) == (i % 5 >= 2));
        }
        for (const DecoderLayer& layer : layers) {
            const Tensor& w = seen.of(layer.self_attention);
            for (int64_t i = 0; i < w.numel(); ++i)
                if (i % 4 > i / 4 % 4)
                    CHECK(w.data()[i] == 0);  // the future
        }
    }
}

TEST_CASE("transformer: two evaluations are identical, two training steps are not", "[models]") {
    for (const char* kind : {"paper", "article", "blog", "prenorm"}) {
        INFO(kind);
        const Transformer model(small(kind), Rng(1));
        const Tokens src = padded(sentences({5, 2}, 1)), tgt = padded(sentences({3, 4}, 2));
        const Tensor first = model(src, tgt, Mode::eval());
        const Tensor one = model(src, tgt, Mode::train(Rng(1).fork(1)));
        CHECK(same_bits(first, model(src, tgt, Mode::eval())));
        CHECK(same_bits(one, model(src, tgt, Mode::train(Rng(1).fork(1)))));
        CHECK_FALSE(same_bits(one, model(src, tgt, Mode::train(Rng(1).fork(2)))));
        CHECK_FALSE(same_bits(one, first));
    }
    const Transformer plain(small("notebook"), Rng(1));  // no dropout at all
    const Tokens src = padded(sentences({5, 2}, 1)), tgt = padded(sentences({3, 4}, 2));
    CHECK(same_bits(plain(src, tgt, Mode::eval()), plain(src, tgt, Mode::train(Rng(1)))));
}

TEST_CASE("transformer: each dropout has its own random stream", "[models]") {
    const Transformer m(small("paper"), Rng(1));
    std::vector<uint64_t> all = {m.src_embedding.dropout.stream, m.tgt_embedding.dropout.stream};
    for (const EncoderLayer& l : m.encoder.layers)
        all.insert(all.end(), {l.self_attention.dropout.stream, l.feed_forward.dropout.stream,
                               l.residual1.dropout.stream, l.residual2.dropout.stream});
    for (const DecoderLayer& l : m.decoder.layers)
        all.insert(all.end(), {l.self_attention.dropout.stream, l.cross_attention.dropout.stream,
                               l.feed_forward.dropout.stream, l.residual1.dropout.stream,
                               l.residual2.dropout.stream, l.residual3.dropout.stream});
    REQUIRE(all.size() == 2 + 2 * 4 + 2 * 6);
    std::sort(all.begin(), all.end());
    CHECK(std::adjacent_find(all.begin(), all.end()) == all.end());
}

TEST_CASE("transformer: layers and matrices have different initial values", "[models]") {
    const Transformer m(small("blog"), Rng(1));
    const std::vector<nn::NamedParameter> all = nn::parameters(m);
    for (std::size_t i = 0; i < all.size(); ++i)
        for (std::size_t j = 0; j < i; ++j)
            if (all[i].tensor.rank() == 2) {
                INFO(all[i].name << " and " << all[j].name);
                CHECK(all[i].tensor.data()[0] != all[j].tensor.data()[0]);
            }
}

TEST_CASE("transformer: batch 1, length 1, one head, no layers", "[models]") {
    for (const std::string& kind : kKinds) {
        INFO(kind);
        Config c = small(kind);
        for (const int64_t heads : {1, 12}) {
            c.block.n_heads = heads;
            const Transformer model(c, Rng(1));
            const Tensor logits = model(padded({{4}}), padded({{1}}), Mode::eval());
            CHECK(logits.shape() == Shape({1, 1, 11}));
            CHECK(same_bits(logits, logits));  // numbers
            const Tensor loss = teacher_forced_loss(model, padded({{4}}), framed({{5}}), Mode::train(Rng(2)));
            loss.backward();
            CHECK(loss.item() > 0);
        }
        c.n_layers = c.n_decoder_layers = 0;
        const Transformer empty(c, Rng(1));
        const Tensor logits = empty(padded({{4, 5}}), padded({{1}}), Mode::eval());
        CHECK(same_bits(logits, logits));
    }
}

// The last norm's output has variance 1, so the variance s² of the logits is d_model times that of the
// output's weights, and the first loss is about ln V + s²/2. (Also if the embeddings are these weights: only
// the input is scaled by √d_model.)
TEST_CASE("transformer: the first loss is near ln V, as the initial values imply", "[models]") {
    struct Row {
        const char* preset;
        nn::Init init;
        double variance;
    };
    const double v = 200, d = 64;
    for (const Row& r :
         {Row{"article", nn::Init::xavier, 2 * d / (d + v)}, Row{"blog", nn::Init::xavier, 2 * d / (d + v)},
          Row{"notebook", nn::Init::xavier, 2 * d / (d + v)}, Row{"article", nn::Init::pytorch, 1.0 / 3},
          Row{"article", nn::Init::normal, 1}, Row{"paper", nn::Init::xavier, 1},
          Row{"prenorm", nn::Init::xavier, 1}}) {
        Config c = preset(r.preset);
        c.src_vocabulary = c.vocabulary = static_cast<int64_t>(v);
        c.block.d_model = static_cast<int64_t>(d);
        c.block.n_heads = 4;
        c.block.d_ff = 128;
        c.n_layers = c.n_decoder_layers = 2;
        c.block.init = r.init;
        const Transformer model(c, Rng(3));
        const std::vector<int> lengths(16, 12);
        const Tensor loss = teacher_forced_loss(model, padded(sentences(lengths, 4, 200)),
                                                framed(sentences(lengths, 5, 200)), Mode::eval());
        INFO(r.preset);
        CHECK(static_cast<double>(loss.item()) == Approx(std::log(v) + r.variance / 2).margin(0.2));
    }
}

// `loss` is written apart from operator(): no mask may be in one of them alone.
TEST_CASE("transformer: the loss that trains is that of the logits", "[models]") {
    const Tokens src = padded(sentences({5, 2, 7}, 1)), tgt = framed(sentences({3, 6, 1}, 2));
    const Tokens read = tgt.slice(0, tgt.length() - 1), said = tgt.slice(1, tgt.length());
    const autograd::CrossEntropyOptions options = {.label_smoothing = Real(0.1)};
    const auto check = [&](const Tensor& loss, const Tensor& logits) {
        const Tensor expected = autograd::cross_entropy(logits, said, options);
        CHECK(static_cast<double>(loss.item()) == Approx(static_cast<double>(expected.item())).epsilon(1e-5));
    };
    for (const Mode& mode : {Mode::eval(), Mode::train(Rng(3))}) {
        for (const std::string& kind : kKinds) {
            INFO(kind);
            const Transformer model(small(kind), Rng(1));
            check(model.loss(src, read, said, mode, options), model(src, read, mode));
        }
        for (const std::string& kind : kStacks) {
            INFO("language model, " << kind);
            const LanguageModel model(small_stack(kind), Rng(1));
            check(model.loss(read, said, mode, options), model(read, mode));
        }
    }
}

TEST_CASE("models: padding is not part of the loss, whatever options are set", "[models]") {
    const Tokens src = padded(sentences({4, 2}, 1)), tgt = framed(sentences({5, 2}, 2));
    const Tokens read = tgt.slice(0, tgt.length() - 1), predicted = tgt.slice(1, tgt.length());
    const Tokens unpadded(predicted.batch(), predicted.length(), predicted.ids());
    const autograd::CrossEntropyOptions smoothed = {.label_smoothing = Real(0.1)};
    const autograd::CrossEntropyOptions named = {.ignore = kPad, .label_smoothing = Real(0.1)};
    const auto check = [&](const auto& loss) {
        CHECK(same_bits(loss(predicted, smoothed), loss(unpadded, named)));
        CHECK(!same_bits(loss(unpadded, smoothed), loss(unpadded, named)));
    };
    const Transformer transformer(small("paper"), Rng(1));
    check([&](const Tokens& targets, const autograd::CrossEntropyOptions& o) {
        return transformer.loss(src, read, targets, Mode::eval(), o);
    });
    const LanguageModel language(small_stack("gpt2"), Rng(1));
    check([&](const Tokens& targets, const autograd::CrossEntropyOptions& o) {
        return language.loss(read, targets, Mode::eval(), o);
    });
}

TEST_CASE("transformer: a sentence that is too long, an id that is too large", "[models]") {
    Config c = small("paper");
    c.max_length = 4;
    const Transformer model(c, Rng(1));
    const Tokens fits = padded(sentences({4, 2}, 1)), longer = padded(sentences({5, 2}, 1));
    CHECK(error_of([&] { model(fits, fits, Mode::eval()); }) == "");
    CHECK(contains(error_of([&] { model(longer, fits, Mode::eval()); }), "length of 4"));
    CHECK(contains(error_of([&] { model(fits, longer, Mode::eval()); }), "length of 4"));
    CHECK(contains(error_of([&] { model.encode(longer, Mode::eval()); }), "length of 4"));

    const Tokens wrong = padded({{4, 5}, {4, 11}});
    for (const std::string& error : {error_of([&] { model(wrong, fits, Mode::eval()); }),
                                     error_of([&] { model(fits, wrong, Mode::eval()); })}) {
        CHECK(contains(error, "id 11"));
        CHECK(contains(error, "row 1, position 1"));
        CHECK(contains(error, "vocabulary of 11"));
    }
    const Tensor logits = model(fits, padded({{4, 5}, {4, 5}}), Mode::eval());
    CHECK(contains(error_of([&] { autograd::cross_entropy(logits, wrong, {.ignore = kPad}); }), "11"));
    CHECK(error_of([&] { model(fits, padded({{4}}), Mode::eval()); }) != "");  // another batch
    CHECK(error_of([&] { model(Tokens(1, 3, {4, 0, 5}, 0), padded({{4}}), Mode::eval()); }) != "");
}
