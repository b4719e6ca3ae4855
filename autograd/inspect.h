// Inspection: which kernels run, a picture of a graph, and a guard that finds the first NaN.
#pragma once

#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "autograd/tensor.h"

namespace plaingrad::autograd {

// The set of kernels in use: "avx512bf16", "avx512", "avx2", "neon" or "baseline".
const char* instruction_set();

// Draws the graph that backward from `root` will walk: one op or leaf a line, with its inputs below it. A
// line gives the op's name in ops.h, its shape, and its elements if there are few. Composite ops appear as
// their parts: minimum as neg, maximum, neg. A node that several ops use is drawn once. Inputs that need no
// gradient are not in the graph. At most `lines` lines; one more says so if that is not all.
//
//     1 sum () = [5]
//     └ 2 mul (2) = [1, 4]
//       ├ 3 leaf (2) = [1, 2]
//       └ 3 (above)
void print_graph(const Tensor& root, std::ostream& out = std::cout, int lines = 100);

// While one exists, it sees each op of this thread, in forward and in backward, and knows which layer ran it.
// Of several, the one that was made last sees them, until it ends.
//
// Parameters identify a layer. An op without any is attributed to the module of the layer that ran before it.
class OpWatch : ThreadSwitch<OpWatch, OpWatch*> {
public:
    OpWatch() : ThreadSwitch(this) {}
    // parameters: of anything with a name and a tensor, as nn::NamedParameter.
    template <class Named>
    explicit OpWatch(const std::vector<Named>& parameters) : OpWatch() {
        for (const Named& parameter : parameters)
            names_.emplace_back(parameter.tensor.node(), parameter.name);
    }
    virtual ~OpWatch() = default;

    // Inside a composite op: while a Pause exists, nothing is seen.
    struct Pause : ThreadSwitch<Pause> {};

    // ---- for graph.cpp, and for those who see
    static OpWatch* active() { return Pause::active() ? nullptr : ThreadSwitch::active(); }
    // Runs the backward of a node, of which only the whole is seen.
    template <class Run>
    static void around(const Node& node, const Run& run) {
        {
            const Pause pause;
            run();
        }
        if (OpWatch* watch = active())
            watch->after_backward(node);
    }
    void see(const char* op, const Tensor& out, List<const Tensor*> inputs);
    virtual void after_forward(const char* op, const Tensor& out, List<const Tensor*> inputs) = 0;
    virtual void after_backward(const Node& node) = 0;
    const std::string* name_of(const std::shared_ptr<Node>& node) const;
    const std::string& layer() const { return layer_; }  // of the op that ran last

private:
    std::vector<std::pair<std::shared_ptr<Node>, std::string>> names_;  // of parameters
    std::string layer_, last_layer_;  // of the op that ran last; the last that had parameters of its own
};

// Checks the results of each op, in forward and in backward, and throws Error at the first element that is
// NaN or infinite. The message names the op, and also the layer if the guard was given a model's parameters:
//
//     autograd::NanGuard guard(nn::parameters(model));
//     [NanGuard] softmax in encoder.layers.1.self_attention: element 7 of the output (2, 4, 9) is nan
class NanGuard : public OpWatch {
public:
    using OpWatch::OpWatch;
    void after_forward(const char* op, const Tensor& out, List<const Tensor*> inputs) override;
    void after_backward(const Node& node) override;
};

}  // namespace plaingrad::autograd
