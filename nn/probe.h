// A look into a forward pass: what the modules of a model compute on the way, for pictures, histograms and
// tests. It changes no result.
//
//     nn::Probe seen;
//     model(src, tgt, Mode::eval(&seen));
//     seen.of(model.decoder.layers[0].cross_attention)  // its attention weights
//
//     MultiHeadAttention,
//     CrossAttention              the attention weights (B, H, T, S)
//     FeedForward                 the hidden values, after the activation (B, T, d_ff)
//     EncoderLayer, DecoderLayer  in a stack: the output (B, T, d_model)
//     PositionalEncoding          the encodings (T, d_model), if they are added
//
// Without a probe nothing is kept, and nothing is computed for it. A probe knows modules by their addresses:
// it is for one model, and must not outlive it.
#pragma once

#include <map>
#include <typeindex>

#include "nn/module.h"

namespace plaingrad::nn {

class Probe {
public:
    // The value of a module in the last pass that came through it, without a graph. Throws Error if none did.
    template <Module M>
    const Tensor& of(const M& module) const {
        const Tensor* const value = find({"", "", typeid(M), &module});
        check(value != nullptr, "[Probe] no pass with this probe went through that ", detail::type_name<M>());
        return *value;
    }
    // The same for one of `modules(model)`; nullptr if none did.
    const Tensor* find(const NamedModule& module) const {
        const auto found = values_.find({module.address, module.info});
        return found == values_.end() || !found->second.defined() ? nullptr : &found->second;
    }
    // Where a module writes its value.
    template <Module M>
    Tensor& place(const M& module) {
        return values_[{&module, typeid(M)}];
    }

private:
    // The first member of a struct has the address of the struct, so the type belongs to the key.
    std::map<std::pair<const void*, std::type_index>, Tensor> values_;
};

// Shows a module's value to the probe, if there is one.
template <Module M>
void show(const M& module, const Tensor& value, const Mode& mode) {
    if (mode.probe != nullptr)
        mode.probe->place(module) = value.detach();
}

}  // namespace plaingrad::nn
