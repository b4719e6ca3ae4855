// The rows of the op table, with other numbers in their inputs.
#include "tests/autograd/op_table.h"
#include "tests/trust/gradients/case.h"

namespace plaingrad::trust {

// The same numbers in another order, each up to a thousandth larger: a row's inputs avoid places where its
// function has no derivative (op_table.h), and so do these.
static Tensor shuffled(const Tensor& x, Dice& draw) {
    std::vector<Real> y = x.to_vector();
    for (std::size_t i = y.size(); i > 1; --i)
        std::swap(y[i - 1], y[static_cast<std::size_t>(draw.below(static_cast<int64_t>(i)))]);
    for (Real& each : y)
        each *= static_cast<Real>(draw.uniform(1, 1.001));
    return Tensor::from(x.shape(), y);
}

Case draw_row(int64_t number, Dice& draw) {
    static const std::vector<tests::OpRow> rows = [] {
        std::vector<tests::OpRow> all = tests::OpTable().rows;
        std::erase_if(all, [](const tests::OpRow& row) { return !row.has_graph || !row.is_slope; });
        return all;
    }();
    const tests::OpRow& row = rows[static_cast<std::size_t>(number) % rows.size()];
    Case c(row.op + ", " + row.detail, row.may_be_zero);
    std::vector<Tensor> x;
    for (const Tensor& input : row.inputs)
        x.push_back(c.leaf(shuffled(input, draw)));
    c.f = [x, &row] { return row.call(x); };
    return c;
}

}  // namespace plaingrad::trust
