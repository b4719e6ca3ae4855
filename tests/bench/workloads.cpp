#include "tests/bench/workloads.h"

#include "autograd/base/check.h"
#include "autograd/base/random.h"
#include "models/batch.h"
#include "models/families/one_stack.h"
#include "models/families/transformer.h"
#include "models/presets.h"

namespace plaingrad::bench {

using autograd::Rng;
using autograd::Tensor;
using autograd::Tokens;
using models::kFirstFreeId;
using models::kSos;
using nn::Mode;
using nn::Real;
using nn::StepPart;

namespace {

constexpr double kRate = 1e-4;  // of learning

// All rows have the same length, so the rows of a part are the same in each matrix of a batch.
Tokens part(const Tokens& batch, const StepPart& at) {
    const std::vector<int32_t> lengths(static_cast<std::size_t>(batch.batch()),
                                       static_cast<int32_t>(batch.length()));
    return at.parts == 1 ? batch : models::part_of(batch, lengths, at);
}
nn::StepLoss loss_of(const Tensor& mean, const Tokens& targets) {
    return {mean, targets.batch() * targets.length()};
}

// Radford et al. 2019, table 2, first row.
Workload gpt2_workload(std::string_view name, int64_t length) {
    return {.name = name,
            .family = Family::decoder,
            .batch = 4,
            .length = length,
            .vocabulary = 50'257,
            .d_model = 768,
            .n_heads = 12,
            .d_ff = 3072,
            .n_layers = 12,
            .activation = nn::Activation::gelu_tanh,
            .by_name = true};
}

}  // namespace

const std::vector<Workload>& workloads() {
    static const std::vector<Workload> all = {
        // apps/reverse_task and apps/toy_translate
        {"reverse", Family::encoder_decoder, 64, 10, 20, 64, 4, 128, 2, 0.1},
        {"toy", Family::encoder_decoder, 5, 4, 20, 128, 4, 256, 2, 0.1},
        // German to English on Multi30k, with one vocabulary for both
        {"multi30k", Family::encoder_decoder, 256, 16, 10'000, 128, 4, 256, 4, 0.3, 0.1, true},
        // nanoGPT's two recipes for Shakespeare by characters; the larger with a batch for a CPU
        {"char_small", Family::decoder, 12, 64, 65, 128, 4, 512, 4},
        {"char", Family::decoder, 8, 256, 65, 384, 6, 1536, 6},
        {.name = "classifier",
         .family = Family::classifier,
         .batch = 32,
         .length = 128,
         .vocabulary = 8000,
         .d_model = 256,
         .n_heads = 4,
         .d_ff = 1024,
         .n_layers = 4,
         .dropout = 0.1,
         .classes = 6},
        // "Attention Is All You Need", Table 3
        {"paper_base", Family::encoder_decoder, 64, 100, 5000, 512, 8, 2048, 6, 0.1},
        // GPT-2's smallest model, 124 million parameters, with short and with longer texts
        gpt2_workload("gpt2_64", 64),
        gpt2_workload("gpt2_512", 512),
        // the larger recipe for Shakespeare, with one long text
        {.name = "char_4096",
         .family = Family::decoder,
         .batch = 1,
         .length = 4096,
         .vocabulary = 65,
         .d_model = 384,
         .n_heads = 6,
         .d_ff = 1536,
         .n_layers = 6,
         .by_name = true},
    };
    return all;
}

std::vector<std::string> workload_names() {
    std::vector<std::string> names;
    for (const Workload& w : workloads())
        names.emplace_back(w.name);
    return names;
}

const Workload& workload(std::string_view name) {
    std::string names;
    for (const Workload& w : workloads()) {
        if (w.name == name)
            return w;
        names.append(names.empty() ? "" : ", ").append(w.name);
    }
    throw autograd::Error(autograd::join("[workload] there is no workload '", name, "'; there are ", names));
}

// A product (M, K) @ (K, N) is M K N multiplications and as many additions. The products of the linear layers
// count and, for attention, all pairs of positions, masked or not. Backward has two products for each: dout
// with either operand.
double Workload::flops() const {
    const auto d = static_cast<double>(d_model), t = static_cast<double>(length);
    const auto positions = static_cast<double>(tokens()), layers = static_cast<double>(n_layers);
    const double attention = 4 * d * d + 2 * t * d;  // q, k, v, output; scores and weighted sum
    const double feed_forward = 2 * d * static_cast<double>(d_ff);
    const double layer = attention + feed_forward;
    const double output = d * static_cast<double>(vocabulary);
    double forward = 0;  // multiplications for each position
    switch (family) {
        case Family::encoder_decoder:
            forward = layers * (layer + layer + attention) + output;
            break;
        case Family::decoder:
            forward = layers * layer + output;
            break;
        case Family::classifier:
            forward = layers * layer + d * static_cast<double>(classes) / t;
            break;
    }
    return 3 * 2 * positions * forward;
}

std::vector<int32_t> random_ids(int64_t count, int64_t vocabulary, std::string_view name) {
    const Rng rng = Rng(1).fork(name);
    std::vector<int32_t> ids;
    for (int64_t i = 0; i < count; ++i)
        ids.push_back(kFirstFreeId +
                      static_cast<int32_t>(rng.below(static_cast<uint64_t>(i), vocabulary - kFirstFreeId)));
    return ids;
}

models::Config transformer_config(const Workload& w) {
    const auto dropout = static_cast<Real>(w.dropout);
    return {.src_vocabulary = w.vocabulary,
            .vocabulary = w.vocabulary,
            .max_length = std::max<int64_t>(w.length, 64),
            .n_layers = w.n_layers,
            .n_decoder_layers = w.n_layers,
            .embeddings_tied = w.tied,
            .tied = w.tied,
            .block = {.d_model = w.d_model,
                      .n_heads = w.n_heads,
                      .d_ff = w.d_ff,
                      .dropout = {.embeddings = dropout, .sublayers = dropout}}};
}

models::Config stack_config(const Workload& w) {
    models::Config config;
    if (w.family == Family::decoder) {
        config = models::gpt2();
        config.specials = {};
        config.block.activation = w.activation;
        config.tied = true;
    }
    config.vocabulary = w.vocabulary;
    config.max_length = w.length;
    config.block.d_model = w.d_model;
    config.block.n_heads = w.n_heads;
    config.block.d_ff = w.d_ff;
    config.n_layers = w.n_layers;
    const auto dropout = static_cast<Real>(w.dropout);
    config.block.dropout = {.embeddings = dropout, .sublayers = dropout};
    return config;
}

Training::Training(const Workload& w, autograd::Precision precision) {
    const auto ids = [&](std::string_view name) {
        return Tokens(w.batch, w.length, random_ids(w.tokens(), w.vocabulary, name), models::kPad);
    };
    const autograd::CrossEntropyOptions options = {.label_smoothing = static_cast<Real>(w.label_smoothing)};
    std::vector<nn::NamedParameter> parameters;
    const auto keep = [&](auto model) {
        parameters = nn::parameters(*model);
        model_ = model;
        return model.get();
    };
    switch (w.family) {
        case Family::encoder_decoder: {
            models::Config config = transformer_config(w);
            config.block.precision = precision;
            const auto* model = keep(std::make_shared<models::Transformer>(config, Rng(1)));
            loss_ = [=, src = ids("src"), tgt = ids("tgt"), next = ids("next")](const StepPart& at,
                                                                                const Mode& mode) {
                const Tokens targets = part(next, at);
                return loss_of(model->loss(part(src, at), part(tgt, at), targets, mode, options), targets);
            };
            break;
        }
        case Family::decoder: {
            models::Config config = stack_config(w);
            config.block.precision = precision;
            const auto* model = keep(std::make_shared<models::LanguageModel>(config, Rng(1)));
            loss_ = [=, text = ids("text"), next = ids("next")](const StepPart& at, const Mode& mode) {
                const Tokens targets = part(next, at);
                return loss_of(model->loss(part(text, at), targets, mode, options), targets);
            };
            break;
        }
        case Family::classifier: {
            models::Config config = models::with_classes(stack_config(w), w.classes);
            config.block.precision = precision;
            const auto* model = keep(std::make_shared<models::Classifier>(config, Rng(1)));
            std::vector<int32_t> classes = random_ids(w.batch, w.classes + kFirstFreeId, "classes");
            for (int32_t& c : classes)
                c -= kFirstFreeId;
            loss_ = [=, text = ids("text"), all = Tokens(w.batch, 1, classes)](const StepPart& at,
                                                                               const Mode& mode) {
                const Tokens labels = part(all, at);
                return loss_of(cross_entropy((*model)(part(text, at), mode), labels), labels);
            };
            break;
        }
    }
    adam_ = std::make_unique<nn::Adam>(parameters, nn::AdamOptions{.lr = kRate});
}

Real Training::step() {
    adam_->zero_grad();
    const Tensor loss = loss_({}, Mode::train(Rng(1).fork(++steps_))).loss;
    loss.backward();
    adam_->step(kRate, nn::clip_scale(nn::grad_norm(adam_->parameters()), 1));
    return loss.item();
}

Real Training::step(const tests::InParts& parallel) {
    ++steps_;
    const nn::StepGradient now =
        tests::backward(parallel, static_cast<int64_t>(steps_), Rng(1).fork(steps_), loss_);
    adam_->step(kRate, now.scale * nn::clip_scale(now.norm, 1));
    return static_cast<Real>(now.loss);
}

uint64_t Training::hash_of_weights() const {
    autograd::Hash hash;
    for (const nn::NamedParameter& p : adam_->parameters())
        hash.add(std::string_view(reinterpret_cast<const char*>(p.tensor.data()),
                                  static_cast<std::size_t>(p.tensor.numel()) * sizeof(autograd::Real)));
    return hash.value;
}

}  // namespace plaingrad::bench
