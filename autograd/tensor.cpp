#include "autograd/tensor.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/base/check.h"
#include "autograd/base/random.h"
#include "autograd/kernels/kernels.h"

namespace plaingrad::autograd {

Tensor Tensor::uninitialized(const Shape& shape) { return Tensor(shape, Storage::make(shape.numel())); }

Tensor Tensor::full(const Shape& shape, Real value) {
    Tensor out = uninitialized(shape);
    kernels::cpu().fill(out.numel(), value, out.storage_->data);
    return out;
}

Tensor Tensor::from(const Shape& shape, List<Real> values) {
    check(static_cast<int64_t>(values.size()) == shape.numel(), "[Tensor::from] shape ", shape, " holds ",
          shape.numel(), " numbers: got ", values.size());
    Tensor out = uninitialized(shape);
    std::copy(values.begin(), values.end(), out.storage_->data);
    return out;
}

// On all threads: GPT-2's 124 million normal numbers take seconds.
Tensor Tensor::from_function(const Shape& shape, FunctionRef<double(uint64_t i)> f) {
    Tensor out = uninitialized(shape);
    parallel_for(0, out.numel(), 1 << 14, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
            out.storage_->data[i] = static_cast<Real>(f(static_cast<uint64_t>(i)));
    });
    return out;
}

Tensor Tensor::arange(double begin, double end, double step) {
    check(step > 0 || step < 0, "[Tensor::arange] the step must not be 0: got ", step);
    const double count = std::ceil((end - begin) / step);
    check(count < 0x1p53, "[Tensor::arange] from ", begin, " to ", end, " in steps of ", step,
          " is not a number of steps");
    return from_function({count > 0 ? static_cast<int64_t>(count) : 0},
                         [&](uint64_t i) { return begin + static_cast<double>(i) * step; });
}

// As many random bits as Real has: 53 of them rounded to a float could be 1.
Tensor Tensor::rand(const Shape& shape, const Rng& rng) {
    constexpr int kDigits = std::numeric_limits<Real>::digits;
    constexpr double kOne = static_cast<double>(int64_t(1) << kDigits);
    return from_function(
        shape, [&](uint64_t i) { return static_cast<double>(rng.bits(i) >> (64 - kDigits)) / kOne; });
}

Tensor Tensor::randn(const Shape& shape, const Rng& rng) {
    return from_function(shape, [&](uint64_t i) { return rng.normal(i); });
}

static constexpr const char* kEmpty =
    "this tensor is empty: it was made by Tensor() and never assigned, or moved from";

const Real* Tensor::no_data() const {
    check(!defined(), "[Tensor] this weight ", shape_, " is packed for decoding: only linear layers and ",
          "look-ups can read it; load the model again, without packing it, to train, change or save it");
    throw Error(join("[Tensor] ", kEmpty));
}

Real* Tensor::mutable_data() const {
    check(defined(), "[Tensor] an empty tensor cannot be written to");
    data();  // throws if it is packed
    storage_->change();
    return storage_->data;
}

std::vector<Real> Tensor::to_vector() const { return std::vector<Real>(data(), data() + numel()); }

Real Tensor::item() const {
    check(numel() == 1, "[item] the tensor must have one element: its shape is ", shape_);
    return data()[0];
}

Tensor& Tensor::require_grad(bool wanted) {
    check(defined(), "[require_grad] ", kEmpty);
    check(!node_ || node_->is_leaf(),
          "[require_grad] a tensor that came from an op already passes gradients on; ", "detach() it first");
    if (wanted)
        data();  // throws if it is packed
    if (!node_ && wanted)
        *this =
            Node::attach(*this, std::make_unique<Node>("leaf", shape_, std::vector<std::shared_ptr<Node>>()));
    if (node_)
        node_->set_wanted(wanted);
    return *this;
}

bool Tensor::has_grad() const { return needs_grad() && node_->is_leaf() && node_->has_grad(); }

Tensor Tensor::grad() const {
    check(needs_grad(), "[grad] this tensor does not need a gradient; call require_grad() before forward");
    check(node_->is_leaf(), "[grad] only leaves keep their gradient; this tensor came from an op");
    check(node_->has_grad(), "[grad] no gradient has reached this tensor of shape ", shape_,
          "; call backward() first");
    return node_->grad().with_shape(shape_);
}

void Tensor::zero_grad() const {
    if (node_)
        node_->zero_grad();
}

void Tensor::backward() const {
    check(numel() == 1, "[backward] a tensor of one element is needed, or a start of its shape: this is ",
          shape_);
    backward(full(shape_, 1));
}

void Tensor::backward(const Tensor& start) const {
    check(start.shape() == shape_, "[backward] the start must have the tensor's shape ", shape_, ": got ",
          start.shape());
    check(needs_grad(),
          "[backward] nothing here needs a gradient; call require_grad() on a leaf before forward");
    Node::backward(node_, start);
}

Saved Tensor::save() const {
    check(defined(), "[Tensor] ", kEmpty);
    return Saved(*this);
}

const Tensor& Saved::tensor() const {
    check(tensor_.memory()->version == version_, "[backward] a tensor of shape ", tensor_.shape(),
          " was changed after forward had used it; change parameters after backward, or run forward again");
    return tensor_;
}

Tensor Tensor::detach() const { return Tensor(shape_, storage_); }

Tensor Tensor::clone() const {
    Tensor out = uninitialized(shape_);
    std::copy(data(), data() + numel(), out.storage_->data);
    return out;
}

Tensor Tensor::with_shape(const Shape& shape) const {
    check(defined(), "[reshape] ", kEmpty);
    data();  // throws if it is packed
    check(shape.numel() == numel(), "[reshape] the number of elements must stay: from ", shape_, " to ",
          shape);
    Tensor out = *this;
    out.shape_ = shape;
    return out;
}

}  // namespace plaingrad::autograd
