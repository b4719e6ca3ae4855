#include "tests/bench/workloads.h"

#include <algorithm>

#include "autograd/base/check.h"
#include "autograd/base/random.h"
#include "models/families/one_stack.h"
#include "models/families/transformer.h"
#include "models/presets.h"

namespace plaingrad::bench {

using autograd::Rng;
using autograd::Tokens;
using models::kFirstFreeId;
using nn::Mode;
using nn::Real;

namespace {

constexpr double kRate = 1e-4;  // of learning
constexpr nn::Activation kTanh = nn::Activation::gelu_tanh;

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
        {"classifier", Family::classifier, 32, 128, 8000, 256, 4, 1024, 4, 0.1, 0, false, 6},
        // "Attention Is All You Need", Table 3
        {"paper_base", Family::encoder_decoder, 64, 100, 5000, 512, 8, 2048, 6, 0.1},
        // GPT-2's smallest model, 124 million parameters (Radford et al. 2019, table 2), with short
        // and with longer texts
        {"gpt2_64", Family::decoder, 4, 64, 50'257, 768, 12, 3072, 12, 0, 0, false, 0, true, kTanh},
        {"gpt2_512", Family::decoder, 4, 512, 50'257, 768, 12, 3072, 12, 0, 0, false, 0, true, kTanh},
        // the larger recipe for Shakespeare, with one long text
        {"char_4096", Family::decoder, 1, 4096, 65, 384, 6, 1536, 6, 0, 0, false, 0, true},
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
    const auto found = std::find_if(workloads().begin(), workloads().end(),
                                    [&](const Workload& w) { return w.name == name; });
    autograd::check(found != workloads().end(), "[workload] there is no workload '", name, "'");
    return *found;
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
    // Multiplications for each position.
    const double forward = family == Family::encoder_decoder ? layers * (layer + layer + attention) + output
                           : family == Family::decoder
                               ? layers * layer + output
                               : layers * layer + d * static_cast<double>(classes) / t;
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

models::Config config_of(const Workload& w) {
    models::Config config;
    if (w.family == Family::decoder) {
        config = models::gpt2();
        config.specials = {};
        config.block.activation = w.activation;
        config.tied = true;
    }
    config.vocabulary = w.vocabulary;
    config.max_length = w.length;
    config.n_layers = w.n_layers;
    config.block.d_model = w.d_model;
    config.block.n_heads = w.n_heads;
    config.block.d_ff = w.d_ff;
    const auto dropout = static_cast<Real>(w.dropout);
    config.block.dropout = {.embeddings = dropout, .sublayers = dropout};
    if (w.family == Family::encoder_decoder) {
        config.src_vocabulary = w.vocabulary;
        config.max_length = std::max<int64_t>(w.length, 64);  // also for decoding
        config.n_decoder_layers = w.n_layers;
        config.embeddings_tied = config.tied = w.tied;
    }
    return w.classes > 0 ? models::with_classes(config, w.classes) : config;
}

Training::Training(const Workload& w, autograd::Precision precision) {
    const auto ids = [&](std::string_view name) {
        return Tokens(w.batch, w.length, random_ids(w.tokens(), w.vocabulary, name), models::kPad);
    };
    const autograd::CrossEntropyOptions options = {.label_smoothing = static_cast<Real>(w.label_smoothing)};
    models::Config config = config_of(w);
    config.block.precision = precision;
    const Tokens text = ids("text"), more = ids("more"), next = ids("next");
    const auto train = [&](const auto& model, const auto& loss) {
        adam_ = std::make_unique<nn::Adam>(nn::parameters(*model), nn::AdamOptions{.lr = kRate});
        loss_ = loss;
    };
    if (w.family == Family::encoder_decoder) {
        const auto model = std::make_shared<models::Transformer>(config, Rng(1));
        train(model, [=](const Mode& mode) { return model->loss(text, more, next, mode, options); });
    } else if (w.family == Family::decoder) {
        const auto model = std::make_shared<models::LanguageModel>(config, Rng(1));
        train(model, [=](const Mode& mode) { return model->loss(text, next, mode, options); });
    } else {
        const auto model = std::make_shared<models::Classifier>(config, Rng(1));
        std::vector<int32_t> classes;
        for (int64_t i = 0; i < w.batch; ++i)
            classes.push_back(static_cast<int32_t>(i % w.classes));
        const Tokens labels(w.batch, 1, classes);
        train(model, [=](const Mode& mode) { return cross_entropy((*model)(text, mode), labels); });
    }
}

void Training::step() {
    adam_->zero_grad();
    loss_(Mode::train(Rng(1).fork(++steps_))).backward();
    adam_->step(kRate, nn::clip_scale(nn::grad_norm(adam_->parameters()), 1));
}

}  // namespace plaingrad::bench
