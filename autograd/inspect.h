// Looking inside: what runs the ops, a picture of a graph, and a guard that finds the first NaN.
#pragma once

#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

#include "autograd/tensor.h"

namespace plaingrad::autograd {

// The set of kernels in use: "avx512", "avx2", "neon" or "baseline".
const char* instruction_set();

// Draws the graph that backward from `root` will walk, an op or leaf a line, with its inputs below it: its
// name in ops.h, its shape, and its elements if they are few. Ops that are made of others show as these: a
// minimum as neg, maximum, neg. What several ops take is drawn once. Inputs that need no gradient are not in
// the graph. At most `lines` lines.
//
//     1 sum () = [5]
//     └ 2 mul (2) = [1, 4]
//       ├ 3 leaf (2) = [1, 2]
//       └ 3 (above)
void print_graph(const Tensor& root, std::ostream& out, int lines = 100);
void print_graph(const Tensor& root);  // to standard output

// While one lives, each op of this thread looks at what it computed, in forward and in backward, and throws
// Error at the first number that is NaN or infinite. The message names the op, and if the guard knows the
// names of a model's parameters, the layer:
//
//     autograd::NanGuard guard(nn::parameters(model));
//     [NanGuard] softmax in encoder.layers.1.self_attention: element 7 of the output (2, 4, 9) is nan
//
// A layer is told by its parameters: an op without any runs in the module of the layer that ran before.
class NanGuard {
public:
    NanGuard() : before_(std::exchange(active_, this)) {}
    // parameters: of anything with a name and a tensor, as nn::NamedParameter.
    template <class Named>
    explicit NanGuard(const std::vector<Named>& parameters) : NanGuard() {
        for (const Named& parameter : parameters)
            names_.emplace_back(detail::node_of(parameter.tensor), parameter.name);
    }
    ~NanGuard() { active_ = before_; }

    // Inside of an op that is made of others: what these compute on the way is not looked at.
    class Pause {
    public:
        Pause() : guard_(std::exchange(active_, nullptr)) {}
        ~Pause() { active_ = guard_; }
        Pause(const Pause&) = delete;
        Pause& operator=(const Pause&) = delete;

    private:
        NanGuard* guard_;
    };
    NanGuard(const NanGuard&) = delete;
    NanGuard& operator=(const NanGuard&) = delete;

    // ---- for graph.cpp
    static NanGuard* active() { return active_; }
    void after_forward(const char* op, const Tensor& out, List<const Tensor*> inputs);
    void after_backward(const Node& node) const;
    const std::string& layer() const { return layer_; }  // of the op that ran last

private:
    const std::string* name_of(const Ref<Node>& node) const;

    inline static thread_local NanGuard* active_ = nullptr;
    NanGuard* before_;
    std::vector<std::pair<Ref<Node>, std::string>> names_;  // of parameters
    std::string last_layer_;                                // the last that had parameters of its own
    std::string layer_;
};

}  // namespace plaingrad::autograd
