// What all layers and models have in common. There is no base class: a module is a struct with
//
//     a constructor        that takes sizes, options, and an Rng for the initial values
//     operator()           forward, const
//     visit(Visitor&)      that names each member once
//
// Everything that walks over the parameters (optimizer, counting, saving, cloning) goes through visit.
//
// Legend for shapes, here and in models/:
//     B batch · S source length · T target length · H heads · D d_model / H · V vocabulary
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/base/check.h"
#include "autograd/ops.h"

namespace plaingrad::nn {

using autograd::check;
using autograd::Mask;
using autograd::Real;
using autograd::Rng;
using autograd::Shape;
using autograd::Tensor;
using autograd::Tokens;

// A trained tensor. It can be moved but not copied: a copy of a Tensor shares its memory, so a copied
// module would train together with the original. `clone` (below) copies a whole model; `share` says that
// sharing is meant, as for tied weights.
class Parameter {
public:
    Parameter() = default;  // absent, as the bias of a Linear without one
    // Throws Error for an empty tensor.
    explicit Parameter(Tensor value) : tensor_(std::move(value)) {
        check(tensor_.defined(),
              "[Parameter] an empty tensor cannot be trained; Parameter() stands for an absent one");
        tensor_.require_grad();
    }
    Parameter(Parameter&&) = default;
    Parameter& operator=(Parameter&&) = default;

    Parameter share() const { return Parameter(tensor_); }
    operator const Tensor&() const { return tensor_; }
    const Tensor* operator->() const { return &tensor_; }
    const Tensor& tensor() const { return tensor_; }

private:
    Tensor tensor_;
};

// Whether forward trains or evaluates. An argument, not a switch inside the layers: dropout cannot be left
// on by mistake, and two threads may evaluate one model.
struct Mode {
    static Mode eval() { return {false, Rng(0)}; }
    // rng: of this step, e.g. Rng(seed).fork(step). Dropout masks are functions of it, of the layer's
    // place in the model, and of the element.
    static Mode train(const Rng& rng) { return {true, rng}; }

    bool training;
    Rng rng;
};

struct NamedParameter {
    std::string name;  // "encoder.layers.0.norm1.gain"
    Tensor tensor;
};

// Collects parameters with the path to each.
class Visitor {
public:
    std::vector<NamedParameter> found;

    // Absent parameters are passed over. A tied one is found under each of its names.
    void operator()(std::string_view name, const Parameter& parameter) {
        if (parameter->defined())
            found.push_back({path_ + std::string(name), parameter});
    }
    template <class Module>
    void operator()(std::string_view name, const Module& module) {
        const std::size_t length = path_.size();
        path_.append(name).append(".");
        module.visit(*this);
        path_.resize(length);
    }
    template <class Module>
    void operator()(std::string_view name, const std::vector<Module>& modules) {
        for (std::size_t i = 0; i < modules.size(); ++i)
            (*this)(std::string(name) + "." + std::to_string(i), modules[i]);
    }

private:
    std::string path_;
};

// All parameters of a model in the order of visit, a tied one under each of its names.
template <class Module>
std::vector<NamedParameter> all_parameters(const Module& module) {
    Visitor visitor;
    module.visit(visitor);
    return std::move(visitor.found);
}

// Of parameters that are one tensor only the first.
std::vector<NamedParameter> unique_parameters(const std::vector<NamedParameter>& parameters);

// All parameters of a model, each once.
template <class Module>
std::vector<NamedParameter> parameters(const Module& module) {
    return unique_parameters(all_parameters(module));
}

int64_t parameter_count(const std::vector<NamedParameter>& parameters);
void zero_grad(const std::vector<NamedParameter>& parameters);
void copy_values(const std::vector<NamedParameter>& from, const std::vector<NamedParameter>& to);

template <class Module>
int64_t parameter_count(const Module& module) {
    return parameter_count(parameters(module));
}

template <class Module>
void zero_grad(const Module& module) {
    zero_grad(parameters(module));
}

// A model with weights of its own that are equal now. Model must keep what it was made from, as `config`
// and `rng`, and be made from these two.
template <class Model>
Model clone(const Model& model) {
    Model copy(model.config, model.rng);
    copy_values(parameters(model), parameters(copy));
    return copy;
}

}  // namespace plaingrad::nn
