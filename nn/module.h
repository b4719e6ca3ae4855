// What all layers and models have in common. There is no base class. A module is a struct with
//
//     a constructor        that takes sizes, options, and an Rng for the initial values
//     operator()           forward, const
//     visit(Visitor&)      that names each member once: v("weight", weight); const
//
// Everything that walks over a model goes through visit: the optimizer, counting, saving, cloning, freezing.
//
// Legend for shapes, here and in models/:
//     B batch · S source length · T target length · H heads, G of keys and values · D size of a head
//     V vocabulary
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
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

// Its name appears in the compiler's message if a module is copied by mistake.
struct a_copy_would_share_the_weights_use_clone_for_a_model_or_share_for_one_weight {};

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
    Parameter(const Parameter&,
              a_copy_would_share_the_weights_use_clone_for_a_model_or_share_for_one_weight = {}) = delete;

    // The result is frozen (see `freeze`) if this parameter is.
    Parameter share() const {
        Parameter other;
        other.tensor_ = tensor_;
        return other;
    }
    operator const Tensor&() const { return tensor_; }
    const Tensor* operator->() const { return &tensor_; }
    const Tensor& tensor() const { return tensor_; }

private:
    Tensor tensor_;
};

class Probe;

// Whether forward trains or evaluates. It is an argument, not a switch inside the layers: dropout cannot be
// left on by mistake, and two threads may evaluate one model. A probe receives what the modules compute on
// the way (nn/probe.h).
struct Mode {
    static Mode eval(Probe* probe = nullptr) { return {false, Rng(0), probe}; }
    // rng: of this step, e.g. Rng(seed).fork(step). Dropout masks are functions of it, of the layer's
    // place in the model, and of the element.
    static Mode train(const Rng& rng, Probe* probe = nullptr) { return {true, rng, probe}; }

    bool training;
    Rng rng;
    Probe* probe = nullptr;
};

struct NamedParameter {
    std::string name;  // "encoder.layers.0.norm1.gain"
    Tensor tensor;
    bool is_matrix = false;  // of a Linear: (in, out), which files and PyTorch have as (out, in)
    bool is_table = false;   // a vector for each token, (V, d): looked up, or multiplied to give logits
};

// A module that a traversal of a model visits.
struct NamedModule {
    std::string name;            // "encoder.layers.0"; "" for the model itself
    std::string type;            // "EncoderLayer"
    const std::type_info& info;  // of the module at `address`
    const void* address;
};

class Visitor;

// What can be visited.
template <class M>
concept Module = requires(const M& module, Visitor& v) {
    module.visit(v);
};

namespace detail {
std::string short_type_name(std::string_view pretty_function);
template <class M>
std::string type_name() {
    return short_type_name(__PRETTY_FUNCTION__);
}
}  // namespace detail

// Traverses a model. A module's `visit` names the members; a derived class decides what to do with them.
// Absent parameters are skipped; a tied one is visited under each of its names.
class Visitor {
public:
    virtual ~Visitor() = default;

    void operator()(std::string_view name, const Parameter& p) { found({std::string(name), p}); }
    // For the matrix (in, out) of a Linear.
    void matrix(std::string_view name, const Parameter& p) { found({std::string(name), p, true}); }
    // For the table (V, d) of an embedding or an output layer.
    void table(std::string_view name, const Parameter& p) { found({std::string(name), p, false, true}); }

    template <class M>
    void operator()(std::string_view name, const M& module) {
        if constexpr (Module<M>) {
            const std::size_t length = path_.size();
            path_.append(path_.empty() ? "" : ".").append(name);
            enter({path_, detail::type_name<M>(), typeid(M), &module});
            module.visit(*this);
            path_.resize(length);
        } else {
            static_assert(
                sizeof(M) == 0,
                "only modules, parameters and vectors of modules can be visited: a module is a struct "
                "with `void visit(Visitor& v) const` that names its members (nn/module.h)");
        }
    }
    template <class M>
    void operator()(std::string_view name, const std::vector<M>& modules) {
        for (std::size_t i = 0; i < modules.size(); ++i)
            (*this)(std::string(name) + "." + std::to_string(i), modules[i]);
    }

protected:
    virtual void parameter(const NamedParameter&) {}
    virtual void enter(const NamedModule&) {}  // before its members

private:
    void found(NamedParameter p);  // by its name in the module

    std::string path_;
};

namespace detail {

struct Collector : Visitor {
    std::vector<NamedParameter> all;
    std::vector<NamedModule> modules;
    void parameter(const NamedParameter& p) override { all.push_back(p); }
    void enter(const NamedModule& m) override { modules.push_back(m); }
};

void check_names(const std::vector<NamedParameter>& parameters);

}  // namespace detail

// All parameters of a model in the order of visit, a tied one under each of its names. Throws Error if two
// members have one name.
template <Module M>
std::vector<NamedParameter> all_parameters(const M& module) {
    detail::Collector collector;
    collector("", module);
    detail::check_names(collector.all);
    return std::move(collector.all);
}

// Keeps only the first of the parameters that share a tensor. Throws Error for two that have the same memory,
// but each its own gradient: of two Parameters made from one Tensor, only the first would learn.
std::vector<NamedParameter> unique_parameters(const std::vector<NamedParameter>& parameters);

// All parameters of a model, each once.
template <Module M>
std::vector<NamedParameter> parameters(const M& module) {
    return unique_parameters(all_parameters(module));
}

// All modules of a model, itself first, each before its members. They point into it.
template <Module M>
std::vector<NamedModule> modules(const M& module) {
    detail::Collector collector;
    collector("", module);
    return std::move(collector.modules);
}

int64_t parameter_count(const std::vector<NamedParameter>& parameters);
void zero_grad(const std::vector<NamedParameter>& parameters);
void copy_values(const std::vector<NamedParameter>& from, const std::vector<NamedParameter>& to);

template <Module M>
int64_t parameter_count(const M& module) {
    return parameter_count(parameters(module));
}

template <Module M>
void zero_grad(const M& module) {
    zero_grad(parameters(module));
}

// Frozen parameters keep their values: no gradient is computed for them, and no optimizer changes them. They
// are still counted and saved. false unfreezes them.
//     freeze(model.encoder);  // train the rest
void freeze(const std::vector<NamedParameter>& parameters, bool frozen = true);
template <Module M>
void freeze(const M& module, bool frozen = true) {
    freeze(parameters(module), frozen);
}

// A copy of a model, with weights of its own, none of them frozen. Model must have the members `config` and
// `rng`, and a constructor that takes these two.
template <class Model>
Model clone(const Model& model) {
    Model copy(model.config, model.rng);
    copy_values(parameters(model), parameters(copy));
    return copy;
}

}  // namespace plaingrad::nn
