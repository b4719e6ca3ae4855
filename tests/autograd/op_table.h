// One or more rows for every function of autograd/ops.h: how to call it, and with which inputs. The tests of
// gradients, bits and memory go through all rows. A function without a row is an error.
//
// The rows themselves: op_table_arithmetic.cpp and op_table_rows.cpp.
//
// With Precision::bf16 the table has the ops that multiply. They round, and their gradients are not the slope
// of what forward computes, so differences say nothing about them: test_plain.cpp checks them.
//
// No size is a multiple of 16. Inputs avoid the points where a function has no derivative.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "autograd/ops.h"
#include "tests/autograd/values.h"

namespace plaingrad::tests {

using Inputs = std::vector<Tensor>;
using Call = std::function<Tensor(const Inputs&)>;

struct OpRow {
    std::string op;      // its name in ops.h
    std::string detail;  // what is special about this row
    Inputs inputs;
    Call call;
    bool may_be_zero = false;  // some input truly has no gradient
    bool has_graph = true;     // a comparison has none
    bool is_slope = true;      // the gradient is the slope: not that of a function that rounds
};

class OpTable {
public:
    explicit OpTable(autograd::Precision p = autograd::Precision::float32);
    std::vector<OpRow> rows;

private:
    const autograd::Precision p_;
    uint64_t seed_ = 1;

    Tensor in(const Shape& shape, double low = -2, double high = 2) {
        return random(shape, seed_++, low, high);
    }
    // Away from 0 on both sides: 0.3 to 2, every third one negative.
    Tensor nonzero(const Shape& shape) {
        std::vector<Real> x = numbers(shape.numel(), seed_++, 0.3, 2);
        for (std::size_t i = 0; i < x.size(); i += 3)
            x[i] = -x[i];
        return Tensor::from(shape, x);
    }
    // No two are closer than 0.1: the maximum stays where it is while gradcheck moves one.
    Tensor distinct(const Shape& shape) {
        const std::vector<int64_t> order = autograd::Rng(seed_++).permutation(shape.numel());
        std::vector<Real> x;
        for (const int64_t place : order)
            x.push_back(static_cast<Real>(0.1 * static_cast<double>(place) - 1));
        return Tensor::from(shape, x);
    }
    void row(const char* op, std::string detail, Inputs inputs, Call call, bool may_be_zero = false) {
        const Call in_precision = [p = p_, call = std::move(call)](const Inputs& x) {
            const autograd::UsePrecision precision(p);
            return call(x);
        };
        rows.push_back({op, std::move(detail), std::move(inputs), in_precision, may_be_zero});
    }

    void elementwise();
    void choices();
    void products();
    void reductions();
    void movers();
    void softmax_and_loss();
    void lookup();
    void fused();
    void attentions();
};

// The rows of all precisions.
std::vector<OpRow> all_rows();

// The functions of ops.h by name, with how often each is declared. Reads that header, in the repository's
// root; throws Error if there are none.
std::map<std::string, int64_t> declared_ops();

}  // namespace plaingrad::tests
