#include "tests/trust/peers/models.h"

#include <cmath>

#include "models/pytorch.h"
#include "models/saved.h"
#include "nn/checkpoint/json.h"
#include "nn/checkpoint/safetensors.h"
#include "tests/draw_config.h"

namespace plaingrad::trust {

using namespace tests;  // NOLINT

namespace {

using autograd::Rng;
using autograd::Tokens;
using models::BlockConfig;
using models::Config;
using nn::Mode;
using nn::checkpoint::StateEntry;

// Half of all models are made of layers that torch.nn has: one kind of heads, biases everywhere or nowhere.
void fit_torch(BlockConfig& b) {
    b.gated = false;
    b.norm_kind = nn::NormKind::layer;
    b.n_kv_heads = b.head_dim = 0;
    b.d_model = b.n_heads * std::max<int64_t>(2, b.d_model / b.n_heads);
    if (b.positions == nn::Positions::rotary)
        b.positions = nn::Positions::learned;
    b.attention_out_bias = b.feed_forward_bias = b.norm_bias = b.attention_bias;
}

// PyTorch does not round factors to bfloat16 where we do, and drops other elements. A norm of few numbers
// divides by almost nothing, unless its eps is large: what comes out is mostly rounding, here and there.
Config comparable(Config config, bool for_torch) {
    BlockConfig& b = config.block;
    if (for_torch)
        fit_torch(b);
    if (b.d_model < 16)
        b.norm_eps = Real(1e-2);
    b.precision = models::Precision::float32;
    b.dropout = {.embeddings = 0, .sublayers = 0, .feed_forward = 0, .attention = 0};
    config.pooled_dropout = 0;
    return config;
}

// Biases begin at 0 and gains at 1, which would hide mistakes. Matrices move less: with large scores and
// logits there is little to see but rounding.
template <class Model>
void move_weights(const Model& model, const Rng& rng) {
    const std::vector<nn::NamedParameter> all = nn::parameters(model);
    for (std::size_t i = 0; i < all.size(); ++i) {
        Tensor x = all[i].tensor;
        const double range = x.rank() == 1 ? 0.4 : 0.5 / std::sqrt(static_cast<double>(x.size(0)));
        Dice draw(rng.fork(i));
        for (int64_t j = 0; j < x.numel(); ++j)
            x.mutable_data()[j] += static_cast<Real>(draw.uniform(-range, range));
    }
}

Tensor numbers_of(const Tokens& ids) {
    return Tensor::from({ids.batch(), ids.length()}, std::vector<Real>(ids.ids().begin(), ids.ids().end()));
}

// ---- the file

class File {
public:
    // What is said is JSON.
    File(const char* kind, const Config& config) {
        for (const auto& [name, value] : models::hugging_face::fields_of(config))
            metadata_["config." + name] = value;
        say("kind", kind);
    }
    template <class Value>
    void say(const std::string& name, const Value& value) {
        metadata_[name] = nn::checkpoint::JsonText(value).text;
    }
    void put(const std::string& name, const Tensor& x) { entries_.push_back({name, x.detach().clone()}); }
    void put_ids(const std::string& name, const Tokens& ids) {
        if (ids.batch() > 0)
            put("input/" + name, numbers_of(ids));
    }
    // In the layouts that PyTorch has: gradients go through the same map as weights.
    template <class Model>
    void put_all(const std::string& kind, const Model& model) {
        const bool gradients = kind == "gradient/";
        for (StateEntry entry : models::state_dict(model)) {
            const auto gradient = [](const Tensor& x) {
                return x.has_grad() ? x.grad() : Tensor::zeros(x.shape());
            };
            entry.tensor = gradients ? gradient(entry.tensor) : entry.tensor;
            for (Tensor& more : entry.beside)
                more = gradients ? gradient(more) : more;
            put(kind + entry.name, in_file_order(entry));
        }
    }
    void write(const std::string& path) const { nn::checkpoint::write(path, entries_, metadata_); }

private:
    nn::checkpoint::Metadata metadata_;
    std::vector<StateEntry> entries_;
};

nn::AdamOptions draw_adam(Dice& draw, File& file) {
    const nn::AdamOptions o = {.lr = draw.one_of<double>({1e-3, 1e-2}),
                               .beta1 = draw.one_of<double>({0.9, 0.8}),
                               .beta2 = draw.one_of<double>({0.999, 0.98}),
                               .eps = draw.one_of<double>({1e-8, 1e-4}),
                               .weight_decay = draw.one_of<double>({0, 0.1}),
                               .decoupled = draw.one_in(2)};
    for (const auto& [name, value] : {std::pair{"lr", o.lr},
                                      {"beta1", o.beta1},
                                      {"beta2", o.beta2},
                                      {"eps", o.eps},
                                      {"weight_decay", o.weight_decay}})
        file.say(name, value);
    file.say("decoupled", o.decoupled);
    return o;
}

template <class Model>
void train(const Model& model, const Example& data, const models::CrossEntropyOptions& options, Dice& draw,
           File& file) {
    nn::Adam adam(nn::parameters(model), draw_adam(draw, file));
    for (int step = 0; step < 4; ++step) {
        adam.zero_grad();
        const Tensor value = loss_of(model, data, Mode::eval(), options);
        file.put(autograd::join("loss/", step), value);
        value.backward();
        if (step == 0)
            file.put_all("gradient/", model);
        adam.step();
    }
    file.put_all("final/", model);
}

template <class Model>
void write_as(const char* kind, uint64_t seed, bool for_torch, const std::string& path) {
    Dice draw(Rng(seed).fork("peers"));
    const Model model(comparable(draw_config(draw, Model::kKind), for_torch), Rng(seed));
    move_weights(model, draw.fork());
    const Sentences s = draw_batch(model, seed, 0);
    Example data = example_of(model, s, Rng(s.size()));
    data.types = types_for(data.ids, model.config.token_types);
    const models::CrossEntropyOptions options = {.label_smoothing = draw.one_of<Real>({0, Real(0.125)})};
    File file(kind, model.config);
    file.say("label_smoothing", Model::kKind == models::Kind::masked ? Real(0) : options.label_smoothing);
    file.put_ids("src", data.src);
    file.put_ids("ids", data.ids);
    file.put_ids("targets", data.targets);
    file.put_ids("types", data.types);
    file.put_all("weight/", model);
    file.put("logits", logits_of(model, data, Mode::eval()));
    train(model, data, options, draw, file);
    file.write(path);
}

}  // namespace

void write_model(uint64_t seed, int64_t number, const std::string& path) {
    const bool for_torch = number / 4 % 2 == 0;
    const auto own = static_cast<uint64_t>(Rng(seed).bits(static_cast<uint64_t>(number)));
    switch (number % 4) {
        case 0:
            return write_as<models::Transformer>("translator", own, for_torch, path);
        case 1:
            return write_as<models::LanguageModel>("lm", own, for_torch, path);
        case 2:
            return write_as<models::MaskedLanguageModel>("mlm", own, for_torch, path);
        default:
            return write_as<models::Classifier>("classifier", own, for_torch, path);
    }
}

}  // namespace plaingrad::trust
