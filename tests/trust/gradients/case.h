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

Case draw_op(int64_t number, Dice& draw);     // of the table of ops (tests/ops.h)
Case draw_model(int64_t number, Dice& draw);  // a layer or a model

// Of five cases four are ops.
inline Case draw_case(int64_t number, const autograd::Rng& rng) {
    Dice draw(rng.fork(static_cast<uint64_t>(number)));
    return number % 5 < 4 ? draw_op(number / 5 * 4 + number % 5, draw) : draw_model(number / 5, draw);
}

// Tensors of random numbers.
inline Tensor numbers(Dice& draw, const Shape& shape, double low = -2, double high = 2) {
    std::vector<Real> x(static_cast<std::size_t>(shape.numel()));
    for (Real& each : x)
        each = static_cast<Real>(draw.uniform(low, high));
    return Tensor::from(shape, x);
}
}  // namespace plaingrad::trust
