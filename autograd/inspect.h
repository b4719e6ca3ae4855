// Inspection: which kernels run, a picture of a graph, and a guard that finds the first NaN.
#pragma once

#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

#include "autograd/tensor.h"

namespace plaingrad::autograd {

// The set of kernels in use: "avx512", "avx2", "neon" or "baseline".
const char* instruction_set();

// Draws the graph that backward from `root` will walk: one op or leaf a line, with its inputs below it. A
// line gives the op's name in ops.h, its shape, and its elements if there are few. Composite ops appear as
// their parts: minimum as neg, maximum, neg. A node that several ops use is drawn once. Inputs that need no
// gradient are not in the graph. At most `lines` lines.
//
//     1 sum () = [5]
//     └ 2 mul (2) = [1, 4]
//       ├ 3 leaf (2) = [1, 2]
//       └ 3 (above)
void print_graph(const Tensor& root, std::ostream& out, int lines = 100);
void print_graph(const Tensor& root);  // to standard output

// While a NanGuard exists, each op of this thread checks its results, in forward and in backward, and throws
// Error at the first element that is NaN or infinite. The message names the op, and also the layer if the
// guard was given a model's parameters:
//
//     autograd::NanGuard guard(nn::parameters(model));
//     [NanGuard] softmax in encoder.layers.1.self_attention: element 7 of the output (2, 4, 9) is nan
//
// Parameters identify a layer. An op without any is attributed to the module of the layer that ran before it.
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

    // Inside a composite op: while a Pause exists, results are not checked.
    struct Pause : ThreadSwitch<Pause> {};
    NanGuard(const NanGuard&) = delete;
    NanGuard& operator=(const NanGuard&) = delete;

    // ---- for graph.cpp
    static NanGuard* active() { return Pause::active() ? nullptr : active_; }
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
