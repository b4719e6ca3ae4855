// What it takes to write an op: one function that checks, computes, and leaves its backward in the graph.
//
//     // out = a b, of equal shapes        da = dout b,  db = dout a
//     Tensor product(const Tensor& a, const Tensor& b) {
//         check(a.shape() == b.shape(), "[product] a is ", a.shape(), ", b is ", b.shape(),
//               "; they must be equal");
//         Tensor out = Tensor::uninitialized(a.shape());
//         const Real *x = a.data(), *y = b.data();
//         Real* const to = out.mutable_data();
//         for (int64_t i = 0; i < out.numel(); ++i)
//             to[i] = x[i] * y[i];
//         return with_backward("product", out, {&a, &b}, [da = a.sink(), db = b.sink(), a = a.save(),
//                                                         b = b.save()](const Tensor& dout) {
//             const auto pass = [&, d = dout.data()](const Real* factor, const kernels::Out& dx) {
//                 for (int64_t i = 0; dx.data != nullptr && i < dout.numel(); ++i)
//                     dx.data[i] = dx.accumulate ? dx.data[i] + d[i] * factor[i] : d[i] * factor[i];
//             };
//             pass(b.data(), da.open());  // nullptr where no gradient is wanted
//             pass(a.data(), db.open());
//         });
//     }
//
// What the closure captures stays in memory until backward: `save()` keeps elements, `sink()` does not.
// gradcheck.h checks whether the backward is right.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "autograd/base/check.h"
#include "autograd/graph.h"
#include "autograd/kernels/kernels.h"
#include "autograd/tensor.h"

namespace plaingrad::autograd {
namespace detail {

template <class Backward>
class OpNode final : public Node {  // the closure lives inside the node
public:
    OpNode(const char* op, const Shape& shape, std::vector<std::shared_ptr<Node>> parents, Backward backward)
        : Node(op, shape, std::move(parents)), backward_(std::move(backward)) {}

private:
    void run(const Tensor& dout) override { (*backward_)(dout); }
    void forget() override { backward_.reset(); }
    std::optional<Backward> backward_;
};

}  // namespace detail

// Every op ends with this call. It returns `out`, and attaches a node if an input needs a gradient and no
// NoGrad is active. `op` is the op's name, a literal. `backward(const Tensor& dout)` writes into the `sink()`
// of each input that has one. It must not capture `out`: a reference cycle would leak both. Capture
// `out.save()` instead.
template <class Backward>
Tensor with_backward(const char* op, Tensor out, List<const Tensor*> inputs, Backward backward) {
    std::vector<std::shared_ptr<Node>> parents = Node::parents_of(op, out, inputs);
    if (parents.empty())
        return out;
    auto node =
        std::make_unique<detail::OpNode<Backward>>(op, out.shape(), std::move(parents), std::move(backward));
    return Node::attach(std::move(out), std::move(node));
}

}  // namespace plaingrad::autograd
