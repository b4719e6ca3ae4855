// A function of some tensors whose gradients are checked.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "autograd/ops.h"
#include "nn/module.h"
#include "tests/dice.h"

namespace plaingrad::trust {

using autograd::Real;
using autograd::Shape;
using autograd::Tensor;
using tests::Dice;

struct Case {
    explicit Case(std::string name_ = "", bool may_be_zero_ = false)
        : name(std::move(name_)), may_be_zero(may_be_zero_) {}

    std::string name;
    bool may_be_zero;  // the gradient of some leaf truly is, everywhere
    std::vector<nn::NamedParameter> leaves;
    std::function<Tensor()> f;  // of the leaves alone

    // Makes x a leaf of this case.
    Tensor leaf(Tensor x) {
        x.require_grad();
        leaves.push_back({"input " + std::to_string(leaves.size()), x});
        return x;
    }
};

// Cases are drawn from all three in turn.
Case draw_row(int64_t number, Dice& draw);    // a row of tests/autograd/op_table.h, with other numbers
Case draw_op(int64_t number, Dice& draw);     // an op, with random shapes
Case draw_model(int64_t number, Dice& draw);  // a layer or a model

inline Case draw_case(int64_t number, const autograd::Rng& rng) {
    Dice draw(rng.fork(static_cast<uint64_t>(number)));
    const int64_t of_kind = number / 5;
    switch (number % 5) {
        case 0:
        case 1:
            return draw_row(2 * of_kind + number % 5, draw);
        case 2:
        case 3:
            return draw_op(2 * of_kind + number % 5 - 2, draw);
        default:
            return draw_model(of_kind, draw);
    }
}

inline Shape shape_of(const std::vector<int64_t>& sizes) {
    return Shape(sizes.data(), static_cast<int>(sizes.size()));
}

// Tensors of random numbers.
inline Tensor numbers(Dice& draw, const Shape& shape, double low = -2, double high = 2) {
    std::vector<Real> x(static_cast<std::size_t>(shape.numel()));
    for (Real& each : x)
        each = static_cast<Real>(draw.uniform(low, high));
    return Tensor::from(shape, x);
}
// Away from 0 and from -1 and 1, where functions have kinks.
inline Tensor nonzero(Dice& draw, const Shape& shape) {
    Tensor x = numbers(draw, shape, 0.2, 0.9);
    for (int64_t i = 0; i < x.numel(); ++i)
        x.mutable_data()[i] += static_cast<Real>(draw.below(4) - 2);
    return x;
}

}  // namespace plaingrad::trust
