// What the tests of models share: each preset at a size that runs in milliseconds, and data for it.
#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "models/presets.h"
#include "models/transformer.h"
#include "nn/optim.h"
#include "tests/autograd/values.h"

namespace tests {

using Ids = std::vector<int32_t>;
using Sentences = std::vector<Ids>;

// The preset's particularities at a small size: no size is a multiple of 16, heads are 4 wide.
inline models::TransformerConfig small(std::string_view preset, int64_t vocabulary = 11) {
    models::TransformerConfig c = models::preset(preset);
    c.src_vocabulary = c.tgt_vocabulary = vocabulary;
    c.max_length = 50;
    c.d_model = 12;
    c.n_heads = 3;
    c.d_ff = 20;
    c.n_encoder_layers = c.n_decoder_layers = 2;
    return c;
}

// Post-norm and tied, learned positions, pre-norm, without biases, embeddings shared but the output not.
inline const std::vector<std::string> kKinds = {"paper", "blog", "prenorm", "chapter", "notebook"};

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

// Row (b, t) of x (B, T, n).
inline std::vector<Real> row(const Tensor& x, int64_t b, int64_t t) {
    const Real* first = x.data() + (b * x.size(1) + t) * x.size(2);
    return {first, first + x.size(2)};
}

inline Tensor teacher_forced_loss(const models::Transformer& model, const autograd::Tokens& src,
                                  const autograd::Tokens& tgt, const nn::Mode& mode, Real smoothing = 0) {
    const Tensor logits = model(src, tgt.positions(0, tgt.length - 1), mode);
    return autograd::cross_entropy(logits, tgt.positions(1, tgt.length),
                                   {.ignore = models::kPad, .label_smoothing = smoothing});
}

// All bytes of all parameters, FNV-1a.
inline uint64_t hash(const std::vector<nn::NamedParameter>& parameters) {
    uint64_t h = 0xcbf29ce484222325u;
    for (const nn::NamedParameter& p : parameters) {
        std::vector<unsigned char> bytes(static_cast<std::size_t>(p.tensor.numel()) * sizeof(Real));
        std::memcpy(bytes.data(), p.tensor.data(), bytes.size());
        for (const unsigned char byte : bytes)
            h = (h ^ byte) * 0x100000001b3u;
    }
    return h;
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

// Trains to reverse random sentences: Adam, dropout as configured, clipping. The loss of each step.
inline std::vector<Real> train(const models::Transformer& model, int steps, int batch, uint64_t seed) {
    nn::Adam adam(nn::parameters(model), {.lr = 2e-3, .beta2 = 0.98, .eps = 1e-9, .weight_decay = 0.01});
    std::vector<Real> losses;
    for (int step = 1; step <= steps; ++step) {
        const auto number = static_cast<uint64_t>(step);
        std::vector<int> lengths;
        for (int b = 0; b < batch; ++b)
            lengths.push_back(
                1 + static_cast<int>(autograd::Rng(seed).fork(number).below(static_cast<uint64_t>(b), 9)));
        const Sentences src = sentences(lengths, seed + number, model.config.src_vocabulary);
        Sentences tgt;
        for (const Ids& s : src)
            tgt.emplace_back(s.rbegin(), s.rend());
        const Tensor loss =
            teacher_forced_loss(model, padded(src), framed(tgt),
                                nn::Mode::train(autograd::Rng(seed).fork("step").fork(number)), Real(0.1));
        losses.push_back(loss.item());
        adam.zero_grad();
        loss.backward();
        nn::clip_grad_norm(adam.parameters(), 1);
        adam.step();
    }
    return losses;
}

}  // namespace tests
