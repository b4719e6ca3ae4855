// Tensor: the handle that users hold. Start reading here.
//
// A tensor is a shape, a piece of memory (storage.h) and, if gradients flow through it, a place in the
// graph of operations that made it (graph.h). Copying a Tensor copies the handle: both share memory and
// gradient. `clone` copies the elements. All tensors are dense and row-major.
//
//     Tensor w = Tensor::from({2, 2}, {1, 2, 3, 4}).require_grad();
//     Tensor loss = sum(mul(w, w));   // ops.h has all operations
//     loss.backward();
//     w.grad();                       // 2 w
//     std::cout << w << w[0];         // print.cpp; rows by number: a copy, which passes gradients on
//
// const is of the handle, as with std::shared_ptr: a const Tensor stays a handle of the same memory and the
// same place in the graph, and the elements and the gradient there may change through any handle, const or
// not.
//
// Threads may share tensors to compute from, each with a graph of its own. What writes must be alone:
// mutable_data and its pointer, zero_grad, and backward, which writes into all leaves that it reaches.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <vector>

#include "autograd/base/list.h"
#include "autograd/graph.h"
#include "autograd/shape.h"
#include "autograd/storage.h"

namespace plaingrad::autograd {

class Rng;

class Tensor {
public:
    Tensor() = default;  // empty: defined() is false
    // A number is a tensor of one element, of shape (): 2 * x, where(c, x, 0) and maximum(x, 0) are ops too.
    Tensor(Real number) : Tensor(full({}, number)) {}  // NOLINT: implicit

    static Tensor uninitialized(const Shape& shape);
    static Tensor zeros(const Shape& shape) { return full(shape, 0); }
    static Tensor ones(const Shape& shape) { return full(shape, 1); }
    static Tensor full(const Shape& shape, Real value);
    // Throws Error unless there are exactly shape.numel() values.
    static Tensor from(const Shape& shape, List<Real> values);
    // begin, begin + step, ... before end, in one dimension. Throws Error for a step of 0.
    static Tensor arange(double begin, double end, double step = 1);
    static Tensor arange(double end) { return arange(0, end); }
    // Element i is number i of rng's stream: uniform in [0, 1), or normal with mean 0 and deviation 1.
    static Tensor rand(const Shape& shape, const Rng& rng);
    static Tensor randn(const Shape& shape, const Rng& rng);

    bool defined() const { return static_cast<bool>(storage_); }
    const Shape& shape() const { return shape_; }
    int rank() const { return shape_.rank(); }
    int64_t size(int dim) const { return shape_[dim]; }  // size(-1) is the last
    int64_t numel() const { return shape_.numel(); }

    // Throws Error for an empty tensor.
    const Real* data() const { return (defined() ? storage_ : no_storage())->data; }
    // For writing in place. A backward that still needs the old values throws if this was called after
    // forward; what is written later through an older pointer is not noticed.
    Real* mutable_data() const;
    std::vector<Real> to_vector() const;
    Real item() const;  // the number of a tensor with one element; throws Error for more

    // Number i along the first dimension, -1 the last: a copy, to read from; its gradient comes back here.
    Tensor operator[](int64_t i) const;

    // Makes this tensor a leaf that collects gradients; or with false, and for all handles of this leaf, one
    // that no longer does: ops compute no gradient for it, and what it had collected is forgotten. Returns
    // it. Throws Error if it came from an op or is empty.
    Tensor& require_grad(bool wanted = true);
    bool needs_grad() const { return node_ && node_->is_wanted(); }

    // The gradient that backward left in this leaf, in its shape. It stays until zero_grad; another
    // backward before that adds to it, in the same memory: clone() it to keep it. Throws Error if none has
    // come, or if this is not a leaf.
    Tensor grad() const;
    bool has_grad() const;
    void zero_grad() const;

    // From this tensor of one element, or any tensor with a gradient of its own shape to start from,
    // back to every leaf. It uses the graph up: a second backward needs a second forward. If it throws, the
    // leaves' gradients are of no use: zero_grad() them.
    void backward() const;
    void backward(const Tensor& start) const;

    Tensor detach() const;  // the same memory, outside of the graph
    Tensor clone() const;   // a copy of the elements, outside of the graph

    // The same elements in the same order in another shape: only the handle changes, so gradient and
    // graph are shared too. Throws Error unless the number of elements is equal.
    Tensor with_shape(const Shape& shape) const;

    // Whether both are handles of the same memory, as tied weights are.
    bool same_memory(const Tensor& other) const { return storage_ == other.storage_; }

    // ---- for those who write ops (see op.h)
    Saved save() const { return Saved(defined() ? storage_ : no_storage(), shape_); }
    GradSink sink() const { return GradSink(needs_grad() ? node_ : Ref<Node>()); }

private:
    Tensor(const Shape& shape, Ref<Storage> storage) : shape_(shape), storage_(std::move(storage)) {}
    [[noreturn]] static const Ref<Storage>& no_storage();

    friend class Node;
    friend class Saved;
    friend Tensor detail::attach(Tensor, Ref<Node>);
    friend Ref<Node> detail::node_of(const Tensor&);

    Shape shape_;
    Ref<Storage> storage_;
    Ref<Node> node_;
};

// As NumPy and PyTorch print it: rows in brackets, columns in line, and of each dimension of a large tensor
// the first three and the last three; then the shape.
std::ostream& operator<<(std::ostream& out, const Tensor& x);

}  // namespace plaingrad::autograd
