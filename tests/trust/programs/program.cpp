#include "tests/trust/programs/program.h"

#include <cmath>
#include <ostream>

namespace plaingrad::trust {

void Branches::sign(const Tensor& x) {
    for (int64_t i = 0; wanted && i < x.numel(); ++i)
        hash.add(x.data()[i] > 0 ? 2u : x.data()[i] < 0 ? 1u : 0u);
}

double largest(const Tensor& x) {
    double most = 0;
    for (int64_t i = 0; i < x.numel(); ++i) {
        const double size = std::fabs(static_cast<double>(x.data()[i]));
        most = std::isnan(size) ? HUGE_VAL : std::fmax(most, size);
    }
    return most;
}

static void list_call(const Node& node, std::ostream& out) {
    out << node.op << '(';
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
        out << (i > 0 ? ", x" : "x") << node.inputs[i];
    out << (node.arguments.empty() ? "" : "; ") << node.arguments << ')';
}

void list(const Program& program, std::size_t count, std::ostream& out) {
    for (std::size_t i = 0; i < count && i < program.nodes.size(); ++i) {
        const Node& node = program.nodes[i];
        switch (node.kind) {
            case Node::Kind::leaf:
                out << "x" << i << ' ' << node.shape << " = leaf" << (node.wanted ? ", gradient wanted" : "");
                break;
            case Node::Kind::op:
                out << "x" << i << ' ' << node.shape << " = ";
                list_call(node, out);
                out << (node.no_grad ? ", without a graph" : "");
                break;
            case Node::Kind::fails:
                list_call(node, out);
                out << " throws";
                break;
            case Node::Kind::release:
                out << "release x" << node.inputs[0];
                break;
            case Node::Kind::backward:
                out << "backward";
                break;
        }
        out << '\n';
    }
}

}  // namespace plaingrad::trust
