// Calls of all ops with random shapes, numbers and options, for another library to repeat.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "autograd/base/check.h"
#include "autograd/ops.h"
#include "tests/dice.h"

namespace plaingrad::trust {

using autograd::join;
using autograd::Real;
using autograd::Shape;
using autograd::Tensor;
using autograd::Tokens;
using tests::Dice;

// One call. In the file are its words, "softmax dim=-1", its tensors, and what it returns.
class OpCase {
public:
    explicit OpCase(std::string op) : words_(std::move(op)) {}

    // An input that collects a gradient.
    [[nodiscard]] Tensor leaf(const std::string& name, Tensor x) {
        x.require_grad();
        leaves.emplace_back(name, x);
        return x;
    }
    // One that does not: ids, masks.
    const Tensor& constant(const std::string& name, const Tensor& x) {
        constants.emplace_back(name, x);
        return x;
    }
    const Tokens& ids(const std::string& name, const Tokens& ids);
    template <class Value>
    Value option(const std::string& name, Value value) {
        words_ += join(' ', name, '=', value);
        return value;
    }
    // A real number is written with all its digits.
    Real option(const std::string& name, Real value);
    void option(const std::string& name, const std::vector<int64_t>& values);

    const std::string& words() const { return words_; }

    std::vector<std::pair<std::string, Tensor>> leaves, constants;
    // What it returns. Backward begins at those that have a graph.
    std::function<std::vector<Tensor>()> f;

    // In the case's precision.
    template <class F>
    void returns(const F& one) {
        f = [one, p = precision]() -> std::vector<Tensor> {
            const autograd::UsePrecision use(p);
            return {one()};
        };
    }
    autograd::Precision precision = autograd::Precision::float32;

private:
    std::string words_;
};

// By the op's name in ops.h; an operator's is "operator+".
using DrawOp = std::function<void(OpCase& c, Dice& draw)>;
using OpKinds = std::map<std::string, DrawOp>;

void add_elementwise(OpKinds& kinds);
void add_movers(OpKinds& kinds);
void add_products(OpKinds& kinds);
void add_rows(OpKinds& kinds);
void add_layers(OpKinds& kinds);

// ---- numbers and sizes

// Below, at and beyond what a vector of 16 numbers holds, in one row and in several.
inline int64_t any_size(Dice& draw) {
    return draw.one_of<int64_t>({1, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 32, 33, 65});
}
inline int64_t any_size_or_0(Dice& draw) { return draw.one_in(20) ? 0 : any_size(draw); }

// Of some thousand numbers at most.
Shape any_shape(Dice& draw, int64_t least_rank, int64_t most_rank, bool with_0 = true);
// (..., columns)
Shape any_rows(Dice& draw, int64_t columns);
// What broadcasts to this shape: some sizes are 1, and leading dims may be left out.
Shape any_narrowed(Dice& draw, const Shape& s);
// From either end.
int any_dim(OpCase& c, Dice& draw, const Shape& s);

// Mostly any numbers; sometimes multiples of a half, of which many are equal, or where a function has a kink.
Tensor any_numbers(Dice& draw, const Shape& shape, double low = -2, double high = 2);

inline std::vector<int64_t> sizes_of(const Shape& shape) {
    return std::vector<int64_t>(shape.begin(), shape.end());
}

Tokens any_ids(Dice& draw, int64_t batch, int64_t length, int64_t vocabulary, bool padded = false);
autograd::Activation any_activation(OpCase& c, Dice& draw);
// Sometimes bfloat16.
void any_precision(OpCase& c, Dice& draw);
// A rate, and the mask that this generator makes for a tensor of this shape, from what it leaves of ones.
Real any_rate(OpCase& c, Dice& draw, const Shape& shape, const autograd::Rng& rng);

}  // namespace plaingrad::trust
