// Calls of ops, sometimes with a second consumer of an input.
#include <memory>

#include "tests/ops.h"
#include "tests/trust/gradients/case.h"

namespace plaingrad::trust {

using namespace autograd;  // NOLINT

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
        call = draw_call(*rows[at % rows.size()], i);
    Case c(call->text(), true);
    tests::Inputs leaves;
    for (const Tensor& x : call->leaves)
        leaves.push_back(c.leaf(x));
    const bool again = draw.one_in(4), first = draw.one_in(2);
    c.f = [=, wanted = in_graph(*call)] {
        const Tensor x = leaves[0];
        const auto square = [&] { return sum(x * x) / static_cast<Real>(1 + x.numel()); };
        const Tensor before = again && first ? square() : Tensor();
        const Tensor y = tests::only(wanted, call->with(leaves));
        return again ? y + (first ? before : square()) : y;
    };
    c.name += again ? ", and another consumer" : "";
    return c;
}

}  // namespace plaingrad::trust
