// Tensor: the handle that users hold. Start reading here, after base/shape.h.
//
// A tensor is a shape, a piece of memory (storage.h) and, if gradients flow through it, a place in the
// graph of operations that made it (graph.h). Copying a Tensor copies the handle: both share memory and
// gradient. (So copy a leaf after require_grad: a copy from before is not the leaf, but a tensor without
// gradient.) `clone` copies the elements. All tensors are dense and row-major.
//
//     Tensor w = Tensor::from({2, 2}, {1, 2, 3, 4}).require_grad();
//     Tensor loss = sum(mul(w, w));   // ops.h has all operations
//     loss.backward();
//     w.grad();                       // 2 w
//     std::cout << w << w[0];         // inspect.h; w[0] copies row 0, and gradients flow back through it
//
// const applies to the handle, not to the elements, as with std::shared_ptr: a const Tensor always refers to
// the same memory and the same place in the graph, but its elements and gradient can change through any
// handle, const or not.
//
// Threads may read the same tensors, each building its own graph. A writer needs exclusive access:
// mutable_data and its pointer, zero_grad, and backward, which writes into all leaves that it reaches.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <vector>

#include "autograd/base/list.h"
#include "autograd/base/parallel.h"
#include "autograd/base/shape.h"
#include "autograd/graph.h"
#include "autograd/storage.h"

namespace plaingrad::autograd {

class Rng;
class Saved;

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
    // Element i is f(i), in row-major order; f is called from several threads.
    static Tensor from_function(const Shape& shape, FunctionRef<double(uint64_t i)> f);
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

    // Throws Error for an empty tensor, and for a weight that was given to `pack` (weight.h).
    const Real* data() const {
        const Real* const at = defined() ? storage_->data : nullptr;
        return at != nullptr ? at : no_data();
    }
    // For writing in place. A backward that still needs the old values throws if this was called after
    // forward. It cannot notice a later write through a pointer from an earlier call.
    Real* mutable_data() const;
    std::vector<Real> to_vector() const;
    Real item() const;  // the number of a tensor with one element; throws Error for more

    // Index i along the first dimension; -1 is the last. Returns a copy: writing to it does not change this
    // tensor; gradients flow back.
    Tensor operator[](int64_t i) const;

    // true: makes this tensor a leaf that collects gradients. false: freezes the leaf, for all its handles:
    // ops compute no gradient for it, and the gradient it has is dropped. Returns this tensor. Throws Error
    // if it came from an op or is empty.
    Tensor& require_grad(bool wanted = true);
    bool needs_grad() const { return node_ && node_->is_wanted(); }

    // The gradient that backward left in this leaf, in its shape. It stays until zero_grad; another
    // backward before that adds to it, in the same memory, so clone() it to keep it. Throws Error if there
    // is no gradient, or if this is not a leaf.
    Tensor grad() const;
    bool has_grad() const;
    void zero_grad() const;

    // Propagates gradients from this tensor back to every leaf. The tensor must have one element; otherwise
    // pass `start`, a gradient of its shape. Backward consumes the graph: a second one needs a second
    // forward. If it throws, the leaves' gradients are incomplete: zero_grad() them.
    void backward() const;
    void backward(const Tensor& start) const;

    Tensor detach() const;  // the same memory, outside of the graph
    Tensor clone() const;   // a copy of the elements, outside of the graph

    // The same elements in the same order, in another shape. Only the handle differs, so gradient and
    // graph are shared too. Throws Error unless the numbers of elements are equal.
    Tensor with_shape(const Shape& shape) const;

    // Whether both are handles of the same memory, as tied weights are.
    bool same_memory(const Tensor& other) const { return memory() == other.memory(); }
    // Differs for tensors of different memory; nullptr for an empty one. Not where the elements are: data().
    Storage* memory() const { return storage_.get(); }

    // ---- for those who write ops (see op.h)
    Saved save() const;
    // Whether no other handle, and no backward, refers to this memory: an op that is given the last handle of
    // its input may write its output there.
    bool is_unshared() const { return defined() && storage_.use_count() == 1; }
    GradSink sink() const { return GradSink(needs_grad() ? node_ : std::shared_ptr<Node>()); }
    const std::shared_ptr<Node>& node() const { return node_; }  // empty outside of the graph

private:
    Tensor(const Shape& shape, std::shared_ptr<Storage> storage)
        : shape_(shape), storage_(std::move(storage)) {}
    [[noreturn]] const Real* no_data() const;

    friend class Node;

    Shape shape_;
    std::shared_ptr<Storage> storage_;
    std::shared_ptr<Node> node_;
};

// Elements that backward will need. Reading them throws Error if they were changed in the meantime.
class Saved {
public:
    explicit Saved(const Tensor& tensor) : tensor_(tensor.detach()), version_(tensor.memory()->version) {}
    const Shape& shape() const { return tensor_.shape(); }
    const Tensor& tensor() const;  // outside of the graph
    const Real* data() const { return tensor().data(); }

private:
    Tensor tensor_;
    uint32_t version_;
};

// Prints as NumPy and PyTorch do: rows in brackets, aligned columns, and only the first and last three
// entries of each dimension if the tensor is large; then the shape.
std::ostream& operator<<(std::ostream& out, const Tensor& x);

}  // namespace plaingrad::autograd
