// Layers, losses, attention, today's decoder block, stacks, whole models and training agree with PyTorch.
#include "nn/attention.h"
#include "nn/embedding.h"
#include "nn/feed_forward.h"
#include "nn/norm.h"
#include "nn/optim.h"
#include "nn/schedule.h"
#include "tests/golden/golden.h"
#include "tests/golden/models.h"

using namespace plaingrad;  // NOLINT
using namespace nn;         // NOLINT
using namespace tests;      // NOLINT
using models::Config;
using models::NormPlacement;

namespace {

// ---- layers

Case function(Tensor (*f)(const Tensor&)) {
    return [=](const Golden& golden, Results& results) {
        const Tensor x = golden.input("x");
        results.output("y", f(x));
        results.input_gradient("x", x);
    };
}

Case cross_entropy(Real smoothing) {
    return [=](const Golden& golden, Results& results) {
        const Tensor x = golden.input("x");
        results.loss(autograd::cross_entropy(x, golden.ids("targets"), {.label_smoothing = smoothing}));
        results.input_gradient("x", x);
    };
}

Case clip(double limit) {
    return [=](const Golden& golden, Results& results) {
        std::vector<NamedParameter> parameters;
        for (const std::string name : {"a", "b"}) {
            const Tensor gradient = golden.tensor("input/" + name);
            const Tensor w = leaf(Tensor::zeros(gradient.shape()));
            w.backward(gradient);
            parameters.push_back({name, w});
        }
        const double norm = grad_norm(parameters);
        const Tensor scale(static_cast<Real>(clip_scale(norm, limit)));
        results.put("loss/norm", Tensor(static_cast<Real>(norm)));
        for (const NamedParameter& p : parameters)
            results.put("gradient/" + p.name, p.tensor.grad() * scale);
    };
}

const auto kApply = [](const auto& module, const Tensor& x) { return module(x); };
const auto kEvaluate = [](const auto& module, const Tensor& x) { return module(x, Mode::eval()); };

const Cases kLayers = {
    {"linear", layer(kApply, [] { return Linear(5, 7, Rng(1)); })},
    {"linear_no_bias", layer(kApply, [] { return Linear(5, 7, Rng(1), {.bias = false}); })},
    {"layer_norm_1e-5", layer(kApply, [] { return Norm(5); })},
    {"layer_norm_1e-12", layer(kApply, [] { return Norm(5, {.eps = Real(1e-12)}); })},
    {"feed_forward", layer(kEvaluate, [] { return FeedForward(5, 13, Rng(1)); })},
    {"gelu_erf", function([](const Tensor& x) { return autograd::gelu(x); })},
    {"gelu_tanh", function([](const Tensor& x) { return autograd::gelu_tanh(x); })},
    {"softmax", function([](const Tensor& x) { return autograd::softmax(x); })},
    {"log_softmax", function([](const Tensor& x) { return autograd::log_softmax(x); })},
    {"cross_entropy", cross_entropy(0)},
    {"cross_entropy_smoothed", cross_entropy(Real(0.1))},
    {"clip_below", clip(1000)},
    {"clip_above", clip(3)},
    {"embedding",
     [](const Golden& golden, Results& results) {
         const Embedding module(7, 5, Rng(1));
         golden.load(module);
         results.output("y", module(golden.ids("ids")));
         results.gradients(models::state_dict(module));
     }},
};

// ---- attention

// T = 5, S = 6 for cross-attention; of the keys 5 and 3 are real if there is padding.
Case self_attention(const Mask& mask, bool bias = true) {
    return [=](const Golden& golden, Results& results) {
        const MultiHeadAttention module(12, 3, Rng(1), {.bias = bias});
        golden.load(module);
        const Tensor x = golden.input("x");
        results.output("y", module(x, {mask, Mode::eval()}));
        results.input_gradient("x", x);
        results.gradients(models::state_dict(module));
    };
}
Case cross_attention(const Mask& mask) {
    return [=](const Golden& golden, Results& results) {
        const CrossAttention module(12, 3, Rng(1));
        golden.load(module);
        const Tensor x = golden.input("x"), memory = golden.input("memory");
        results.output("y", module(x, memory, {mask, Mode::eval()}));
        results.input_gradient("x", x);
        results.input_gradient("memory", memory);
        results.gradients(models::state_dict(module));
    };
}

const Cases kAttention = {
    {"self", self_attention(Mask::none())},
    {"self_padding", self_attention(Mask::key_counts({5, 3}))},
    {"self_causal", self_attention(Mask::causal())},
    {"self_causal_padding", self_attention(Mask::key_counts({5, 3}).and_causal())},
    {"self_no_bias", self_attention(Mask::none(), false)},
    {"cross", cross_attention(Mask::none())},
    {"cross_padding", cross_attention(Mask::key_counts({5, 3}))},
};

// ---- today's decoder block

template <bool bias>
FeedForward swiglu() {
    return FeedForward(5, 13, Rng(1), {.activation = Activation::silu, .gated = true, .bias = bias});
}
const RotaryOptions kLlama3 = {.scaling = RotaryScaling::llama3, .factor = 8, .original_length = 64};

// Two heads of 16, then 3 numbers that do not turn.
Case rotary(int64_t first, const RotaryOptions& options) {
    return [=](const Golden& golden, Results& results) {
        const Rotary module(first + 5, 16, options);
        const Tensor x = golden.input("x");
        results.output("y", module(x, 2, first));
        results.input_gradient("x", x);
    };
}

MultiHeadAttention grouped() { return MultiHeadAttention(12, 4, Rng(1), {.n_kv_heads = 2, .head_dim = 3}); }
MultiHeadAttention one() {
    return MultiHeadAttention(12, 3, Rng(1), {.n_kv_heads = 1, .head_dim = 5, .bias = false});
}
MultiHeadAttention turned() { return MultiHeadAttention(12, 4, Rng(1), {.n_kv_heads = 2, .head_dim = 6}); }
template <bool turns>
Tensor attend(const MultiHeadAttention& module, const Tensor& x) {
    const Rotary table(5, 6, kLlama3);
    const Pass pass = {.mask = Mask::key_counts({5, 3}).and_causal(),
                       .mode = Mode::eval(),
                       .rotary = turns ? &table : nullptr};
    return module(x, pass);
}

// A whole model: its logits, its loss, the gradients. family: whose names its weights have; "": torch.nn's.
template <class Model>
Case whole(const Config& config, const std::string& family = "") {
    return [=](const Golden& golden, Results& results) {
        const Model model(config, Rng(1));
        const bool translates = Model::kKind == models::Kind::encoder_decoder;
        if (family.empty())
            golden.load(model);
        else
            load_from_transformers(golden.write(Folder(), "weight/"), model, family);
        const Example e = {translates ? golden.ids("src") : Tokens(), golden.ids(translates ? "tgt" : "ids"),
                           golden.ids("targets")};
        const Tensor logits = logits_of(model, e, Mode::eval());
        results.put("output/logits", logits.rank() == 3 ? rows_of(logits, e.ids.lengths()) : logits);
        results.loss(autograd::cross_entropy(logits, e.targets,
                                             {.label_smoothing = translates ? Real(0.1) : Real(0)}));
        results.gradients(family.empty() ? models::state_dict(model)
                                         : state_dict_in_transformers(model, family));
    };
}

const Cases kBlocks = {
    {"rms_norm_1e-5", layer(kApply, [] { return Norm(5, {.kind = NormKind::rms}); })},
    {"rms_norm_1e-12", layer(kApply, [] { return Norm(5, {.kind = NormKind::rms, .eps = Real(1e-12)}); })},
    {"swiglu", layer(kEvaluate, swiglu<false>)},
    {"swiglu_bias", layer(kEvaluate, swiglu<true>)},
    {"rotary", rotary(0, {})},
    {"rotary_far", rotary(8000, {})},
    {"rotary_base", rotary(100, {.base = 500000})},
    {"rotary_linear", rotary(1000, {.scaling = RotaryScaling::linear, .factor = 4})},
    {"rotary_llama3", rotary(1000, kLlama3)},
    {"rotary_partial", rotary(100, {.width = 8})},
    {"grouped", layer(attend<false>, grouped)},
    {"grouped_one", layer(attend<false>, one)},
    {"grouped_rotary", layer(attend<true>, turned)},
    {"llama", whole<models::LanguageModel>(small_llama())},
};

// ---- stacks

const std::vector<int32_t> kSrcCounts = {6, 4}, kTgtCounts = {3, 5};  // as in make_golden.py

Config two_stacks(NormPlacement norm, nn::Activation activation, bool final_norm, int64_t n_layers = 2) {
    return {.vocabulary = 1,
            .n_layers = n_layers,
            .n_decoder_layers = n_layers,
            .final_norm = final_norm,
            .block = {.d_model = 12, .n_heads = 3, .d_ff = 20, .activation = activation, .norm = norm}};
}

// torch.nn.Transformer has neither embeddings nor output layer: encoder.layers.0..., decoder.norm.weight.
struct BothStacks {
    BothStacks(const Config& c, const Rng& rng) : encoder(c, rng), decoder(c, rng) {}
    void visit(Visitor& v) const {
        v("encoder", encoder);
        v("decoder", decoder);
    }
    models::Encoder encoder;
    models::Decoder decoder;
};

Tensor run(const models::Encoder& encoder, const Tensor& src, const Tensor&) {
    return rows_of(encoder(src, {Mask::key_counts(kSrcCounts), Mode::eval()}), kSrcCounts);
}
Tensor run(const models::Decoder& decoder, const Tensor& memory, const Tensor& tgt) {
    const Pass self = {Mask::key_counts(kTgtCounts).and_causal(), Mode::eval()};
    const Pass cross = {Mask::key_counts(kSrcCounts), Mode::eval()};
    return rows_of(decoder(tgt, memory, self, cross), kTgtCounts);
}
Tensor run(const BothStacks& both, const Tensor& src, const Tensor& tgt) {
    const Tensor memory = both.encoder(src, {Mask::key_counts(kSrcCounts), Mode::eval()});
    return run(both.decoder, memory, tgt);
}

template <class Module>
Case stack(const Config& config) {
    return [=](const Golden& golden, Results& results) {
        const Module module(config, Rng(1));
        golden.load(module);
        const bool decodes = !std::is_same_v<Module, models::Encoder>;
        const Tensor src = golden.input("src"), tgt = decodes ? golden.input("tgt") : Tensor();
        results.output("y", run(module, src, tgt));
        results.input_gradient("src", src);
        if (decodes)
            results.input_gradient("tgt", tgt);
        results.gradients(models::state_dict(module));
    };
}

constexpr auto kPost = NormPlacement::post, kPre = NormPlacement::pre;
constexpr auto kRelu = nn::Activation::relu, kGelu = nn::Activation::gelu;

const Cases kTwoStacks = {
    {"encoder_post_relu", stack<models::Encoder>(two_stacks(kPost, kRelu, false))},
    {"encoder_post_gelu_norm", stack<models::Encoder>(two_stacks(kPost, kGelu, true))},
    {"encoder_pre_relu_norm", stack<models::Encoder>(two_stacks(kPre, kRelu, true))},
    {"encoder_pre_gelu", stack<models::Encoder>(two_stacks(kPre, kGelu, false))},
    {"decoder_post_relu", stack<models::Decoder>(two_stacks(kPost, kRelu, false))},
    {"decoder_pre_gelu_norm", stack<models::Decoder>(two_stacks(kPre, kGelu, true))},
    {"transformer_post", stack<BothStacks>(two_stacks(kPost, kRelu, true, 1))},
    {"transformer_pre", stack<BothStacks>(two_stacks(kPre, kRelu, true, 1))},
};

// ---- models

const Cases kModels = {
    {"translator_tied", whole<models::Transformer>(small_tied())},
    {"translator", whole<models::Transformer>(small_prenorm())},
    {"language_model", whole<models::LanguageModel>(small_language_model())},
    {"gpt2", whole<models::LanguageModel>(small_gpt2(), "gpt2")},
    {"bert", whole<models::MaskedLanguageModel>(small_bert(), "bert")},
    {"classifier_mean", whole<models::Classifier>(small_classifier(models::Pooling::mean))},
    {"classifier_first", whole<models::Classifier>(small_classifier(models::Pooling::first))},
};

// ---- training

Case training(const AdamOptions& options) {
    return [=](const Golden& golden, Results& results) {
        Config config = sized(small_language_model(), {11, 9, 8, 2, 12, 1});
        config.tied = true;
        const models::LanguageModel model(config, Rng(1));
        golden.load(model);
        Adam adam(parameters(model), options);
        std::vector<Real> losses;
        for (int step = 0; step < 10; ++step) {
            adam.zero_grad();
            const Tensor loss =
                autograd::cross_entropy(model(golden.ids("ids"), Mode::eval()), golden.ids("targets"));
            losses.push_back(loss.item());
            loss.backward();
            adam.step();
        }
        results.put("loss/losses", Tensor::from({10}, losses));
        for (const checkpoint::StateEntry& entry : models::state_dict(model)) {
            Tensor values = checkpoint::in_file_order(entry).clone();
            if (contains(entry.name, "in_proj_bias"))  // the keys' part has no gradient but rounding
                std::fill_n(values.mutable_data() + 8, 8, Real(0));
            results.put("final/" + entry.name, values);
        }
    };
}

template <class Schedule>
Case rates(const Schedule& schedule) {
    return [=](const Golden&, Results& results) {
        std::vector<Real> values;
        for (int64_t step = 1; step <= 40; ++step)
            values.push_back(static_cast<Real>(schedule(step)));
        results.put("loss/rates", Tensor::from({40}, values));
    };
}

const Cases kTraining = {
    {"adam", training({.lr = 1e-2, .beta1 = 0.9, .beta2 = 0.98, .eps = 1e-9})},
    {"adam_decay", training({.lr = 1e-2, .beta1 = 0.9, .beta2 = 0.98, .eps = 1e-8, .weight_decay = 0.01})},
    {"adamw",
     training(
         {.lr = 1e-2, .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .weight_decay = 0.1, .decoupled = true})},
    {"inverse_sqrt", rates(WarmupInverseSqrt{.d_model = 64, .warmup = 10, .factor = 2})},
    {"cosine", rates(CosineSchedule{.lr = 3e-4, .total = 30, .warmup = 5, .lr_end = 3e-5})},
};

}  // namespace

TEST_CASE("PyTorch agrees: layers and losses", "[golden]") {
    check_agreement("layers", kLayers);
    check_agreement("attention", kAttention);
    check_agreement("blocks", kBlocks);
}
TEST_CASE("PyTorch agrees: stacks, models, ten steps of Adam, schedules", "[golden]") {
    check_agreement("stacks", kTwoStacks);
    check_agreement("models", kModels);
    check_agreement("training", kTraining);
}
// A number just beyond what is allowed, a NaN, and a tensor that is not computed.
TEST_CASE("PyTorch agrees: a difference from a golden file is noticed", "[golden]") {
    const Golden golden = read_golden("layers").at("linear");
    Results results(golden);
    kLayers.at("linear")(golden, results);
    CHECK(differences(golden, results.all()).empty());
    for (const auto& [name, x] : golden.tensors) {
        if (!is_reference(name))
            continue;
        INFO(name);
        const auto beyond = static_cast<Real>(3 * allowed(name, x, 1));
        for (const Real fault : {beyond, -beyond, kNan}) {
            std::map<std::string, Tensor> wrong = results.all();
            wrong.at(name) = wrong.at(name).clone();
            wrong.at(name).mutable_data()[1] += fault;
            CHECK(differences(golden, wrong).size() == 1);
        }
        std::map<std::string, Tensor> less = results.all();
        less.erase(name);
        CHECK(differences(golden, less).size() == 1);
    }
}
