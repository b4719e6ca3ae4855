// Calls of ops, sometimes with a second consumer of an input.
#include <memory>

#include "tests/ops.h"
#include "tests/trust/gradients/case.h"

namespace plaingrad::trust {

using namespace autograd;  // NOLINT

// What has a gradient, as one tensor.
static Tensor in_graph(const std::vector<Tensor>& outputs, const std::vector<bool>& wanted) {
    std::vector<Tensor> parts;
    for (std::size_t i = 0; i < outputs.size(); ++i)
        if (wanted[i])
            parts.push_back(reshape(outputs[i], {-1}));
    return parts.size() == 1 ? parts[0] : concat(parts, 0);
}

Case draw_op(int64_t number, Dice& draw) {
    static const std::vector<const tests::OpRow*> rows = [] {
        std::vector<const tests::OpRow*> all;
        for (const tests::OpRow& row : tests::op_rows())
            if (row.has_graph && !row.op.ends_with("to_bf16"))
                all.push_back(&row);
        return all;
    }();
    const auto at = static_cast<std::size_t>(number);
    std::shared_ptr<tests::AloneCall> call;
    for (auto i = static_cast<uint64_t>(draw.below(1 << 30)); call == nullptr || call->bf16; ++i)
        call = draw_call(*rows[at % rows.size()], i, tests::Scale::small);
    Case c(call->text(), true);
    tests::Inputs leaves;
    for (const Tensor& x : call->leaves)
        leaves.push_back(c.leaf(x));
    std::vector<bool> wanted;
    for (const Tensor& y : call->with(leaves))
        wanted.push_back(y.needs_grad());
    const bool again = draw.one_in(4), first = draw.one_in(2);
    c.f = [=] {
        const Tensor x = leaves[0];
        const auto square = [&] { return sum(x * x) / static_cast<Real>(1 + x.numel()); };
        const Tensor before = again && first ? square() : Tensor();
        const Tensor y = in_graph(call->with(leaves), wanted);
        return again ? y + (first ? before : square()) : y;
    };
    c.name += again ? ", and another consumer" : "";
    return c;
}

}  // namespace plaingrad::trust
