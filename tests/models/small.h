// What the tests of models share: each preset at a size that runs in milliseconds, and data for it.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "models/families/one_stack.h"
#include "models/families/transformer.h"
#include "models/presets.h"
#include "models/pytorch.h"
#include "models/text/training_data.h"
#include "nn/optim.h"
#include "tests/autograd/values.h"

namespace plaingrad::tests {

using Ids = std::vector<int32_t>;
using Sentences = std::vector<Ids>;

// A configuration's properties at other sizes. Both vocabularies, and both stacks of a translator, are equal.
struct Size {
    int64_t vocabulary = 11, max_length = 50, d_model = 12, n_heads = 3, d_ff = 20, layers = 2;
};
inline models::Config sized(models::Config c, const Size& s) {
    if (c.kind == models::Kind::encoder_decoder)
        c.src_vocabulary = s.vocabulary, c.n_decoder_layers = s.layers;
    c.vocabulary = s.vocabulary, c.max_length = s.max_length, c.n_layers = s.layers;
    c.block.d_model = s.d_model, c.block.n_heads = s.n_heads, c.block.d_ff = s.d_ff;
    return c;
}

// A preset's properties at a small size: no size is a multiple of 16, heads are 4 wide.
inline models::Config small(std::string_view preset, int64_t vocabulary = 11) {
    return sized(models::preset(preset), {.vocabulary = vocabulary});
}

// Post-norm and tied, learned positions, pre-norm, without biases, embeddings shared but the output not.
inline const std::vector<std::string> kKinds = {"paper", "blog", "prenorm", "chapter", "notebook"};

// How many parameters a model has, by formula.
inline int64_t expected_parameter_count(const models::Config& c) {
    const models::BlockConfig& b = c.block;
    const int64_t d = b.d_model, heads = b.n_heads * head_size(b),
                  kv_heads = 2 * (b.n_kv_heads > 0 ? b.n_kv_heads : b.n_heads) * head_size(b),
                  hidden = (b.gated ? 2 : 1) * b.d_ff;
    const int64_t attention = (2 * heads + kv_heads) * d +
                              (b.attention_bias ? heads + kv_heads + (b.attention_out_bias ? d : 0) : 0);
    const int64_t feed_forward = (hidden + b.d_ff) * d + (b.feed_forward_bias ? hidden + d : 0);
    const int64_t norm = (b.norm_bias && b.norm_kind == nn::NormKind::layer ? 2 : 1) * d;
    const int64_t positions = b.positions == nn::Positions::learned ? c.max_length * d : 0;
    const int64_t one_stack = (c.vocabulary + c.token_types) * d + positions +
                              (c.embedding_norm + c.final_norm) * norm +
                              c.n_layers * (attention + feed_forward + 2 * norm);
    const int64_t output = (c.tied ? 0 : c.vocabulary * d) + (b.output_bias ? c.vocabulary : 0);
    const int64_t square = d * d + d;
    switch (c.kind) {
        case models::Kind::encoder_decoder:
            return one_stack + output + positions + (c.embeddings_tied ? 0 : c.src_vocabulary * d) +
                   c.final_norm * norm + c.n_decoder_layers * (2 * attention + feed_forward + 3 * norm);
        case models::Kind::masked:
            return one_stack + output + square + norm;
        case models::Kind::classifier:
            return one_stack + (c.pooling == models::Pooling::pooler ? square : 0) + c.classes * (d + 1);
        default:
            return one_stack + output;
    }
}

// The same for the models with one stack: as in GPT, in BERT, in the paper and in Llama; two that change what
// the first three have in common; and the paper's with one part of Llama's each.
inline models::Config small_stack(std::string_view kind, int64_t vocabulary = 11) {
    using enum models::NormPlacement;
    models::Config c;      // "paper": post-norm, sinusoids, scaled, ReLU, an output layer of its own
    if (kind == "gpt2") {  // pre-norm, final norm, learned positions, tanh GELU, tied, output without bias
        c = models::gpt2();
    } else if (kind == "bert") {  // post-norm, a norm after the embedding, learned positions, erf GELU, tied
        c = models::bert();
    } else if (kind == "bare") {  // pre-norm without a final norm, and not one bias
        c = {.block = {.activation = nn::Activation::gelu, .norm = pre, .init = nn::Init::normal}};
        c.block.attention_bias = c.block.feed_forward_bias = c.block.norm_bias = c.block.output_bias = false;
    } else if (kind == "mixed") {  // every norm that there is, tied, scaled, learned positions, few biases
        c = {.final_norm = true,
             .embedding_norm = true,
             .tied = true,
             .block = {.positions = nn::Positions::learned}};
        c.block.attention_bias = c.block.norm_bias = false;
        c.block.init = nn::Init::pytorch;
    } else if (kind == "llama") {  // RMS norm, SwiGLU, grouped heads, rotary positions, no biases
        c = models::llama();
        c.block.head_dim = 6;
        c.block.rotary.width = 4;
        c.block.rotary.original_length = 16;
        c.block.dropout = {};
    } else if (kind == "rms") {  // and each of them alone
        c.block.norm_kind = nn::NormKind::rms;
        c.final_norm = c.embedding_norm = true;
    } else if (kind == "gated") {
        c.block.gated = true;
    } else if (kind == "grouped") {
        c.block.n_kv_heads = 1;
        c.block.attention_bias = false;  // (tests/nn/gradients.h knows only where a third of it is the keys')
    } else if (kind == "wide heads") {
        c.block.head_dim = 5;
    } else if (kind == "rotary") {
        c.block.positions = nn::Positions::rotary;
        c.block.attention_bias = false;
    } else if (kind == "no positions") {
        c.block.positions = nn::Positions::none;
    } else if (kind != "paper") {
        throw autograd::Error("no stack of the kind " + std::string(kind));
    }
    c.kind = models::Kind::causal;
    c.specials = {.never = {models::kPad, models::kSos, models::kUnk}};
    c.block.n_kv_heads = c.block.n_kv_heads > 0 ? 1 : 0;
    return sized(c, {.vocabulary = vocabulary, .max_length = 40});
}

inline const std::vector<std::string> kStacks = {"gpt2", "bert", "paper", "bare", "mixed", "llama"};
// What is new in "llama", each by itself in the paper's stack.
inline const std::vector<std::string> kAlone = {"rms",        "gated",  "grouped",
                                                "wide heads", "rotary", "no positions"};
inline std::vector<std::string> all_stacks() {
    std::vector<std::string> all = kStacks;
    all.insert(all.end(), kAlone.begin(), kAlone.end());
    return all;
}

// Adds noise to every parameter, so that norms and biases have an effect, and values are not all small.
template <class Model>
void stir(const Model& model, uint64_t seed = 5) {
    const std::vector<nn::NamedParameter> all = nn::parameters(model);
    for (std::size_t i = 0; i < all.size(); ++i) {
        const std::vector<Real> move = numbers(all[i].tensor.numel(), seed + i, -0.4, 0.4);
        for (std::size_t j = 0; j < move.size(); ++j)
            Tensor(all[i].tensor).mutable_data()[j] += move[j];
    }
}

// Random sentences of these lengths, of data symbols.
inline Sentences sentences(const std::vector<int>& lengths, uint64_t seed, int64_t vocabulary = 11) {
    Sentences out;
    for (std::size_t b = 0; b < lengths.size(); ++b) {
        const autograd::Rng rng = autograd::Rng(seed).fork(b);
        Ids ids;
        for (int i = 0; i < lengths[b]; ++i)
            ids.push_back(
                static_cast<int32_t>(models::kFirstFreeId +
                                     rng.below(static_cast<uint64_t>(i), vocabulary - models::kFirstFreeId)));
        out.push_back(std::move(ids));
    }
    return out;
}

inline autograd::Tokens padded(const Sentences& s, int64_t length = 0) {
    return autograd::Tokens::padded(s, models::kPad, length);
}

// What the decoder reads and predicts: <sos> s <eos>, padded.
inline autograd::Tokens framed(Sentences s, int64_t length = 0) {
    for (Ids& ids : s) {
        ids.insert(ids.begin(), models::kSos);
        ids.push_back(models::kEos);
    }
    return padded(s, length);
}

// Row (b, t) of x (B, T, n), or row b of x (B, n).
inline std::vector<Real> row(const Tensor& x, int64_t b, int64_t t = 0) {
    const Real* first = x.data() + (b * (x.rank() == 3 ? x.size(1) : 1) + t) * x.size(-1);
    return {first, first + x.size(-1)};
}

inline Tensor teacher_forced_loss(const models::Transformer& model, const autograd::Tokens& src,
                                  const autograd::Tokens& tgt, const nn::Mode& mode, Real smoothing = 0) {
    const Tensor logits = model(src, tgt.slice(0, tgt.length() - 1), mode);
    return autograd::cross_entropy(logits, tgt.slice(1, tgt.length()), {.label_smoothing = smoothing});
}

// FNV-1a over the bytes of each tensor, as a file has them, summed. Of weights in PyTorch's layouts it is the
// same however they lie in memory, and in whatever order a model visits them.
inline uint64_t hash(const std::vector<models::StateEntry>& entries) {
    uint64_t sum = 0;
    for (const models::StateEntry& entry : entries) {
        const Tensor stored = nn::checkpoint::in_file_order(entry);
        std::vector<unsigned char> bytes(static_cast<std::size_t>(stored.numel()) * sizeof(Real));
        std::memcpy(bytes.data(), stored.data(), bytes.size());
        uint64_t h = 0xcbf29ce484222325u;
        for (const unsigned char byte : bytes)
            h = (h ^ byte) * 0x100000001b3u;
        sum += h;
    }
    return sum;
}
inline uint64_t hash(const std::vector<nn::NamedParameter>& tensors) {
    std::vector<models::StateEntry> entries;
    for (const nn::NamedParameter& t : tensors)
        entries.push_back({.name = t.name, .tensor = t.tensor});
    return hash(entries);
}
template <nn::Module M>
uint64_t hash(const M& model) {
    return hash(models::state_dict(model));
}

inline std::vector<Real> values(const std::vector<nn::NamedParameter>& parameters) {
    std::vector<Real> all;
    for (const nn::NamedParameter& p : parameters)
        all.insert(all.end(), p.tensor.data(), p.tensor.data() + p.tensor.numel());
    return all;
}

inline Tensor named(const std::vector<nn::NamedParameter>& parameters, const std::string& name) {
    for (const nn::NamedParameter& p : parameters)
        if (p.name == name)
            return p.tensor;
    throw autograd::Error("no parameter is named " + name);
}

// Random sentences of 1 to 9 data symbols.
inline Sentences random_batch(int batch, uint64_t seed, uint64_t step, int64_t vocabulary) {
    std::vector<int> lengths;
    for (int b = 0; b < batch; ++b)
        lengths.push_back(
            1 + static_cast<int>(autograd::Rng(seed).fork(step).below(static_cast<uint64_t>(b), 9)));
    return sentences(lengths, seed + step, vocabulary);
}

// What follows each position of framed sentences.
inline Tensor next_token_loss(const models::LanguageModel& model, const autograd::Tokens& text,
                              const nn::Mode& mode) {
    const Tensor logits = model(text.slice(0, text.length() - 1), mode);
    return autograd::cross_entropy(logits, text.slice(1, text.length()));
}

// The class of a sentence: whether it contains the smallest symbol.
inline autograd::Tokens classes(const Sentences& s) {
    Ids answers;
    for (const Ids& ids : s)
        answers.push_back(std::find(ids.begin(), ids.end(), models::kFirstFreeId) != ids.end());
    return autograd::Tokens(static_cast<int64_t>(s.size()), 1, answers);
}

// What a model reads, and what it is to say.
struct Example {
    autograd::Tokens src, ids, targets = {}, types = {};
};

// A Transformer reverses sentences, a LanguageModel continues them, a MaskedLanguageModel restores what was
// hidden, and a Classifier finds the smallest symbol.
template <class Model>
Example example_of(const Model& model, const Sentences& s, const autograd::Rng& rng = autograd::Rng(0)) {
    const auto shifted = [](const autograd::Tokens& src, const autograd::Tokens& text) {
        return Example{src, text.slice(0, text.length() - 1), text.slice(1, text.length())};
    };
    if constexpr (Model::kKind == models::Kind::encoder_decoder) {
        Sentences reversed;
        for (const Ids& ids : s)
            reversed.emplace_back(ids.rbegin(), ids.rend());
        return shifted(padded(s), framed(reversed));
    } else if constexpr (Model::kKind == models::Kind::causal) {
        return shifted({}, framed(s));
    } else if constexpr (Model::kKind == models::Kind::masked) {
        const auto end = static_cast<int32_t>(model.config.vocabulary);
        const models::text::MaskedTokens masked =
            models::text::mask_tokens(padded(s), {.end_id = end, .rate = 0.3}, rng);
        return {{}, masked.ids, masked.targets};
    } else {
        return {{}, padded(s), classes(s)};
    }
}

// (B, T, V), or (B, classes).
template <class Model>
Tensor logits_of(const Model& model, const Example& e, const nn::Mode& mode) {
    if constexpr (Model::kKind == models::Kind::encoder_decoder)
        return model(e.src, e.ids, mode);
    else if constexpr (Model::kKind == models::Kind::causal)
        return model(e.ids, mode);
    else
        return model(e.ids, mode, e.types);
}

// As the model itself computes it, if it does: never with all logits at once.
template <class Model>
Tensor loss_of(const Model& model, const Example& e, const nn::Mode& mode,
               const autograd::CrossEntropyOptions& options = {}) {
    if constexpr (Model::kKind == models::Kind::encoder_decoder)
        return model.loss(e.src, e.ids, e.targets, mode, options);
    else if constexpr (Model::kKind == models::Kind::causal)
        return model.loss(e.ids, e.targets, mode, options);
    else if constexpr (Model::kKind == models::Kind::masked)
        return model.loss(e.ids, e.targets, mode);
    else
        return autograd::cross_entropy(logits_of(model, e, mode), e.targets,
                                       {.label_smoothing = options.label_smoothing});
}

// Trains on random sentences: a LanguageModel writes each twice, and what a MaskedLanguageModel restores has
// each symbol twice. Adam, dropout as configured, clipping. The loss of each step.
template <class Model>
std::vector<Real> train(const Model& model, int steps, int batch, uint64_t seed) {
    constexpr models::Kind kind = Model::kKind;
    nn::Adam adam(nn::parameters(model), {.lr = 2e-3, .beta2 = 0.98, .eps = 1e-9, .weight_decay = 0.01});
    std::vector<Real> losses;
    for (uint64_t step = 1; step <= static_cast<uint64_t>(steps); ++step) {
        const nn::Mode mode = nn::Mode::train(autograd::Rng(seed).fork("step").fork(step));
        Sentences s = random_batch(batch, seed, step, model.config.vocabulary);
        for (Ids& ids : s) {
            const Ids once = ids;
            if constexpr (kind == models::Kind::causal)
                ids.insert(ids.end(), once.begin(), once.end());
            else if constexpr (kind == models::Kind::masked)
                for (std::size_t i = 0; i < once.size(); ++i)
                    ids.insert(ids.begin() + static_cast<std::ptrdiff_t>(2 * i), once[i]);
        }
        const Example e = example_of(model, s, mode.rng);
        const Real smoothing = kind == models::Kind::encoder_decoder ? Real(0.1) : Real(0);
        const Tensor loss =
            autograd::cross_entropy(logits_of(model, e, mode), e.targets, {.label_smoothing = smoothing});
        losses.push_back(loss.item());
        adam.zero_grad();
        loss.backward();
        adam.step(2e-3, nn::clip_scale(nn::grad_norm(adam.parameters()), 1));
    }
    return losses;
}

// f(name, model) with a small model of each kind and family, stirred. change(config): before it is built.
template <class F, class Change>
void for_each_model(const F& f, const Change& change) {
    const auto call = [&]<class Model>(const std::string& name, models::Config config) {
        change(config);
        const Model model(config, autograd::Rng(1));
        stir(model);
        f(name, model);
    };
    for (const models::Preset& p : models::presets())
        call.template operator()<models::Transformer>("translator, " + p.name, small(p.name));
    for (const std::string& kind : kStacks) {
        const models::Config c = small_stack(kind);
        call.template operator()<models::LanguageModel>("language model, " + kind, c);
        call.template operator()<models::MaskedLanguageModel>("masked language model, " + kind, c);
        for (const auto pooling : {models::Pooling::mean, models::Pooling::first, models::Pooling::pooler})
            call.template operator()<models::Classifier>("classifier, " + kind,
                                                         models::with_classes(c, 3, pooling));
    }
    for (const std::string& kind : kAlone)
        call.template operator()<models::LanguageModel>("language model, " + kind, small_stack(kind));
}
template <class F>
void for_each_model(const F& f) {
    for_each_model(f, [](models::Config&) {});
}

// The gradients of all parameters, one after the other, which begin anew.
inline std::vector<Real> take_gradients(const std::vector<nn::NamedParameter>& parameters) {
    std::vector<Real> all;
    for (const nn::NamedParameter& p : parameters) {
        const Tensor gradient = p.tensor.has_grad() ? p.tensor.grad() : Tensor::zeros(p.tensor.shape());
        all.insert(all.end(), gradient.data(), gradient.data() + gradient.numel());
    }
    nn::zero_grad(parameters);
    return all;
}

// Which text of a pair each token is of, if the model tells them apart: 0 for the first three positions.
inline autograd::Tokens types_for(const autograd::Tokens& ids, int64_t token_types) {
    Ids types;
    for (int64_t b = 0; b < ids.batch(); ++b)
        for (int64_t t = 0; t < ids.length(); ++t)
            types.push_back(t >= 3);
    return token_types > 0 ? autograd::Tokens(ids.batch(), ids.length(), types) : autograd::Tokens();
}

// The logits of sentences that are padded to this length; a translator reads each as its target, too.
template <class Model>
Tensor answers(const Model& model, const Sentences& s, int64_t length = 0) {
    const autograd::NoGrad no_grad;
    const autograd::Tokens ids = padded(s, length);
    return logits_of(model, {ids, ids, {}, types_for(ids, model.config.token_types)}, nn::Mode::eval());
}

// Those of sentence b: a row for each of its tokens, or the only row.
inline std::vector<Real> answer(const Tensor& logits, std::size_t b, const Ids& ids) {
    const Tensor own = logits[static_cast<int64_t>(b)];
    return own.rank() == 2 ? autograd::slice(own, 0, 0, std::ssize(ids)).to_vector() : own.to_vector();
}

// Which sentence has other bits alone than in the batch, or with padding up to `length`; "" if none has.
template <class Model>
std::string changed_by_padding(const Model& model, const Sentences& s, int64_t length) {
    const Tensor together = answers(model, s), longer = answers(model, s, length);
    for (std::size_t b = 0; b < s.size(); ++b) {
        const std::vector<Real> alone = answer(answers(model, {s[b]}), 0, s[b]);
        if (!same_bits(answer(together, b, s[b]), alone))
            return autograd::join("sentence ", b, " in a batch of ", s.size());
        if (!same_bits(answer(longer, b, s[b]), alone))
            return autograd::join("sentence ", b, " with more padding");
    }
    return "";
}

}  // namespace plaingrad::tests
