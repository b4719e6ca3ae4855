// The graph that backward walks: nodes, and the closures that ops leave in them.
//
// Every op with an input that needs a gradient leaves a node: its inputs' nodes, and a function that
// turns the gradient of the output into gradients of the inputs. Nodes are numbered as they are made, so
// an output's number is always larger than its inputs': backward visits the nodes in descending order.
//
// Nothing here recurses. A chain of a million operations is built, differentiated and destroyed
// with a few words of stack.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "autograd/base/kinds.h"
#include "autograd/base/list.h"
#include "autograd/base/shape.h"
#include "autograd/storage.h"

namespace plaingrad::autograd {

namespace kernels {
struct Out;
}

class Tensor;

// One operation's place in the graph, or a leaf's.
class Node {
public:
    // op: its name in ops.h, a literal; "leaf" for a leaf.
    Node(const char* op, const Shape& shape, std::vector<std::shared_ptr<Node>> parents);
    virtual ~Node() = default;

    // ---- for inspection (inspect.h)
    const char* op() const { return op_; }
    const Shape& shape() const { return shape_; }
    const std::vector<std::shared_ptr<Node>>& parents() const { return parents_; }
    // The result, if it has so few elements that a picture of the graph can show them; else empty.
    Tensor value() const;
    static constexpr int64_t kShown = 8;
    std::string layer;  // the layer that ran this op; set only while an OpWatch (inspect.h) is alive

    bool is_leaf() const { return leaf_; }
    // False for a leaf that is frozen: it takes no part in the graphs of later ops.
    bool is_wanted() const { return wanted_; }
    void set_wanted(bool wanted);
    bool has_grad() const { return static_cast<bool>(grad_); }
    // The collected gradient. Requires has_grad().
    Tensor grad() const;
    // Releases the gradient's memory; the next gradient allocates again.
    void zero_grad() { grad_ = {}; }

    // Where to put a gradient: the first writer since zero_grad overwrites, later ones accumulate.
    // So nothing is ever cleared, and the order of the additions is the order of backward.
    kernels::Out open_grad();
    // Adds a gradient of this node's size. The first one is adopted without a copy if no other handle refers
    // to its memory.
    void add_grad(const Tensor& grad);

    // ---- for with_backward (op.h): the nodes of the inputs that need a gradient; and `out` with this node
    static std::vector<std::shared_ptr<Node>> parents_of(const char* op, const Tensor& out,
                                                         List<const Tensor*> inputs);
    static Tensor attach(Tensor out, std::unique_ptr<Node> node);

    static void backward(const std::shared_ptr<Node>& root, const Tensor& start);

protected:
    virtual void run(const Tensor&) {}  // an op's backward
    virtual void forget() {}            // drops the closure and what it saved

private:
    bool has_work() const;
    Tensor take_grad();
    void use_up();
    static void destroy(Node* node);
    static std::vector<std::shared_ptr<Node>> reachable(const std::shared_ptr<Node>& root);

    const char* const op_;
    const uint64_t number_;
    const bool leaf_;
    Shape shape_;
    std::vector<std::shared_ptr<Node>> parents_;
    std::shared_ptr<Storage> value_;
    std::shared_ptr<Storage> grad_;
    bool wanted_ = true;
    bool used_ = false;     // backward has run through it
    uint64_t seen_ = 0;     // the last walk that found it
    Node* next_ = nullptr;  // in the list of those to be destroyed
};

// Where an op's backward writes the gradient of one input. Empty if that input needs none, or has been frozen
// since. It holds the input's node, not its elements.
class GradSink {
public:
    explicit GradSink(std::shared_ptr<Node> node) : node_(std::move(node)) {}
    explicit operator bool() const { return node_ && node_->is_wanted(); }
    // Where to write; nullptr if this sink is empty. Call it once for each contribution, right before writing
    // all of it.
    kernels::Out open() const;
    // Passes dout on unchanged, as one contribution; does nothing if this sink is empty. Call it last, after
    // every read of dout: its memory may then hold this input's gradient.
    void pass(const Tensor& dout) const;

private:
    std::shared_ptr<Node> node_;
};

// A value for this thread, while an object of type `Switch` exists. The innermost one counts, and ends first.
// Switch derives from ThreadSwitch<Switch> (CRTP): a flag, or with a T another kind of value. Without any
// object it is T().
template <class Switch, class T = bool>
class ThreadSwitch {
public:
    ThreadSwitch(T value = true) : before_(std::exchange(active_, value)) {}
    ~ThreadSwitch() { active_ = before_; }
    ThreadSwitch(const ThreadSwitch&) = delete;
    ThreadSwitch& operator=(const ThreadSwitch&) = delete;
    static T active() { return active_; }

private:
    inline static thread_local T active_ = T();
    const T before_;
};

// While a NoGrad exists, ops on this thread create no nodes, so evaluation keeps nothing for backward.
struct NoGrad : ThreadSwitch<NoGrad> {};

// While a UsePrecision exists, ops on this thread multiply in its precision. Without any, that is float32. An
// op reads it once, on the thread that calls it, and its backward does as forward did.
//
//     const UsePrecision bf16(Precision::bf16);
//     const Tensor y = linear(x, weight);
struct UsePrecision : ThreadSwitch<UsePrecision, Precision> {
    using ThreadSwitch::ThreadSwitch;
};

}  // namespace plaingrad::autograd
