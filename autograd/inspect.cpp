#include "autograd/inspect.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <unordered_map>

#include "autograd/base/check.h"
#include "autograd/base/text_stream.h"
#include "autograd/kernels/kernels.h"
#include "autograd/weight.h"

namespace plaingrad::autograd {
namespace {

// "[1, 2.5]", short enough for a line.
void print_numbers(std::ostream& out, const Tensor& x) {
    out << " = [";
    for (int64_t i = 0; i < x.numel(); ++i)
        out << join(i > 0 ? ", " : "", x.data()[i]);
    out << ']';
}

// The index of the first element that is NaN or infinite, or -1.
int64_t first_bad(const Tensor& x) {
    for (int64_t i = 0; i < x.numel(); ++i)
        if (!std::isfinite(x.data()[i]))
            return i;
    return -1;
}

// "encoder.norm.gain" -> "encoder.norm" -> "encoder" -> ""
std::string parent(const std::string& name) {
    const std::size_t dot = name.rfind('.');
    return dot == std::string::npos ? "" : name.substr(0, dot);
}

std::string place(const char* op, const std::string& layer) {
    return layer.empty() ? op : join(op, " in ", layer);
}

}  // namespace

const char* instruction_set() { return kernels::cpu().name; }

// Depth first, with a stack of its own: a chain of a million ops must not recurse.
void print_graph(const Tensor& root, std::ostream& out, int lines) {
    check(root.needs_grad(), "[print_graph] nothing here needs a gradient: there is no graph");
    struct Line {
        std::shared_ptr<Node> node;
        std::string indent, branch;
    };
    std::vector<Line> waiting = {{root.node(), "", ""}};
    std::unordered_map<const Node*, std::size_t> numbers;
    for (; !waiting.empty() && lines > 0; --lines) {
        const Line line = std::move(waiting.back());
        waiting.pop_back();
        const auto [entry, is_new] = numbers.emplace(line.node.get(), numbers.size() + 1);
        out << line.indent << line.branch << entry->second << ' ';
        if (!is_new) {
            out << "(above)\n";
            continue;
        }
        out << line.node->op() << ' ' << line.node->shape();
        if (!line.node->layer.empty())
            out << " in " << line.node->layer;
        if (const Tensor value = line.node->value(); value.defined())
            print_numbers(out, value);
        out << '\n';
        const char* const below = line.branch.empty() ? "" : line.branch == "└ " ? "  " : "│ ";
        const std::vector<std::shared_ptr<Node>>& parents = line.node->parents();
        for (std::size_t i = parents.size(); i-- > 0;)
            waiting.push_back({parents[i], line.indent + below, i + 1 == parents.size() ? "└ " : "├ "});
    }
    if (!waiting.empty())
        out << "... and more\n";
}

const std::string* OpWatch::name_of(const std::shared_ptr<Node>& node) const {
    for (const auto& [parameter, name] : names_)
        if (node && parameter == node)
            return &name;
    return nullptr;
}

void OpWatch::see(const char* op, const Tensor& out, List<const Tensor*> inputs) {
    layer_ = parent(last_layer_);
    for (const Tensor* input : inputs)
        if (const std::string* name = name_of(input->node()))
            layer_ = last_layer_ = parent(*name);
    after_forward(op, out, inputs);
}

void NanGuard::after_forward(const char* op, const Tensor& out, List<const Tensor*> inputs) {
    const int64_t bad = first_bad(out);
    if (bad < 0)
        return;
    std::string cause;
    for (const Tensor* input : inputs)
        if (cause.empty() && input->defined() && !is_packed(*input) && !input->same_memory(out) &&
            first_bad(*input) >= 0)
            cause = join("; so is element ", first_bad(*input), " of an input ", input->shape());
    throw Error(join("[NanGuard] ", place(op, layer()), ": element ", bad, " of the output ", out.shape(),
                     " is ", out.data()[bad], cause));
}

void NanGuard::after_backward(const Node& node) {
    for (const std::shared_ptr<Node>& input : node.parents()) {
        const int64_t bad = input->has_grad() ? first_bad(input->grad()) : -1;
        if (bad < 0)
            continue;
        const std::string* const name = name_of(input);
        throw Error(join("[NanGuard] backward of ", place(node.op(), node.layer), ": element ", bad,
                         " of the gradient of ", name != nullptr ? *name : input->op(), ' ', input->shape(),
                         " is ", input->grad().data()[bad]));
    }
}

// ---- tensors as text

namespace {

constexpr int64_t kThreshold = 1000;  // tensors with more elements are shortened, as in PyTorch
constexpr int64_t kEdge = 3;          // entries shown at both ends of a shortened dimension

struct Printer {
    const Tensor& x;
    std::chars_format format = std::chars_format::fixed;
    int decimals = 4;
    std::size_t width = 0;  // of the longest number that is shown

    std::string text(double number) const {
        if (!std::isfinite(number))
            return join(number);  // without the sign that a NaN may have
        char digits[40];  // (snprintf would write a comma for the point where the host program wants that)
        const auto end = std::to_chars(digits, std::end(digits), number, format, decimals).ptr;
        return std::string(digits, end) + (decimals == 0 ? "." : "");
    }

    // As PyTorch chooses: whole numbers without decimals, others with four, and with an exponent where they
    // are very large, very small, or both.
    void choose_format() {
        bool whole = true;
        double largest = 0, nearest_to_0 = HUGE_VAL;
        for (int64_t i = 0; i < x.numel(); ++i) {
            const auto number = static_cast<double>(x.data()[i]);
            if (!std::isfinite(number))
                continue;
            whole = whole && number == std::floor(number);
            largest = std::max(largest, std::abs(number));
            nearest_to_0 = number == 0 ? nearest_to_0 : std::min(nearest_to_0, std::abs(number));
        }
        if (largest > 1e8 || (!whole && (largest / nearest_to_0 > 1000 || nearest_to_0 < 1e-4)))
            format = std::chars_format::scientific;
        else if (whole)
            decimals = 0;
    }

    // The part that begins with element `offset`, from dimension `dim` on.
    void print(std::ostream& out, int dim, int64_t offset) {
        if (dim == x.rank()) {
            const std::string number = text(static_cast<double>(x.data()[offset]));
            width = std::max(width, number.size());
            out << std::string(width - number.size(), ' ') << number;
            return;
        }
        const int inner = x.rank() - dim - 1;  // dimensions within: as many line breaks between two elements
        const std::string between = inner == 0 ? ", "
                                               : "," + std::string(static_cast<std::size_t>(inner), '\n') +
                                                     std::string(static_cast<std::size_t>(dim) + 1, ' ');
        const int64_t n = x.size(dim);
        const bool cut = x.numel() > kThreshold && n > 2 * kEdge;
        out << '[';
        for (int64_t i = 0; i < n; ++i) {
            out << (i > 0 ? between : "");
            if (cut && i == kEdge) {
                out << "..." << between;
                i = n - kEdge;
            }
            print(out, dim + 1, offset * n + i);
        }
        out << ']';
    }
};

}  // namespace

std::ostream& operator<<(std::ostream& out, const Tensor& x) {
    if (!x.defined())
        return out << "[empty tensor]";
    Printer printer{x};
    printer.choose_format();
    TextOutput nowhere;
    printer.print(nowhere, 0, 0);  // finds the width
    printer.print(out, 0, 0);
    return out << "  " << x.shape();
}

}  // namespace plaingrad::autograd
