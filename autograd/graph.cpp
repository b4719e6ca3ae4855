#include "autograd/graph.h"

#include <algorithm>
#include <atomic>

#include "autograd/base/check.h"
#include "autograd/broadcast.h"
#include "autograd/inspect.h"
#include "autograd/kernels/kernels.h"
#include "autograd/tensor.h"

namespace plaingrad::autograd {

static std::atomic<uint64_t> nodes_made = 0, walks_made = 0;

Node::Node(const char* op, const Shape& shape, std::vector<std::shared_ptr<Node>> parents)
    : op_(op), number_(++nodes_made), leaf_(parents.empty()), shape_(shape), parents_(std::move(parents)) {}

Tensor Node::grad() const { return Tensor(shape_, grad_); }
Tensor Node::value() const { return Tensor(shape_, value_); }

void Node::set_wanted(bool wanted) {
    wanted_ = wanted;
    if (!wanted)
        zero_grad();
}

kernels::Out Node::open_grad() {
    const bool accumulate = has_grad();
    if (!accumulate)
        grad_ = Storage::make(shape_.numel());
    return {grad_->data, accumulate};
}

void Node::add_grad(const Tensor& grad) {
    if (!has_grad() && grad.storage_.use_count() == 1)
        grad_ = grad.storage_;
    else
        sum_to(grad.shape(), grad.data(), grad.shape(), 1, open_grad());  // copies the first, adds later ones
}

// Destroying a node drops its parents and its closure's tensors, and with them other nodes. Recursive
// destruction would overflow the stack on a long chain, so nodes are queued and the outermost call empties
// the queue.
void Node::destroy(Node* node) {
    thread_local Node* queue = nullptr;
    thread_local bool working = false;
    node->next_ = std::exchange(queue, node);
    if (working)
        return;
    working = true;
    while (queue != nullptr)
        delete std::exchange(queue, queue->next_);
    working = false;
}

// The root and every node that it depends on. They are sorted by number, largest first: a consumer has a
// larger number than what it consumes, so each gradient is complete before its node runs.
std::vector<std::shared_ptr<Node>> Node::reachable(const std::shared_ptr<Node>& root) {
    const uint64_t walk = ++walks_made;
    std::vector<std::shared_ptr<Node>> nodes = {root};
    root->seen_ = walk;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        check(!nodes[i]->used_, "[backward] this part of the graph was used up by an earlier backward; ",
              "run forward again, or add the losses and call backward once");
        // push_back may reallocate `nodes`; parents_ belongs to the Node, which stays put.
        for (const auto& parent : nodes[i]->parents_) {
            if (std::exchange(parent->seen_, walk) != walk)
                nodes.push_back(parent);
        }
    }
    std::sort(nodes.begin(), nodes.end(),
              [](const auto& a, const auto& b) { return a->number_ > b->number_; });
    return nodes;
}

void Node::backward(const std::shared_ptr<Node>& root, const Tensor& start) {
    const Real* const from = start.data();  // throws for an empty one, before anything has changed
    std::vector<std::shared_ptr<Node>> nodes = reachable(root);
    sum_to(start.shape(), from, start.shape(), 1, root->open_grad());  // adds, if a leaf has a gradient

    const NoGrad no_grad;
    try {
        for (auto& node : nodes) {  // outputs before inputs
            if (node->has_work())
                OpWatch::around(*node, [&] { node->run(node->take_grad()); });  // inspect.h: finds a NaN
            node->use_up();  // frees what it saved before the remaining nodes run
            node = {};
        }
    } catch (...) {
        // Some gradients are incomplete: another backward must not add to them.
        for (const auto& node : nodes)
            if (node)
                node->use_up();
        throw;
    }
}

// A leaf has no inputs, and inputs may have been frozen after forward.
bool Node::has_work() const {
    return has_grad() &&
           std::any_of(parents_.begin(), parents_.end(), [](const auto& input) { return input->wanted_; });
}

// The only handle, so that its memory can be passed on.
Tensor Node::take_grad() { return Tensor(shape_, std::exchange(grad_, {})); }

void Node::use_up() {
    if (leaf_)
        return;
    used_ = true;
    forget();
    parents_.clear();
    value_ = {};
    zero_grad();
}

kernels::Out GradSink::open() const { return *this ? node_->open_grad() : kernels::Out{nullptr}; }

void GradSink::pass(const Tensor& dout) const {
    if (*this)
        node_->add_grad(dout);
}

Tensor Node::attach(Tensor out, std::unique_ptr<Node> node) {
    if (out.numel() <= kShown)
        node->value_ = out.storage_;
    if (const OpWatch* watch = OpWatch::active())
        node->layer = watch->layer();
    out.node_ = std::shared_ptr<Node>(node.release(), destroy);
    return out;
}

std::vector<std::shared_ptr<Node>> Node::parents_of(const char* op, const Tensor& out,
                                                    List<const Tensor*> inputs) {
    if (OpWatch* watch = OpWatch::active())
        watch->see(op, out, inputs);
    std::vector<std::shared_ptr<Node>> parents;
    if (!NoGrad::active())
        for (const Tensor* input : inputs)
            if (input->needs_grad())
                parents.push_back(input->node());
    return parents;
}

}  // namespace plaingrad::autograd
