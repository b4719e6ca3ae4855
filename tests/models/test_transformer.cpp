// Models of every kind: evaluation and training, initial values, losses, odd sizes, and errors.
#include <cmath>

#include "tests/catch.h"
#include "tests/models/small.h"

using namespace plaingrad;  // NOLINT
using namespace models;     // NOLINT
using namespace tests;      // NOLINT

using autograd::Tokens;

namespace {

const Mode kEval = Mode::eval();

}  // namespace

TEST_CASE("models: two evaluations are identical, as are those of a clone; two training steps are not",
          "[models]") {
    for_each_model([](const std::string& name, const auto& model) {
        INFO(name);
        const Example e = {padded(sentences({5, 2}, 1)), padded(sentences({3, 4}, 2))};
        const auto logits = [&](const Mode& mode) { return logits_of(model, e, mode); };
        const Tensor first = logits(kEval), one = logits(Mode::train(Rng(1)));
        CHECK(same_bits(first, logits(kEval)));
        CHECK(same_bits(one, logits(Mode::train(Rng(1)))));
        const DropoutRates& p = model.config.block.dropout;
        const bool drops = p.embeddings + p.sublayers + p.feed_forward + p.attention > 0;
        CHECK(same_bits(one, first) == !drops);
        CHECK(same_bits(one, logits(Mode::train(Rng(2)))) == !drops);
        const auto copy = nn::clone(model);
        CHECK(same_bits(logits_of(copy, e, kEval), first));
        stir(model, 8);
        CHECK(same_bits(logits_of(copy, e, kEval), first));
        CHECK_FALSE(same_bits(logits(kEval), first));
    });
}

TEST_CASE("classifier: dropout is applied before the output", "[models][classifier]") {
    Config c = with_classes(small_stack("bert"), 3, Pooling::mean, Real(0.5));
    c.block.dropout = {.embeddings = 0, .sublayers = 0};
    const Classifier model(c, Rng(1));
    const Tokens ids = padded(sentences({6, 3}, 4));
    CHECK_FALSE(same_bits(model(ids, Mode::train(Rng(1))), model(ids, kEval)));
}

// ---- Initial values

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

TEST_CASE("language model: GPT-2 begins with the published initial values", "[models][lm][init]") {
    Config c = sized(gpt2(), {300, 64, 64, 4, 256, 8});
    c.specials = {};  // and none of its 50257 ids
    const LanguageModel model(c, Rng(3));
    for (const nn::NamedParameter& p : nn::parameters(model)) {
        INFO(p.name);
        double square = 0;
        for (const double x : doubles(p.tensor))
            square += x * x;
        const double n = static_cast<double>(p.tensor.numel()), deviation = std::sqrt(square / n);
        if (p.tensor.rank() == 1) {
            CHECK(same_bits(p.tensor, Tensor::full(p.tensor.shape(), contains(p.name, "gain") ? 1 : 0)));
        } else {
            const bool residual = contains(p.name, "out_proj") || contains(p.name, "linear2");
            CHECK(deviation == Approx(residual ? 0.005 : 0.02).epsilon(5 / std::sqrt(2 * n)));  // 0.02 / √16
        }
    }
}

// ---- Losses

// `loss` is written apart from operator(): no mask may be in one of them alone.
TEST_CASE("transformer: the loss that trains is that of the logits", "[models]") {
    for_each_model([](const std::string& name, const auto& model) {
        const std::vector<nn::NamedParameter> parameters = nn::parameters(model);
        const Example e = example_of(model, sentences({5, 2, 7}, 1), Rng(3));
        const Real smoothing = model.kKind == Kind::masked ? Real(0) : Real(0.1);
        for (const Mode& mode : {kEval, Mode::train(Rng(3))}) {
            INFO(name);
            const Tensor whole =
                autograd::cross_entropy(logits_of(model, e, mode), e.targets, {.label_smoothing = smoothing});
            whole.backward();
            const std::vector<Real> wanted = take_gradients(parameters);
            const Tensor loss = loss_of(model, e, mode, {.label_smoothing = smoothing});
            loss.backward();
            CHECK(worst_error(loss, whole) < 1e-5);
            CHECK(worst_error(take_gradients(parameters), wanted) < 1e-5);
        }
    });
    const MaskedLanguageModel m(small_stack("bert"), Rng(1));
    const Tokens ids = padded({{4, 5, 6}, {7}});
    CHECK(contains(error_of([&] { m.loss(ids, ids.slice(0, 2), kEval); }),
                   "each of the 2 x 3 ids needs a target, or padding: got 2 x 2"));
    CHECK(contains(error_of([&] { m.logits_at(ids, {6}, kEval); }), "6"));
}

TEST_CASE("models: padding is not part of the loss, whatever options are set", "[models]") {
    const autograd::CrossEntropyOptions smoothed = {.label_smoothing = Real(0.1)},
                                        named = {.ignore = kPad, .label_smoothing = Real(0.1)};
    const auto check = [&](const auto& model) {
        const Example e = example_of(model, sentences({5, 2}, 2));
        Example unpadded = e;
        unpadded.targets = Tokens(e.targets.batch(), e.targets.length(), e.targets.ids());
        const Tensor loss = loss_of(model, e, kEval, smoothed);
        CHECK(same_bits(loss, loss_of(model, unpadded, kEval, named)));
        CHECK(!same_bits(loss, loss_of(model, unpadded, kEval, smoothed)));
    };
    check(Transformer(small("paper"), Rng(1)));
    check(LanguageModel(small_stack("gpt2"), Rng(1)));
}

// ---- Odd sizes, and errors

TEST_CASE("models: batch 1, length 1, one head or heads of one number, no layers, no sentence", "[models]") {
    for (const int64_t heads : {1, 12})
        for (const int64_t layers : {0, 1})
            for_each_model(
                [](const std::string& name, const auto& model) {
                    INFO(name);
                    const Example one = example_of(model, {{4}}, Rng(6));
                    const Tensor logits = logits_of(model, {padded({{4}}), padded({{4}})}, kEval);
                    CHECK(logits.numel() == (model.kKind == Kind::classifier ? 3 : 11));
                    CHECK(same_bits(logits, logits));  // numbers
                    if (one.targets.count("test", 11, kPad) > 0) {
                        const Tensor loss = loss_of(model, one, Mode::train(Rng(2)));
                        loss.backward();
                        CHECK(loss.item() > 0);
                    }
                    if constexpr (requires { model.backbone; })
                        CHECK(logits_of(model, {{}, Tokens(0, 2, {})}, kEval).size(0) == 0);
                },
                [&](Config& c) {
                    c.max_length = 2;
                    c.n_layers = c.n_decoder_layers = layers;
                    if (c.block.positions != nn::Positions::rotary)
                        c.block.n_heads = heads;
                });
}

TEST_CASE("models: a text that is too long or empty, an id that is too large, padding within", "[models]") {
    for_each_model(
        [](const std::string& name, const auto& model) {
            INFO(name);
            const Tokens fits = padded(sentences({4, 2}, 1)), wrong = padded({{4, 5}, {4, 11}});
            const auto error = [&](const Tokens& src, const Tokens& ids) {
                return error_of([&] { logits_of(model, {src, ids}, kEval); });
            };
            CHECK(error(fits, fits) == "");
            const auto refused = [&](const Tokens& src, const Tokens& ids, const std::string& part) {
                const std::string found = error(src, ids);
                INFO(found);
                CHECK((found != "" && contains(found, part)));
            };
            const auto check_text = [&](const auto& refused_as) {
                refused_as(padded(sentences({5, 2}, 1)), "length of 4");
                refused_as(wrong, "id 11");
                refused_as(wrong, "row 1, position 1");
                refused_as(wrong, "vocabulary of 11");
                refused_as(Tokens(2, 3, {4, 0, 5, 4, 5, 6}, 0), "");
            };
            check_text([&](const Tokens& ids, const std::string& part) { refused(fits, ids, part); });
            const std::string empty = "sequence 1 of the batch is empty";
            if constexpr (requires { model.src_embedding; }) {
                check_text([&](const Tokens& src, const std::string& part) { refused(src, fits, part); });
                refused(fits, padded({{4}}), "");  // another batch
                refused(padded({{4}, {}}), fits, empty);
                const Example e = {padded({{4}, {}}), fits, fits};
                CHECK(contains(error_of([&] { loss_of(model, e, kEval); }), empty));
                CHECK(contains(error_of([&] { model.encode(e.src, kEval); }), empty));
                CHECK(contains(error_of([&] { model.start(e.src); }), empty));
            } else if (model.kKind != Kind::causal) {
                refused({}, padded({{4}, {}}), empty);
                refused({}, Tokens(2, 0, {}), "sequence 0 of the batch is empty");
            }
        },
        [](Config& c) { c.max_length = 4; });
}
